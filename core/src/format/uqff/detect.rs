//! Distinguishes UQFF files from other safetensors files.

use super::view::FORMAT_SUFFIX;
use crate::format::safetensors::{LENGTH_BYTES, MAX_HEADER_BYTES};
use crate::text::json::{JsonTokens, LexemeKind};

/// Returns true if a safetensors file is a UQFF file or a shard of one: all its tensors have
/// decimal names, or it contains a UQFF version or the format of a layer. `start` is the file, or
/// at least its header.
#[must_use]
pub fn is_uqff(start: &[u8]) -> bool {
    let Some((length, rest)) = start.split_first_chunk() else { return false };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER_BYTES {
        return false;
    }
    let header = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    let mut tokens = JsonTokens::new(header.unwrap_or(rest), LENGTH_BYTES);
    let mut blobs = 0_u64;
    if !matches!(tokens.next(), Some(Ok(token)) if token.kind == LexemeKind::BeginObject) {
        return false;
    }
    while let Some(Ok(key)) = tokens.next() {
        if key.kind != LexemeKind::Key {
            break;
        }
        let name = key.spelling;
        if name.starts_with("uqff.version.") || name.ends_with(FORMAT_SUFFIX) {
            return true;
        }
        let numeric = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        // A shard of 1.x may begin in the middle of a layer.
        if !numeric && name != "__metadata__" && !is_part(name) {
            return false;
        }
        blobs = blobs.saturating_add(u64::from(numeric));
        if !matches!(tokens.skip_value(), Some(Ok(()))) {
            break;
        }
    }
    blobs > 0
}

/// Returns true if a tensor may be part of a layer of 1.x.
fn is_part(name: &str) -> bool {
    name.contains(".weight") || name.ends_with(".bias")
}
