//! Helpers to read the parts of a `tokenizer.json`.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, LexemeKind, Object, Read, Value};
use crate::token::spec::{JsonPlace, SpelledStep, SpelledText, Steps};

/// Adds the steps of a member, which is a single step or a sequence with the steps in the member
/// `name`. `read` reads one of them.
pub(super) fn steps<'t, S>(
    value: Option<Value<'t>>,
    name: &'static str,
    read: &dyn Fn(Value<'t>) -> Read<'t, S>,
    steps: &mut Steps<'t, S>,
) -> Read<'t, ()> {
    each_step(value, name, &mut |value| {
        let step = SpelledStep { does: read(value)?, place: JsonPlace::new(value) };
        let many = JsonPlace::new(value).fault(&[name], ErrorKind::OverLimit, "there are too many");
        steps.push(step).map_err(|_| many)
    })
}

/// Calls `read` with every step, including those in the member `steps` of sequences.
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
    if list.kind() != LexemeKind::BeginArray {
        return Err(sequence.bad(steps, "a list is needed"));
    }
    sequence.finish(&[])?;
    list.items().try_for_each(|step| each_step(Some(step), steps, read))
}

/// The member `type` of a step.
pub(super) fn kind<'t>(object: &Object<'t>) -> Read<'t, &'t str> {
    object.needed("type", object.text("type")?)
}

/// A required boolean.
pub(super) fn truth<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, bool> {
    object.needed(name, object.truth(name)?)
}

/// A required text of one character.
pub(super) fn character<'t>(object: &Object<'t>, name: &'static str) -> Read<'t, char> {
    let text = object.needed(name, spelling(object, name)?)?;
    text.character().ok_or_else(|| object.bad(name, "one character is needed"))
}

/// An optional text.
pub(super) fn spelling<'t>(
    object: &Object<'t>,
    name: &'static str,
) -> Read<'t, Option<SpelledText<'t>>> {
    Ok(object.text(name)?.map(SpelledText::from_json))
}

/// A required text.
pub(super) fn needed_spelling<'t>(
    object: &Object<'t>,
    name: &'static str,
) -> Read<'t, SpelledText<'t>> {
    object.needed(name, spelling(object, name)?)
}

/// Rejects a step by the name of its kind.
pub(super) fn refused<'t>(step: Value<'t>, only: &'static str) -> Fault<'t> {
    let kind = step.member("type");
    let key = kind.and_then(|kind| kind.as_text()).unwrap_or("type");
    let offset = kind.map_or(step.offset(), |kind| kind.offset());
    Fault { error: Error::new(offset, ErrorKind::UnsupportedSetting), key, only }
}
