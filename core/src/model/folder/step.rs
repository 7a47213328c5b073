//! Steps of a `tokenizer.json`, which are one or a sequence.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Kind, Object, Read, Value, chars};

/// Calls `read` with every step: those of sequences, which have them in the member `steps`, one by
/// one.
pub(crate) fn each_step<'t>(
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

/// The member `type` of a step.
pub(crate) fn kind<'t>(object: &Object<'t>) -> Read<'t, &'t str> {
    object.needed("type", object.text("type")?)
}

/// A truth that there has to be.
pub(crate) fn truth<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, bool> {
    object.needed(name, object.truth(name)?)
}

/// The text of a member that has to be one character.
pub(crate) fn character<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, char> {
    let spelling = object.needed(name, object.text(name)?)?;
    let mut characters = chars(spelling);
    let first = characters.next().filter(|_| characters.next().is_none());
    first.ok_or_else(|| object.bad(name, "one character is needed"))
}

/// Refuses a step by the name of its kind.
pub(crate) fn refused<'t>(step: Value<'t>, only: &'static str) -> Fault<'t> {
    let kind = step.member("type");
    let key = kind.and_then(|kind| kind.as_text()).unwrap_or("type");
    let offset = kind.map_or(step.offset(), |kind| kind.offset());
    Fault { error: Error::new(offset, ErrorKind::UnsupportedSetting), key, only }
}
