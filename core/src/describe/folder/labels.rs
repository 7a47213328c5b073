//! The names of classes.

use crate::text::json::Value;

/// The names of classes in the `id2label` of a `config.json`, as JSON spells them, with the
/// classes' numbers.
pub fn labels<'a>(config: Value<'a>) -> impl Iterator<Item = (u32, &'a str)> + use<'a> {
    let named = config.member("id2label").into_iter().flat_map(|labels| labels.members());
    named.filter_map(|(id, name)| Some((id.parse().ok()?, name.as_text()?)))
}
