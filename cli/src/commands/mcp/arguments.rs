//! The arguments of a call.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The arguments of a call, which are taken one by one.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn new(arguments: Value) -> Result<Self> {
        match arguments {
            Value::Object(members) => Ok(Self(members)),
            Value::Null => Ok(Self(Map::new())),
            _ => Err(Error::usage("the arguments are an object")),
        }
    }

    /// A text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::argument(name, "is a text")),
        }
    }

    /// A text that is not blank.
    pub(super) fn needed(&mut self, name: &'static str) -> Result<String> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| Error::argument(name, "is needed, a text"))
    }

    /// A number from 1 to `most`.
    pub(super) fn count(&mut self, name: &'static str, usual: usize, most: usize) -> Result<usize> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else {
            return Ok(usual);
        };
        // Some agents write whole numbers as 5.0.
        let number = value.as_u64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as u64)
        });
        let within = number.and_then(|number| usize::try_from(number).ok());
        let within = within.filter(|count| (1..=most).contains(count));
        within.ok_or_else(|| Error::argument(name, format!("is a number from 1 to {most}")))
    }

    /// Texts, at most so many.
    pub(super) fn texts(&mut self, name: &'static str, most: usize) -> Result<Vec<String>> {
        let wrong = || Error::argument(name, format!("is a list of 1 to {most} texts"));
        let Some(Value::Array(items)) = self.0.remove(name) else { return Err(wrong()) };
        if !(1..=most).contains(&items.len()) {
            return Err(wrong());
        }
        let text = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(wrong()),
        };
        items.into_iter().map(text).collect()
    }

    /// Rejects arguments that were not taken.
    pub(super) fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => Err(Error::usage(format!("there is no argument `{name}`"))),
            None => Ok(()),
        }
    }
}
