//! What all members of a `tokenizer.json` are read with.

use alloc::string::String;

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Kind, Object, Read, Value, chars};

/// What a text means that is spelled like `spelling` between its quotes.
pub(super) fn unescaped(spelling: &str) -> String {
    if spelling.contains('\\') { chars(spelling).collect() } else { spelling.into() }
}

/// The text of a member.
pub(super) fn string<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, Option<String>> {
    Ok(object.text(name)?.map(unescaped))
}

/// The text of a member that has to be one character.
pub(super) fn character<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, char> {
    let text = object.needed(name, string(object, name)?)?;
    let mut characters = text.chars();
    let first = characters.next().filter(|_| characters.next().is_none());
    first.ok_or_else(|| object.bad(name, "one character is needed"))
}

/// A truth that there has to be.
pub(super) fn truth<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, bool> {
    object.needed(name, object.truth(name)?)
}

/// The member `type` of a step.
pub(super) fn kind<'t>(object: &Object<'t>) -> Read<'t, &'t str> {
    object.needed("type", object.text("type")?)
}

/// Refuses a step by the name of its kind.
pub(super) fn refused<'t>(step: Value<'t>, only: &'static str) -> Fault<'t> {
    let kind = step.member("type");
    let key = kind.and_then(|kind| kind.as_text()).unwrap_or("type");
    let offset = kind.map_or(step.offset(), |kind| kind.offset());
    Fault { error: Error::new(offset, ErrorKind::UnsupportedSetting), key, only }
}

/// An error that was met in `value`.
pub(super) fn at<'t>(value: Value<'t>, key: &'static str, error: Error) -> Fault<'t> {
    let offset = error.offset().unwrap_or(value.offset());
    Fault { error: Error::new(offset, error.kind()), key, only: "" }
}

/// Calls `read` with every step: those of sequences, which have them in the member `steps`, one by
/// one.
pub(super) fn each_step<'t>(
    value: Option<Value<'t>>,
    steps: &'static str,
    read: &mut dyn FnMut(Value<'t>) -> Read<'t, ()>,
) -> Read<'t, ()> {
    let Some(value) = value else { return Ok(()) };
    let is_sequence = value.member("type").is_some_and(|kind| kind.is_text("Sequence"));
    if !is_sequence {
        return read(value);
    }
    let sequence = Object::new(value)?;
    sequence.text("type")?;
    let list = sequence.needed(steps, sequence.get(steps))?;
    if list.kind() != Kind::BeginArray {
        return Err(sequence.bad(steps, "a list is needed"));
    }
    sequence.finish(&[])?;
    list.items().try_for_each(|step| each_step(Some(step), steps, read))
}
