//! Patterns to search for in texts.

use super::settings::{needed_spelling, spelling};
use crate::text::json::{Object, Read};
use crate::token::spec::{CharacterRun, Pattern, Replace, SpelledText};

/// The size in bytes of the longest expression for a run.
const LONGEST_RUN: usize = 64;

/// Reads a replacement step.
pub(super) fn replace<'t>(step: &Object<'t>) -> Read<'t, Replace<'t>> {
    let pattern = pattern(step, &|text| text, &run)?;
    Ok(Replace { pattern, content: needed_spelling(step, "content")? })
}

/// The run of characters that a regular expression describes.
pub(super) fn run(regex: SpelledText<'_>) -> Option<Pattern<'_>> {
    let mut room = [0; LONGEST_RUN];
    regex.unescape(&mut room).and_then(CharacterRun::from_regex).map(Pattern::Run)
}

/// The member `pattern`: a string, or a regular expression that `from_regex` knows.
pub(super) fn pattern<'t, P>(
    step: &Object<'t>,
    from_text: &dyn Fn(Pattern<'t>) -> P,
    from_regex: &dyn Fn(SpelledText<'t>) -> Option<P>,
) -> Read<'t, P> {
    let pattern = step.needed("pattern", step.object("pattern")?)?;
    let text = spelling(&pattern, "String")?;
    let regex = spelling(&pattern, "Regex")?;
    pattern.finish(&[])?;
    match (text, regex) {
        (Some(text), None) if !text.is_empty() => Ok(from_text(Pattern::Text(text))),
        (None, Some(regex)) => from_regex(regex)
            .ok_or_else(|| pattern.unsupported("Regex", "no such expression is known")),
        _ => Err(step.unsupported("pattern", "only a string or an expression is honoured")),
    }
}
