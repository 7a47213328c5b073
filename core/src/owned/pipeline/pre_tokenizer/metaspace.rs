//! Metaspace: spaces become `▁`, one is put in front, and pieces begin with one.

use super::split::Cuts;
use super::{Piece, PieceList};
use crate::owned::pipeline::text::Text;
use crate::token::spec::{Behavior, Metaspace, Prepends};

impl Metaspace {
    /// Rewrites a piece of a text and cuts it.
    pub(super) fn write(self, text: &Text, piece: Piece, to: &mut Text, out: &mut PieceList) {
        let part = &text.as_str()[piece.start..piece.end];
        let start = to.len();
        let is_marked = part.starts_with([' ', self.replacement]);
        let is_first = piece.start < text.first;
        let prepends = match self.prepends {
            Prepends::Never => false,
            Prepends::First => is_first,
            Prepends::Always => true,
        };
        if prepends && !is_marked && !part.is_empty() {
            to.push(self.replacement);
        }
        for (at, c) in part.char_indices() {
            to.push(if c == ' ' { self.replacement } else { c });
            to.comes_from(text, piece.start + at);
        }
        let whole = Piece { start, end: to.len() };
        if self.splits {
            let behavior = Behavior::MergedWithNext;
            let text = &to.as_str()[start..];
            Cuts::new(whole, behavior, out).at_characters(text, |c| c == self.replacement);
        } else {
            out.push(whole);
        }
    }
}
