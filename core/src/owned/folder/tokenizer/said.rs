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
