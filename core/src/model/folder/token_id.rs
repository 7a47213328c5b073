//! A token beside its id, as post-processors of a `tokenizer.json` have it.

use crate::text::json::{Object, Read};

/// The id in the member `name`, such as `["</s>", 2]`.
pub(crate) fn token_id<'t>(step: &Object<'t>, name: &'static str) -> Read<'t, u32> {
    let value = step.needed(name, step.get(name))?;
    let mut items = value.items();
    let id = match (items.next(), items.next(), items.next()) {
        (Some(token), Some(id), None) if token.as_text().is_some() => id.as_u64(),
        _ => None,
    };
    let id = id.and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| step.bad(name, "a token with its id is needed"))
}
