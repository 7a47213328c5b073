//! Metaspace: spaces become `▁`, one is prepended, and pieces begin with one.

use super::settings::character;
use crate::text::json::{Object, Read};
use crate::token::spec::{Metaspace, Prepends};

/// Reads a pre-tokeniser or decoder of this kind. Old files have `add_prefix_space`.
pub(super) fn read<'t>(step: &Object<'t>) -> Read<'t, Metaspace> {
    let replacement = character(step, "replacement")?;
    let only = "only first, never and always are known";
    let mut prepends = match step.text("prepend_scheme")? {
        None | Some("always") => Prepends::Always,
        Some("first") => Prepends::First,
        Some("never") => Prepends::Never,
        Some(_) => return Err(step.unsupported("prepend_scheme", only)),
    };
    if step.truth("add_prefix_space")? == Some(false) {
        let says_otherwise = step.get("prepend_scheme").is_some() && prepends != Prepends::Never;
        if says_otherwise {
            return Err(step.bad("add_prefix_space", "it is at odds with `prepend_scheme`"));
        }
        prepends = Prepends::Never;
    }
    let splits = step.truth("split")?.unwrap_or(true);
    step.finish(&["str_rep"])?;
    Ok(Metaspace { replacement, prepends, splits })
}
