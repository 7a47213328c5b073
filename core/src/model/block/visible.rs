//! Which tokens of its text a token sees.

use core::ops::Range;

use crate::model::config::{Config, FAMILIES, Mask};

/// How many tokens before and behind it a token sees at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Visible {
    before: usize,
    behind: usize,
}

impl Visible {
    /// What tokens see in layer `layer`.
    pub(in crate::model) const fn new(config: &Config, layer: usize) -> Self {
        let reach = match config.attention.window {
            Some(window) if config.has_window(layer) => window.reach,
            _ => usize::MAX,
        };
        match config.attention.mask {
            Mask::Full => Self { before: reach, behind: reach },
            Mask::Causal => Self { before: reach, behind: 0 },
        }
    }

    /// The tokens that one sees of its text of `tokens`.
    pub(in crate::model) const fn tokens(self, token: usize, tokens: usize) -> Range<usize> {
        if !FAMILIES {
            return 0..tokens;
        }
        let end = token.saturating_add(self.behind).saturating_add(1);
        token.saturating_sub(self.before)..if end < tokens { end } else { tokens }
    }

    /// The tokens that any of some see.
    pub(in crate::model) const fn tokens_of(
        self,
        some: Range<usize>,
        tokens: usize,
    ) -> Range<usize> {
        self.tokens(some.start, tokens).start..self.tokens(some.end.saturating_sub(1), tokens).end
    }

    /// The tokens that one sees, counted from the first of `seen`, which has them.
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
        let all = Visible { before: usize::MAX, behind: usize::MAX };
        assert_eq!(all.tokens(3, 9), 0..9);
        if FAMILIES {
            assert_eq!(Visible { behind: 0, ..all }.tokens(3, 9), 0..4);
            let window = Visible { before: 2, behind: 2 };
            assert_eq!([0, 3, 8].map(|token| window.tokens(token, 9)), [0..3, 1..6, 6..9]);
        }
    }
}
