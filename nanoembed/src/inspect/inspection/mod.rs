//! What `inspect` says of a file: one file a format, each with the facts that its format has.

pub mod amb;
pub mod embd;
pub mod finalfusion;
pub mod folder;
pub mod gguf;
pub mod safetensors;
pub mod tensors;
pub mod uqff;
pub mod words;

use nanoembed_core::event::Format;
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde::Serialize;

use crate::error::Result;
use crate::open::foreign;
use crate::stored::FileSet;

/// All that a file says of itself; as JSON the fields of its format's summary.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Inspection {
    Amb(amb::Summary),
    Embd(embd::Summary),
    Finalfusion(Box<finalfusion::Summary>),
    Gguf(gguf::Summary),
    Safetensors(safetensors::Summary),
    Uqff(uqff::Summary),
    Words(words::Summary),
}

/// Looks into files of any format, without reading their weights. Folders are looked into as one.
pub fn inspect(set: &FileSet) -> Result<Inspection> {
    let name = set.name();
    let file = set.first();
    let inspected = match set.format() {
        Some(Format::Amb) => amb::Summary::read(&name, file).map(Inspection::Amb),
        Some(Format::Embd) => embd::Summary::read(&name, file).map(Inspection::Embd),
        Some(Format::Gguf) => return gguf::inspect(set).map(Inspection::Gguf),
        Some(Format::Safetensors) => return safetensors::inspect(set).map(Inspection::Safetensors),
        Some(Format::Uqff) => return uqff::inspect(set).map(Inspection::Uqff),
        Some(Format::Finalfusion) => finalfusion::inspect(&name, file)
            .map(|summary| Inspection::Finalfusion(Box::new(summary))),
        _ => match words::inspect(&name, file)? {
            Some(summary) => Ok(Inspection::Words(summary)),
            None => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
        },
    };
    inspected.map_err(|error| foreign::failure(name, file, error))
}
