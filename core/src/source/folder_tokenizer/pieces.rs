//! Cutting what normalisation leaves into pieces, as Metaspace does.

use super::Give;
use crate::error::Result;
use crate::token::spec::{Metaspace, Prepends};
use crate::token::unigram::Segmenter;

/// How texts are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// True if white space ends pieces, and is left out.
    pub(super) at_space: bool,
    pub(super) metaspace: Metaspace,
}

/// The pieces of a text on their way to ids.
pub(super) struct Pieces<'p, 'u, 's> {
    cut: Cut,
    segmenter: &'p mut Segmenter<'u, 's>,
    /// True if nothing has come since a piece ended.
    is_start: bool,
    /// True if something has come that is no piece yet.
    is_open: bool,
}

impl<'p, 'u, 's> Pieces<'p, 'u, 's> {
    pub(super) const fn new(cut: Cut, segmenter: &'p mut Segmenter<'u, 's>) -> Self {
        Self { cut, segmenter, is_start: true, is_open: false }
    }

    /// Takes the next character.
    pub(super) fn push(&mut self, c: char, give: &mut Give<'_>) -> Result<()> {
        let Cut { at_space, metaspace } = self.cut;
        if at_space && c.is_whitespace() {
            self.is_start = true;
            return self.end_piece(give);
        }
        let c = if c == ' ' { metaspace.replacement } else { c };
        let is_mark = c == metaspace.replacement;
        if core::mem::take(&mut self.is_start) && metaspace.prepends == Prepends::Always && !is_mark
        {
            self.put(metaspace.replacement, give)?;
        }
        // Each mark begins a piece.
        if is_mark && metaspace.splits {
            self.end_piece(give)?;
        }
        self.put(c, give)
    }

    /// Ends the text.
    pub(super) fn end(mut self, give: &mut Give<'_>) -> Result<()> {
        self.end_piece(give)
    }

    fn put(&mut self, c: char, give: &mut Give<'_>) -> Result<()> {
        self.is_open = true;
        self.segmenter.push(c, &mut |id| give(Some(id)))
    }

    fn end_piece(&mut self, give: &mut Give<'_>) -> Result<()> {
        self.segmenter.end(&mut |id| give(Some(id)))?;
        if core::mem::take(&mut self.is_open) {
            give(None);
        }
        Ok(())
    }
}
