//! GGUF files: header, metadata, descriptions of tensors, padding.

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::gguf::{DEFAULT_MAX_TENSORS, Decoder, Gguf};
use nanoembed_core::read::Slice;

use super::Finding;
use super::safetensors::finite;
use crate::stored::FileSet;

pub(super) fn verify(set: &FileSet, mode: Mode, quiet: bool) -> Result<String, Vec<Finding>> {
    let name = set.name();
    let file = set.first();
    let parsed = Gguf::parse(file, mode)
        .map_err(|error| vec![Finding::new(&name, error).at(place(file, mode, error.offset))])?;
    let facts = format!(
        "version {}, {} metadata values, {} tensors",
        parsed.version(),
        parsed.metadata().count(),
        parsed.tensors().count(),
    );
    if mode == Mode::Lenient {
        return Ok(facts);
    }
    finite(set, quiet)?;
    Ok(format!("{facts}, padding is zero, all values are finite"))
}

/// What of the file the wrong byte at `offset` belongs to: a field of the header, or what comes behind the last thing
/// that was sound.
fn place(file: &[u8], mode: Mode, offset: u64) -> Option<String> {
    const FIELDS: [(u64, &str); 4] = [
        (4, "magic number"),
        (8, "version"),
        (16, "number of tensors"),
        (24, "number of metadata values"),
    ];
    if let Some((_, field)) = FIELDS.iter().find(|(end, _)| offset < *end) {
        return Some((*field).to_owned());
    }
    let mut source = Slice::new(Decoder::<DEFAULT_MAX_TENSORS>::new(mode), file).without_data();
    let mut last = "metadata".to_owned();
    while let Ok(event) = source.next_event() {
        match event {
            Event::Metadata { key, .. } | Event::Value { key, .. } => {
                last = format!("metadata behind `{key}`");
            }
            Event::Tensor(tensor) => last = format!("behind the description of `{}`", tensor.name),
            Event::End => break,
            _ => {}
        }
    }
    Some(last)
}
