//! The rule for settings in files: each is *used*, *known to be irrelevant*, or *refused by name*.
//!
//! A reader asks for the settings that it honours, [`Members`] remembers which. When it is done,
//! the file's other settings must be in the list of the irrelevant ones for its kind; the rest is
//! refused, because its effect is unknown.
//!
//! Files that models are run from, and folders of models of texts, are read by core, whose
//! [`Object`](nanoembed_core::text::json::Object) has the same rule in stable codes and offsets;
//! here are folders that are converted, with messages that show values.

mod members;

use std::fmt::Display;

use nanoembed_core::ErrorKind;

use crate::error::Error;

pub use members::Members;
pub use nanoembed_core::model::irrelevant;

/// Refuses a setting that no list has.
fn unknown(name: impl Display) -> Error {
    let message = format!("the setting `{name}` is not known, so what it changes would be lost");
    Error::input(ErrorKind::UnsupportedSetting, message)
        .with_hint("if it does not change results, take it out of the file, or go on without it: `--allow-unknown`")
}

/// Refuses a setting that is known, with a value that is not honoured. `only` says what would be,
/// such as "only \"gelu\" is honoured".
pub fn unsupported(name: impl Display, value: impl Display, only: &str) -> Error {
    let message = format!("`{name}` is {value}; {only}");
    Error::input(ErrorKind::UnsupportedSetting, message)
}
