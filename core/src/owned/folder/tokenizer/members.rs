//! Members of the tokenizer's files.

use alloc::string::String;

use crate::error::Result;
use crate::limit;
use crate::text::json::{Value, chars};

/// The value of a text that is known to be JSON.
pub(super) fn parsed(text: &str) -> Option<Value<'_>> {
    Value::parse(text, 0).ok()
}

pub(super) fn truth(object: Value<'_>, name: &str) -> Option<bool> {
    object.member(name).and_then(|value| value.as_bool())
}

/// A spelling with its escapes resolved.
pub(super) fn written(spelling: &str) -> Result<String> {
    limit::spelled(chars(spelling))
}

/// The text of a token, which some files have as an object.
pub(super) fn spelled(value: Value<'_>) -> Result<Option<String>> {
    value.member("content").unwrap_or(value).as_text().map(written).transpose()
}

/// The text of a token that is a member.
pub(super) fn spelled_member(object: Option<Value<'_>>, name: &str) -> Result<Option<String>> {
    object.and_then(|object| object.member(name)).map_or(Ok(None), spelled)
}
