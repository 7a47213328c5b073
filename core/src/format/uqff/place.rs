//! Finds the field of a blob at an offset, for messages about it.

use super::blob::{Blob, Found, Part};
use crate::event::Mode;

/// A field of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UqffPlace {
    /// The item: `header`, `weight`, `scales`, `zeros`, `biases`, `bias`, `shape`, or the name of a
    /// parameter.
    pub part: &'static str,
    /// The field of the item, empty for a parameter.
    pub field: &'static str,
}

/// The field of the 0.x blob `blob` that contains the byte at `offset` (counted from the blob's
/// start), as far as the blob can be read; `None` after its last item.
#[must_use]
pub fn place_in_blob(blob: &[u8], offset: u64) -> Option<UqffPlace> {
    let mut steps = Blob::new(Mode::Lenient, blob.len() as u64);
    let mut at = 0_u64;
    loop {
        let started = steps.format().is_some();
        let part = steps.next_part();
        let rest = blob.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or(&[]);
        let (header, end) = match steps.next(rest, at) {
            Ok(Found::Begin { used } | Found::Shape { used, .. } | Found::Value { used, .. }) => {
                (used as u64, at.saturating_add(used as u64))
            }
            Ok(Found::Tensor { used, tensor }) => {
                (used as u64, tensor.offset.saturating_add(tensor.bytes))
            }
            // Any fault is in this part.
            Ok(Found::NeedMore { .. }) | Err(_) => (u64::MAX, u64::MAX),
            Ok(Found::End) => return None,
        };
        if offset < end {
            let inside = offset.saturating_sub(at);
            return match part {
                None if started => None,
                None => Some(UqffPlace { part: "header", field: field(PREFIX, inside) }),
                Some(part) => Some(named(part, inside, header)),
            };
        }
        at = end;
    }
}

/// Fields by their ends.
type Fields = &'static [(u64, &'static str)];

const PREFIX: Fields = &[(4, "version"), (5, "type"), (6, "has_bias")];
const TENSOR: Fields = &[(4, "data length"), (8, "dtype"), (12, "number of dimensions")];
const GGML: Fields =
    &[(4, "data length"), (5, "has_bias"), (9, "ggml dtype"), (13, "number of dimensions")];
const F8Q8: Fields = &[(4, "number of blocks"), (8, "number of dimensions")];
const SHAPE: Fields = &[(4, "number of dimensions")];

fn field(fields: Fields, inside: u64) -> &'static str {
    fields.iter().find(|(end, _)| inside < *end).map_or("dimensions", |(_, name)| name)
}

/// The field of a part with a header of `header` bytes.
fn named(part: Part, inside: u64, header: u64) -> UqffPlace {
    let (part, fields) = match part {
        Part::Tensor(name) => (name, TENSOR),
        Part::Bias => ("bias", TENSOR),
        Part::Ggml => ("weight", GGML),
        Part::F8q8 => ("weight", F8Q8),
        Part::Shape => ("shape", SHAPE),
        Part::U8(name) | Part::U32(name) | Part::F32(name) => {
            return UqffPlace { part: name, field: "" };
        }
        Part::Fp8Dtype => return UqffPlace { part: "dtype", field: "" },
    };
    UqffPlace { part, field: if inside < header { field(fields, inside) } else { "data" } }
}
