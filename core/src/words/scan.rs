//! Linear search in a vocabulary: takes no memory, and time in proportion to its size.

use super::index::entry_bytes;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::FinalfusionPlace;

/// Searches for the entry of the string in `parts` from the first on; returns its ordinal and its
/// offset. Each entry has `index_bytes` after its string.
pub(super) fn scan(
    source: &impl Source,
    place: FinalfusionPlace,
    (count, index_bytes): (u32, u64),
    parts: [&[u8]; 3],
) -> Result<Option<(u32, u64)>> {
    let wanted: usize = parts.iter().map(|part| part.len()).sum();
    let mut scratch = [0; 1024];
    let (mut at, mut ordinal) = (0_u64, 0);
    while ordinal < count {
        let rest = usize::try_from(place.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let size = rest.min(source.block_limit(scratch.len()));
        let start = at;
        let window = source.block(place.offset.saturating_add(start), size, &mut scratch)?;
        while ordinal < count {
            let here = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
            let Some(rest) = window.get(here..) else { break };
            let Some((length, string)) = rest.split_first_chunk::<4>() else { break };
            let length = u32::from_le_bytes(*length) as usize;
            if length == wanted {
                let is_same = match string.get(..length) {
                    Some(string) => is_in_parts(parts, 0, string),
                    None => is_entry_in_parts(source, place.offset, at, parts)?,
                };
                if is_same {
                    return Ok(Some((ordinal, at)));
                }
            }
            at = at.saturating_add(4).saturating_add(length as u64).saturating_add(index_bytes);
            ordinal = ordinal.saturating_add(1);
        }
        if at == start {
            return Err(Error::new(place.offset.saturating_add(at), ErrorKind::SourceChanged));
        }
    }
    Ok(None)
}

/// Returns true if the entry at `base + at` is the string in `parts`.
pub(super) fn is_entry_in_parts(
    source: &impl Source,
    base: u64,
    at: u64,
    parts: [&[u8]; 3],
) -> Result<bool> {
    let wanted: usize = parts.iter().map(|part| part.len()).sum();
    let offset = base.saturating_add(at);
    if entry_bytes(source, offset)? != wanted {
        return Ok(false);
    }
    let (mut done, mut is_same) = (0, true);
    source.pieces(offset.saturating_add(4), wanted, |piece| {
        is_same = is_same && is_in_parts(parts, done, piece);
        done = done.saturating_add(piece.len());
        Ok(())
    })?;
    Ok(is_same)
}

/// Returns true if the string in `parts` has `piece` at `at`.
fn is_in_parts(parts: [&[u8]; 3], at: usize, piece: &[u8]) -> bool {
    let ours = parts.iter().flat_map(|part| part.iter());
    ours.skip(at).zip(piece).all(|(ours, theirs)| ours == theirs)
}
