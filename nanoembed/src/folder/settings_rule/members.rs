//! The members of a JSON object, under the rule for settings.

use std::cell::RefCell;
use std::collections::BTreeSet;

use nanoembed_core::ErrorKind;
use serde_json::{Map, Value};

use super::unsupported;
use crate::error::{Error, Result};
use crate::folder::texts::Allowed;

/// A JSON object that knows which of its members were asked for. Members that are null count as
/// absent.
#[derive(Clone, Debug)]
pub struct Members<'v> {
    /// The file's name in messages.
    file: String,
    /// The prefix of the members' names in messages: `model.` for those of a member.
    prefix: String,
    object: &'v Map<String, Value>,
    asked: RefCell<BTreeSet<String>>,
}

impl<'v> Members<'v> {
    /// The members of `value`, which messages find in `file`.
    pub fn new(value: &'v Value, file: impl Into<String>) -> Result<Self> {
        let file = file.into();
        match value {
            Value::Object(object) => Ok(Self::with(object, file, String::new())),
            other => Err(not_an_object(other).at(file)),
        }
    }

    fn with(object: &'v Map<String, Value>, file: String, prefix: String) -> Self {
        Self { file, prefix, object, asked: RefCell::default() }
    }

    /// The names of all members that are not null.
    pub fn names(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        let present = self.object.iter().filter(|(_, value)| !value.is_null());
        present.map(|(name, _)| name.as_str())
    }

    /// The value of a member that is honoured whatever it is.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.note(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// The text of a member.
    pub fn text(&self, name: &str) -> Result<Option<&str>> {
        self.typed(name, "text", Value::as_str)
    }

    /// The truth of a member.
    pub fn truth(&self, name: &str) -> Result<Option<bool>> {
        self.typed(name, "true or false", Value::as_bool)
    }

    /// A member that is an object, with a separate record: its [`finish`](Self::finish) has to be
    /// called, too.
    pub fn nested(&self, name: &str) -> Result<Option<Members<'_>>> {
        let object = self.typed(name, "an object", Value::as_object)?;
        let prefix = format!("{}{name}.", self.prefix);
        Ok(object.map(|it| Members::with(it, self.file.clone(), prefix)))
    }

    /// Takes a member for known that changes nothing while it has one of the `neutral` values;
    /// others are refused.
    pub fn neutral(&self, name: &str, neutral: &[Value]) -> Result<()> {
        match self.get(name) {
            Some(value) if !neutral.iter().any(|it| same(it, value)) => {
                let known = neutral.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
                let only = match known.as_str() {
                    "" => "no value of it is honoured".to_owned(),
                    known => format!("only {known} is honoured"),
                };
                Err(self.unsupported(name, &only))
            }
            _ => Ok(()),
        }
    }

    /// Refuses the value of a member; `only` says what would be honoured.
    pub fn unsupported(&self, name: &str, only: &str) -> Error {
        let value = self.object.get(name).unwrap_or(&Value::Null);
        unsupported(self.path(name), brief(value), only).at(&self.file)
    }

    /// The error for a member with an invalid value.
    pub fn bad(&self, name: &str, message: impl Into<String>) -> Error {
        let message = format!("`{}` {}", self.path(name), message.into());
        Error::input(ErrorKind::BadMetadata, message).at(&self.file)
    }

    /// Refuses the first member that was not asked for and is not one of `irrelevant`.
    pub fn finish(&self, irrelevant: &[&str]) -> Result<()> {
        self.finish_allowing(irrelevant, &Allowed::default())
    }

    /// The same, but unknown members that are `allowed` are passed over.
    pub(crate) fn finish_allowing(&self, irrelevant: &[&str], allowed: &Allowed) -> Result<()> {
        let asked = self.asked.borrow();
        let is_known = |name: &str| asked.contains(name) || irrelevant.contains(&name);
        let present = self.object.iter().filter(|(_, value)| !value.is_null());
        let mut unknown = present.map(|(name, _)| name).filter(|name| !is_known(name));
        match unknown.find(|name| !allowed.passes(&self.file, name)) {
            Some(name) => Err(super::unknown(self.path(name)).at(&self.file)),
            None => Ok(()),
        }
    }

    /// Remembers that a member is honoured.
    fn note(&self, name: &str) {
        if !self.asked.borrow().contains(name) {
            self.asked.borrow_mut().insert(name.to_owned());
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn typed<'s, T>(
        &'s self,
        name: &str,
        kind: &str,
        read: impl Fn(&'s Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let bad = || self.bad(name, format!("is {}, not {kind}", brief(value)));
        read(value).map(Some).ok_or_else(bad)
    }
}

fn not_an_object(value: &Value) -> Error {
    let message = format!("an object is needed here, not {}", brief(value));
    Error::input(ErrorKind::BadMetadata, message)
}

/// True if two values are the same; 1 and 1.0 are.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|a| Some(a) == b.as_f64())
}

/// A value as messages show it.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(result: Result<()>) -> String {
        format!("{:?}", result.unwrap_err())
    }

    #[test]
    fn a_member_that_nobody_asked_for_is_refused_by_name() {
        let value = json!({"a": 1, "b": 2, "c": null, "note": "x"});
        let members = Members::new(&value, "config.json").unwrap();
        assert_eq!(members.get("a"), Some(&json!(1)));
        assert!(message(members.finish(&["note"])).contains("`b`"));
        assert!(members.get("b").is_some());
        members.finish(&["note"]).unwrap();
    }

    #[test]
    fn members_of_members_have_a_record_of_their_own() {
        let value = json!({"rope": {"type": "linear", "odd": 1}});
        let members = Members::new(&value, "config.json").unwrap();
        let rope = members.nested("rope").unwrap().unwrap();
        assert_eq!(rope.text("type").unwrap(), Some("linear"));
        assert!(message(rope.finish(&[])).contains("`rope.odd`"));
        members.finish(&[]).unwrap();
    }

    #[test]
    fn a_neutral_value_passes_and_another_is_refused_by_name() {
        let value = json!({"factor": 1, "is_decoder": true, "off": false, "none": null});
        let members = Members::new(&value, "config.json").unwrap();
        members.neutral("factor", &[json!(1.0)]).unwrap();
        members.neutral("off", &[json!(false)]).unwrap();
        members.neutral("none", &[]).unwrap();
        members.neutral("absent", &[]).unwrap();
        let refusal = message(members.neutral("is_decoder", &[json!(false)]));
        assert!(refusal.contains("`is_decoder` is true; only false is honoured"), "{refusal}");
    }

    #[test]
    fn a_member_of_another_type_is_refused_by_name() {
        let value = json!({"a": "x"});
        let members = Members::new(&value, "config.json").unwrap();
        let refusal = format!("{:?}", members.truth("a").unwrap_err());
        assert!(refusal.contains("`a` is \\\"x\\\", not true or false"), "{refusal}");
        assert!(Members::new(&json!([1]), "config.json").is_err());
    }
}
