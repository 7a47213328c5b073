//! GGUF files: header, metadata, descriptions of tensors, padding.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::gguf::{DEFAULT_MAX_TENSORS, Gguf, GgufDecoder};
use nanoembed_core::read::Slice;

use super::safetensors::finite;
use super::{Finding, NO_CHECKSUMS};
use crate::error::name_of;
use crate::progress::Observer;
use crate::stored::{FileSet, gguf_parts};

pub(super) fn verify(
    set: &FileSet,
    mode: Mode,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let mut parts = Vec::new();
    for (path, file) in set.iter() {
        let parsed = Gguf::parse(file, mode).map_err(|error| {
            let place = error.offset().and_then(|offset| place(file, mode, offset));
            vec![Finding::new(&name_of(path), error).at(place)]
        })?;
        parts.push(parsed);
    }
    let is_whole = gguf_parts::check(&parts, |index| set.name_of(index));
    is_whole.map_err(|failure| {
        vec![Finding::from_failure(&set.name(), ErrorKind::SplitFile, failure)]
    })?;
    let of = if parts.len() > 1 { format!(" in {} parts", parts.len()) } else { String::new() };
    let facts = format!(
        "version {}, {} metadata values, {} tensors{of}",
        parts.first().map_or(0, Gguf::version),
        parts.first().map_or(0, |first| first.metadata().count()),
        parts.iter().map(|part| part.tensors().count()).sum::<usize>(),
    );
    if mode == Mode::Lenient {
        return Ok(format!("{facts}, {NO_CHECKSUMS}"));
    }
    finite(set, observer)?;
    Ok(format!("{facts}, padding is zero, all values are finite, {NO_CHECKSUMS}"))
}

/// The part of the file that the wrong byte at `offset` belongs to: a field of the header, or the
/// place after the last sound item.
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
    let mut source = Slice::new(GgufDecoder::<DEFAULT_MAX_TENSORS>::new(mode), file).without_data();
    let mut last = "metadata".to_owned();
    while let Ok(event) = source.next_event() {
        match event {
            Event::Metadata { key, .. } | Event::Value { key, .. } => {
                last = format!("metadata after `{key}`");
            }
            Event::Tensor(tensor) => last = format!("after the description of `{}`", tensor.name),
            Event::End => break,
            _ => {}
        }
    }
    Some(last)
}
