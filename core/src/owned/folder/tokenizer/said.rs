//! What a member of these files says.

use alloc::string::String;

use crate::text::json::{Value, chars};

/// What a text says that was found to be JSON.
pub(super) fn parsed(text: &str) -> Option<Value<'_>> {
    Value::parse(text, 0).ok()
}

pub(super) fn truth(object: Value<'_>, name: &str) -> Option<bool> {
    object.member(name).and_then(|value| value.as_bool())
}

pub(super) fn written(spelling: &str) -> String {
    chars(spelling).collect()
}

/// The text of a token, which some files have as an object.
pub(super) fn spelled(value: Value<'_>) -> Option<String> {
    value.member("content").unwrap_or(value).as_text().map(written)
}

/// The truth called `name` of a step, or of the first among its steps that has it.
pub(super) fn within(step: Value<'_>, name: &str) -> Option<bool> {
    let steps = ["pretokenizers", "normalizers"];
    let inner = || steps.iter().filter_map(|steps| step.member(steps)).flat_map(|it| it.items());
    truth(step, name).or_else(|| inner().find_map(|step| within(step, name)))
}

/// Whether a normaliser makes letters lower case, as far as it says.
pub(super) fn lower_case(normalizer: Value<'_>) -> Option<bool> {
    if normalizer.member("type").is_some_and(|kind| kind.is_text("Lowercase")) {
        return Some(true);
    }
    let inner = || normalizer.member("normalizers")?.items().find_map(lower_case);
    truth(normalizer, "lowercase").or_else(inner)
}
