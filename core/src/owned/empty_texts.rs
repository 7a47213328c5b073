//! Texts without tokens: their vectors are zeros, which are similar to nothing.

use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, filled};

/// Fills `out` with vectors of `width` elements, one for each text: `embed` makes those of the texts
/// that have tokens, of which it takes the lengths.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if `out` has not the right length; as `embed`.
pub(super) fn embed_nonempty(
    lengths: &[usize],
    width: usize,
    out: &mut [f32],
    embed: impl FnOnce(&[usize], &mut [f32]) -> Result<()>,
) -> Result<()> {
    if lengths.iter().all(|length| *length > 0) {
        return embed(lengths, out);
    }
    let some = collected(lengths.iter().copied().filter(|length| *length > 0))?;
    let mut found = filled(some.len().saturating_mul(width), 0.0)?;
    if !some.is_empty() {
        embed(&some, &mut found)?;
    }
    if lengths.len().checked_mul(width) != Some(out.len()) {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    let mut found = found.chunks_exact(width);
    for (length, out) in lengths.iter().zip(out.chunks_exact_mut(width)) {
        let row = if *length > 0 { found.next() } else { None };
        match row {
            Some(row) => out.copy_from_slice(row),
            None => out.fill(0.0),
        }
    }
    Ok(())
}
