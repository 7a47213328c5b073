//! Pieces made of the parts of a text that is cut.

use super::{Piece, PieceList};
use crate::token::spec::Behavior;

/// Pieces that are made of the parts of a text, which are told from the first to the last.
pub(super) struct Cuts<'o> {
    out: &'o mut PieceList,
    offset: usize,
    /// Pieces that were there before.
    before: usize,
    behavior: Behavior,
    /// True if the text is cut at the last part.
    was_cut: bool,
    /// The piece that is merged with the next part.
    held: Option<Piece>,
}

impl<'o> Cuts<'o> {
    pub(super) fn new(piece: Piece, behavior: Behavior, out: &'o mut PieceList) -> Self {
        let before = out.len();
        Self { out, offset: piece.start, before, behavior, was_cut: false, held: None }
    }

    /// Cuts `text` at all characters of which `is_cut` holds.
    #[inline]
    pub(super) fn at_characters(mut self, text: &str, is_cut: impl Fn(char) -> bool) {
        let mut start = 0;
        for (at, c) in text.char_indices() {
            if is_cut(c) {
                let end = at + c.len_utf8();
                self.part(start, at, false);
                self.part(at, end, true);
                start = end;
            }
        }
        self.part(start, text.len(), false);
        self.finish();
    }

    /// Takes the next part, which may be empty; `is_cut` says whether the text is cut at it.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(super) fn part(&mut self, start: usize, end: usize, is_cut: bool) {
        if start == end {
            return;
        }
        let part = Piece { start: self.offset + start, end: self.offset + end };
        let extends = match self.behavior {
            Behavior::Removed if is_cut => return,
            Behavior::Removed | Behavior::Isolated | Behavior::MergedWithNext => false,
            Behavior::MergedWithPrevious => is_cut && !self.was_cut,
            Behavior::Contiguous => is_cut == self.was_cut,
        };
        self.was_cut = is_cut;
        if self.behavior == Behavior::MergedWithNext {
            return self.merge_with_next(part, is_cut);
        }
        let own = self.out.get_mut(self.before..).and_then(<[Piece]>::last_mut);
        match own.filter(|_| extends) {
            Some(last) => last.end = part.end,
            None => self.out.push(part),
        }
    }

    fn merge_with_next(&mut self, part: Piece, is_cut: bool) {
        let held = self.held.take();
        if is_cut {
            held.into_iter().for_each(|held| self.out.push(held));
            self.held = Some(part);
        } else {
            let start = held.map_or(part.start, |held| held.start);
            self.out.push(Piece { start, ..part });
        }
    }

    /// Declares that there are no more parts.
    pub(super) fn finish(self) {
        self.held.into_iter().for_each(|held| self.out.push(held));
    }
}
