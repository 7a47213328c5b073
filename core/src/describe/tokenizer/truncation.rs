//! The truncation in a `tokenizer.json`.

use crate::text::json::{Object, Read};

/// The number of tokens to which a tokenizer's file truncates texts, on the right; `None` without
/// truncation. Most programs set their own limit; `StaticEmbedding` uses the file's.
///
/// # Errors
///
/// A setting that is not supported.
pub(super) fn read<'t>(root: &Object<'t>) -> Read<'t, Option<u64>> {
    let Some(truncation) = root.object("truncation")? else { return Ok(None) };
    let only = "only Right is honoured";
    truncation.neutral("direction", only, |direction| direction.is_text("Right"))?;
    let tokens = truncation.integer("max_length")?;
    truncation.finish(&["strategy", "stride"])?;
    Ok(tokens)
}
