//! The member `added_tokens` of a `tokenizer.json`.

use super::settings::{needed_spelling, truth};
use crate::text::json::{Kind, Object, Read, Value};
use crate::token::AddedRules;
use crate::token::spec::{AddedToken, AddedTokens, Place};

/// The added tokens, all validated; none if the member is absent.
pub(super) fn read<'t>(root: &Object<'t>) -> Read<'t, AddedTokens<'t>> {
    const NAME: &str = "added_tokens";
    let Some(list) = root.get(NAME) else { return Ok(AddedTokens::Listed(&[])) };
    if list.kind() != Kind::BeginArray {
        return Err(root.bad(NAME, "a list is needed"));
    }
    list.items().try_for_each(|token| one(token).map(drop))?;
    Ok(AddedTokens::Json { list, read: one })
}

fn one(value: Value<'_>) -> Read<'_, AddedToken<'_>> {
    let token = Object::new(value)?;
    let content = needed_spelling(&token, "content")?;
    let rules = AddedRules {
        strips_before: truth(&token, "lstrip")?,
        strips_behind: truth(&token, "rstrip")?,
        single_word: truth(&token, "single_word")?,
    };
    let (normalized, special) = (truth(&token, "normalized")?, truth(&token, "special")?);
    let id = token.needed("id", token.integer("id")?)?;
    let id = u32::try_from(id).map_err(|_| token.bad("id", "ids have 32 bits"))?;
    token.finish(&[])?;
    Ok(AddedToken { id, content, rules, normalized, special, place: Place::new(value) })
}
