//! UQFF files: the container, versions, every field of every layer, and that shards belong
//! together.

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::format::uqff::place_in_blob;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::safetensors::{finite, place as place_in_container};
use super::{Finding, NO_CHECKSUMS};
use crate::progress::Observer;
use crate::stored::FileSet;
use crate::stored::entries::room;

pub(super) fn verify(
    set: &FileSet,
    mode: Mode,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let (_, layers) = set.layers(mode).map_err(|(index, error)| {
        let file = set.iter().nth(index).map(|(_, file)| file).unwrap_or_default();
        let finding = Finding::new(&set.name_of(index), error).at(place(file, error));
        let hint = set.later_shard_hint().filter(|_| error.kind() == ErrorKind::BadVersion);
        vec![Finding { hint: hint.or(finding.hint.clone()), ..finding }]
    })?;
    let shards = set.iter().len();
    let of = if shards > 1 { format!(" in {shards} shards") } else { String::new() };
    let gaps = gaps(&layers.iter().map(|(_, layer)| layer.name).collect::<Vec<_>>());
    let facts = format!("{} layers{of}{gaps}", layers.len());
    if mode == Mode::Lenient {
        return Ok(format!("{facts}, {NO_CHECKSUMS}"));
    }
    finite(set, observer)?;
    Ok(format!("{facts}, all values are finite, {NO_CHECKSUMS}"))
}

/// Indices that no layer of 0.x has: layers of types that cannot be stored keep theirs.
fn gaps(names: &[&str]) -> String {
    let mut indices: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    indices.sort_unstable();
    let Some(last) = indices.last() else { return String::new() };
    match u64::from(*last) + 1 - indices.len() as u64 {
        0 => String::new(),
        missing => format!(" ({missing} indices up to {last} are not there)"),
    }
}

/// The part of the file that the wrong byte belongs to.
fn place(file: &[u8], error: CoreError) -> Option<String> {
    let offset = error.offset()?;
    let outer = place_in_container(file, offset);
    let Ok(mut room) = room(file) else { return outer };
    let Ok(container) = Safetensors::parse(file, Mode::Lenient, &mut room) else { return outer };
    let blob = container.tensors().find(|tensor| {
        let header = tensor.header();
        let is_blob = header.name.bytes().all(|byte| byte.is_ascii_digit());
        let end = header.offset.saturating_add(header.bytes);
        is_blob && (header.offset..end).contains(&offset)
    });
    let Some(blob) = blob else { return outer };
    let inside = offset.saturating_sub(blob.header().offset);
    let name = blob.header().name;
    Some(match place_in_blob(blob.data(), inside) {
        Some(place) if place.field.is_empty() => {
            format!("layer {name}, byte {inside} of its blob, `{}`", place.part)
        }
        Some(place) => {
            format!(
                "layer {name}, byte {inside} of its blob, {} of the {}",
                place.field, place.part
            )
        }
        None => format!("layer {name}, byte {inside} of its blob, after its end"),
    })
}
