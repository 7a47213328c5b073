//! The passages of a file.

use crate::passage::Passage;

/// The passages of a file.
#[derive(Debug, Default)]
pub struct Content {
    /// Each with an extra text that is shown but not searched, such as the `id` of a record.
    pub passages: Vec<(Passage, String)>,
    /// An error for each part of the file, such as a line of JSON, that could not be used.
    pub left_out: Vec<String>,
}
