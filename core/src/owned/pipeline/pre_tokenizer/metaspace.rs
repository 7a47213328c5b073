//! Metaspace: spaces become `▁`, one is put in front, and pieces begin with one.

use alloc::vec::Vec;

use super::Piece;
use super::split::{Behavior, Cuts};
use crate::owned::pipeline::settings::character;
use crate::owned::pipeline::text::Text;
use crate::text::json::{Object, Read};

/// How spaces are written, and where one is added.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Metaspace {
    pub(in crate::owned::pipeline) replacement: char,
    pub(in crate::owned::pipeline) prepends: Prepends,
    splits: bool,
}

/// Which pieces get one in front, unless they begin with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::owned::pipeline) enum Prepends {
    Never,
    /// That with which the text begins.
    First,
    Always,
}

impl Metaspace {
    /// Rewrites a piece of a text and cuts it.
    pub(super) fn write(self, text: &Text, piece: Piece, to: &mut Text, out: &mut Vec<Piece>) {
        let part = &text.string[piece.start..piece.end];
        let start = to.string.len();
        let is_marked = part.starts_with([' ', self.replacement]);
        let is_first = piece.start < text.first;
        let prepends = match self.prepends {
            Prepends::Never => false,
            Prepends::First => is_first,
            Prepends::Always => true,
        };
        if prepends && !is_marked && !part.is_empty() {
            to.string.push(self.replacement);
        }
        for (at, c) in part.char_indices() {
            to.string.push(if c == ' ' { self.replacement } else { c });
            to.comes_from(text, piece.start + at);
        }
        let whole = Piece { start, end: to.string.len() };
        if self.splits {
            let behavior = Behavior::MergedWithNext;
            let text = &to.string[start..];
            Cuts::new(whole, behavior, out).at_characters(text, |c| c == self.replacement);
        } else {
            out.push(whole);
        }
    }
}

/// Reads a pre-tokeniser or decoder of this kind. Old files have `add_prefix_space`.
pub(in crate::owned::pipeline) fn read_metaspace<'t>(step: &Object<'t>) -> Read<'t, Metaspace> {
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
