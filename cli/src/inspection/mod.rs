//! What `inspect` says of a file: one file a format, each with the facts that its format has.

mod amb;
mod embd;
mod finalfusion;
mod folder;
mod gguf;
mod safetensors;
mod tensors;
mod uqff;
mod words;

use nanoembed_core::event::Format;
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;

use crate::error::Result;
use crate::foreign;
use crate::stored::FileSet;

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

/// Looks into files of any format, without reading their weights. Folders are looked into as one.
pub(crate) fn inspect(set: &FileSet) -> Result<Inspection> {
    let name = set.name();
    let file = set.first();
    let inspected = match set.format() {
        Some(Format::Amb) => amb::inspect(&name, file),
        Some(Format::Embd) => embd::inspect(&name, file),
        Some(Format::Gguf) => return gguf::inspect(set),
        Some(Format::Safetensors) => return safetensors::inspect(set),
        Some(Format::Uqff) => return uqff::inspect(set),
        Some(Format::Finalfusion) => finalfusion::inspect(&name, file),
        _ => match words::inspect(&name, file)? {
            Some(inspection) => Ok(inspection),
            None => Err(Error::new(0, ErrorKind::UnknownFormat)),
        },
    };
    inspected.map_err(|error| foreign::failure(name, file, error))
}
