//! What `inspect` says of a file: one file a format, each with the facts that its format has.

mod embd;
mod finalfusion;
mod tensors;

use std::path::Path;

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;

use crate::error::{Failure, Result, name_of};

/// All that a file says of itself, for programs and for people.
pub(crate) struct Inspection {
    /// One line of JSON.
    pub(crate) json: String,
    /// The same as lines of text.
    pub(crate) text: Vec<String>,
}

impl Inspection {
    /// `summary`'s fields are those of the JSON.
    fn new(summary: &impl Serialize, text: Vec<String>) -> Self {
        let json = serde_json::to_string(summary).expect("summaries have only string keys");
        Self { json, text }
    }
}

/// Looks into a file of any format, without reading its weights.
pub(crate) fn inspect(path: &Path, file: &[u8]) -> Result<Inspection> {
    let name = name_of(path);
    let inspected = match sniff(file) {
        Some(Format::Embd) => embd::inspect(&name, file),
        Some(Format::Finalfusion) => finalfusion::inspect(&name, file),
        _ => Err(Error::new(0, ErrorKind::UnknownFormat)),
    };
    inspected.map_err(|error| Failure::of_file(name, error))
}
