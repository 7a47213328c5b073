//! A token with its id, in post-processors of a `tokenizer.json`.

use crate::text::json::{Object, Read};
use crate::token::spec::{SpecialToken, SpelledText};

/// The token in the member `name`, such as `["</s>", 2]`.
pub(super) fn token_id<'t>(step: &Object<'t>, name: &'static str) -> Read<'t, SpecialToken<'t>> {
    let value = step.needed(name, step.get(name))?;
    let mut items = value.items();
    let token = match (items.next(), items.next(), items.next()) {
        (Some(token), Some(id), None) => token.as_text().zip(id.as_u64()),
        _ => None,
    };
    let token = token.and_then(|(token, id)| {
        Some(SpecialToken { id: u32::try_from(id).ok()?, name: SpelledText::from_json(token) })
    });
    token.ok_or_else(|| step.bad(name, "a token with its id is needed"))
}
