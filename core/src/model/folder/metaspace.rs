//! Metaspace: spaces become `▁`, one is put in front, and pieces begin with one.

use super::step::character;
use crate::text::json::{Object, Read};

/// How spaces are written, and where one is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metaspace {
    pub(crate) replacement: char,
    pub(crate) prepends: Prepends,
    pub(crate) splits: bool,
}

/// Which pieces get one in front, unless they begin with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepends {
    Never,
    /// That with which the text begins.
    First,
    Always,
}

impl Metaspace {
    /// Reads a pre-tokeniser or decoder of this kind. Old files have `add_prefix_space`.
    pub(crate) fn read<'t>(step: &Object<'t>) -> Read<'t, Self> {
        let replacement = character(step, "replacement")?;
        let only = "only first, never and always are known";
        let mut prepends = match step.text("prepend_scheme")? {
            None | Some("always") => Prepends::Always,
            Some("first") => Prepends::First,
            Some("never") => Prepends::Never,
            Some(_) => return Err(step.unsupported("prepend_scheme", only)),
        };
        if step.truth("add_prefix_space")? == Some(false) {
            let says_otherwise =
                step.get("prepend_scheme").is_some() && prepends != Prepends::Never;
            if says_otherwise {
                return Err(step.bad("add_prefix_space", "it is at odds with `prepend_scheme`"));
            }
            prepends = Prepends::Never;
        }
        let splits = step.truth("split")?.unwrap_or(true);
        step.finish(&["str_rep"])?;
        Ok(Self { replacement, prepends, splits })
    }
}
