//! The rule for settings in files: each is *used*, *known to be irrelevant*, or *refused by name*.
//!
//! A reader asks for the settings that it honours, [`Asked`] remembers which. When it is done, what
//! the file has beyond these must be in the list of the [`irrelevant`] ones for its kind; the rest
//! is refused, because nobody knows what it changes.
//!
//! [`Members`] applies the rule to JSON objects; readers of other forms, such as the metadata of
//! GGUF, use [`Asked`].

#![allow(dead_code, reason = "readers are brought under the rule one after another")]

pub mod irrelevant;
mod members;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;

use nanoembed_core::ErrorKind;

use crate::error::Error;

pub use members::Members;

/// The names of the settings that a reader has asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    names: RefCell<BTreeSet<String>>,
}

impl Asked {
    /// Remembers that `name` is honoured.
    pub fn note(&self, name: &str) {
        if !self.names.borrow().contains(name) {
            self.names.borrow_mut().insert(name.to_owned());
        }
    }

    /// The first of `names` that nobody has asked for and that is not one of `irrelevant`.
    pub fn first_unknown<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        irrelevant: &[&str],
    ) -> Option<&'n str> {
        let asked = self.names.borrow();
        names.into_iter().find(|name| !asked.contains(*name) && !irrelevant.contains(name))
    }
}

/// Refuses a setting that no list has.
pub fn unknown(name: impl Display) -> Error {
    let message = format!("the setting `{name}` is not known, so what it changes would be lost");
    Error::input(ErrorKind::UnsupportedSetting, message)
        .with_hint("if it does not change results, take it out of the file")
}

/// Refuses a setting that is known, with a value that is not honoured. `only` says what would be,
/// such as "only \"gelu\" is honoured".
pub fn unsupported(name: impl Display, value: impl Display, only: &str) -> Error {
    let message = format!("`{name}` is {value}; {only}");
    Error::input(ErrorKind::UnsupportedSetting, message)
}
