//! Segments: files with their passages, vectors and words, as bytes that are searched where they lie, in
//! memory or in a mapped file.

mod layout;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub(crate) use layout::Identity;
pub(crate) use view::{Row, Segment};
pub(crate) use write::{Content, FileDraft, Vector, write};
