//! What all members of a `tokenizer.json` are read with.

use alloc::string::String;

use crate::error::Error;
pub(super) use crate::model::step::{character, each_step, kind, refused, truth};
use crate::text::json::{Fault, Object, Read, Value, chars, has_escapes};

/// What a text means that is spelled like `spelling` between its quotes.
pub(super) fn unescaped(spelling: &str) -> String {
    if has_escapes(spelling) { chars(spelling).collect() } else { spelling.into() }
}

/// The text of a member.
pub(super) fn string<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, Option<String>> {
    Ok(object.text(name)?.map(unescaped))
}

/// An error that was met in `value`.
pub(super) fn at<'t>(value: Value<'t>, key: &'static str, error: Error) -> Fault<'t> {
    let offset = error.offset().unwrap_or(value.offset());
    Fault { error: Error::new(offset, error.kind()), key, only: "" }
}
