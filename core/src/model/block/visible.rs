//! The tokens of its text that a token attends to.

use core::ops::Range;

use crate::model::config::{Config, FAMILIES, Mask};

/// The largest number of tokens before and after a token that it attends to, and of the first
/// tokens of a text that any token attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Visible {
    before: usize,
    after: usize,
    first: usize,
}

impl Visible {
    /// The visibility in layer `layer`.
    pub(in crate::model) const fn new(config: &Config, layer: usize) -> Self {
        let reach = match config.attention.window {
            Some(window) if config.has_window(layer) => window.reach,
            _ => usize::MAX,
        };
        let after = match config.attention.mask {
            Mask::Full => reach,
            Mask::Causal => 0,
        };
        Self { before: reach, after, first: usize::MAX }
    }

    /// The same among the first tokens of a text alone.
    #[must_use]
    pub(in crate::model) const fn among_first(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// The tokens that token `token` attends to in a text of `tokens` tokens.
    pub(in crate::model) const fn tokens(self, token: usize, tokens: usize) -> Range<usize> {
        if !FAMILIES {
            return 0..tokens;
        }
        let end = token.saturating_add(self.after).saturating_add(1);
        let last = if self.first < tokens { self.first } else { tokens };
        token.saturating_sub(self.before)..if end < last { end } else { last }
    }

    /// The tokens that any of a range of tokens attends to.
    pub(in crate::model) const fn tokens_of(
        self,
        some: Range<usize>,
        tokens: usize,
    ) -> Range<usize> {
        self.tokens(some.start, tokens).start..self.tokens(some.end.saturating_sub(1), tokens).end
    }

    /// The tokens that one attends to, as indices into `seen`, which contains them.
    pub(in crate::model) const fn among(
        self,
        token: usize,
        seen: &Range<usize>,
        tokens: usize,
    ) -> Range<usize> {
        let own = self.tokens(token, tokens);
        own.start.saturating_sub(seen.start)..own.end.saturating_sub(seen.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_see_what_the_mask_and_the_window_leave() {
        let all = Visible { before: usize::MAX, after: usize::MAX, first: usize::MAX };
        assert_eq!(all.tokens(3, 9), 0..9);
        if FAMILIES {
            assert_eq!(Visible { after: 0, ..all }.tokens(3, 9), 0..4);
            let window = Visible { before: 2, after: 2, ..all };
            assert_eq!([0, 3, 8].map(|token| window.tokens(token, 9)), [0..3, 1..6, 6..9]);
            assert_eq!([0, 8].map(|token| all.among_first(4).tokens(token, 9)), [0..4, 0..4]);
            assert_eq!(window.among_first(4).tokens_of(1..6, 9), 0..4);
        }
    }
}
