//! A template in which `{query}` and `{document}` are the places of texts, as in GGUF files.

use super::{PutPart, TemplatePart};
use crate::text::json::{Fault, Read};

const PLACES: [(&str, TemplatePart<'static>); 2] =
    [("{query}", TemplatePart::Query), ("{document}", TemplatePart::Document)];

/// Calls `put` with the parts of the prompt, in order.
pub(super) fn run<'t>(text: &'t str, put: PutPart<'_, 't>) -> Read<'t, ()> {
    let mut put = |part| put(part).map_err(Fault::from_error);
    let mut rest = text;
    while let Some((before, place, after)) = next(rest) {
        put(TemplatePart::Text(before))?;
        put(place)?;
        rest = after;
    }
    put(TemplatePart::Text(rest))
}

/// The text before the next place, the place, and the text after it.
fn next(text: &str) -> Option<(&str, TemplatePart<'static>, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let (before, tail) = text.split_at_checked(at)?;
        let mut places = PLACES.iter();
        places.find_map(|(name, place)| Some((before, *place, tail.strip_prefix(name)?)))
    })
}
