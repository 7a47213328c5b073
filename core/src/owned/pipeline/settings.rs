//! What all members of a `tokenizer.json` are read with.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, Result};
use crate::limit::{copied, push, spelled};
pub(super) use crate::model::step::{character, each_step, kind, refused, truth};
use crate::text::json::{Fault, Object, Read, Value, chars, has_escapes};

/// What a text means that is spelled like `spelling` between its quotes.
pub(super) fn unescaped(spelling: &str) -> Result<String> {
    if has_escapes(spelling) { spelled(chars(spelling)) } else { copied(spelling) }
}

/// The text of a member.
pub(super) fn string<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, Option<String>> {
    let text = object.text(name)?.map(unescaped).transpose();
    text.map_err(|error| at(object.value(), name, error))
}

/// A list of one.
pub(super) fn one_of<T>(value: T) -> Result<Vec<T>> {
    let mut list = Vec::new();
    push(&mut list, value)?;
    Ok(list)
}

/// An error that was met in `value`.
pub(super) fn at<'t>(value: Value<'t>, key: &'static str, error: Error) -> Fault<'t> {
    let offset = error.offset().unwrap_or(value.offset());
    Fault { error: Error::new(offset, error.kind()), key, only: "" }
}
