//! The member `added_tokens` of a `tokenizer.json`.

use super::settings::{needed_spelling, truth};
use crate::text::json::{LexemeKind, Object, Read, Value};
use crate::token::AddedRules;
use crate::token::spec::{AddedTokenSpec, AddedTokenSpecs, JsonPlace};

/// The added tokens, all validated; none if the member is absent.
pub(super) fn read<'t>(root: &Object<'t>) -> Read<'t, AddedTokenSpecs<'t>> {
    const NAME: &str = "added_tokens";
    let Some(list) = root.get(NAME) else { return Ok(AddedTokenSpecs::Listed(&[])) };
    if list.kind() != LexemeKind::BeginArray {
        return Err(root.bad(NAME, "a list is needed"));
    }
    list.items().try_for_each(|token| one(token).map(drop))?;
    Ok(AddedTokenSpecs::Json { list, read: one })
}

fn one(value: Value<'_>) -> Read<'_, AddedTokenSpec<'_>> {
    let token = Object::new(value)?;
    let content = needed_spelling(&token, "content")?;
    let rules = AddedRules {
        strips_before: truth(&token, "lstrip")?,
        strips_after: truth(&token, "rstrip")?,
        single_word: truth(&token, "single_word")?,
    };
    let (normalized, special) = (truth(&token, "normalized")?, truth(&token, "special")?);
    let id = token.needed("id", token.integer("id")?)?;
    let id = u32::try_from(id).map_err(|_| token.bad("id", "ids have 32 bits"))?;
    token.finish(&[])?;
    Ok(AddedTokenSpec { id, content, rules, normalized, special, place: JsonPlace::new(value) })
}
