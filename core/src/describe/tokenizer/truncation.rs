//! What a `tokenizer.json` says of long texts.

use crate::text::json::{Object, Read};

/// How many tokens a tokenizer's file cuts texts to, which is done on the right; `None` if it does
/// not. Most programs say themselves how many they want; `StaticEmbedding` goes by the file.
///
/// # Errors
///
/// A setting that is not honoured.
pub(super) fn read<'t>(root: &Object<'t>) -> Read<'t, Option<u64>> {
    let Some(truncation) = root.object("truncation")? else { return Ok(None) };
    let only = "only Right is honoured";
    truncation.neutral("direction", only, |direction| direction.is_text("Right"))?;
    let tokens = truncation.integer("max_length")?;
    truncation.finish(&["strategy", "stride"])?;
    Ok(tokens)
}
