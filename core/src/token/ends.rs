//! End-of-sequence tokens: when one is sampled, the model has finished.

use super::ids::TokenCount;
use crate::error::{Error, ErrorKind, Result};

/// Tokens that end a text, each once; the usual one first.
///
/// A chat model has one for the end of a text, one for the end of a turn, and perhaps one for a
/// message to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTokens {
    ids: [u32; Self::MAX],
    count: usize,
}

impl EndTokens {
    /// No model has more.
    pub const MAX: usize = 32;

    /// No token.
    pub const NONE: Self = Self { ids: [0; Self::MAX], count: 0 };

    /// Adds a token unless it is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there are [`MAX`](Self::MAX) others.
    pub fn push(&mut self, id: u32) -> Result<()> {
        if self.contains(id) {
            return Ok(());
        }
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        *self.ids.get_mut(self.count).ok_or(bad)? = id;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// All of them.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        self.ids.get(..self.count).unwrap_or_default()
    }

    /// The usual one.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.ids().first().copied()
    }

    /// Returns true if the token ends a text.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        self.ids().contains(&id)
    }
}

impl Default for EndTokens {
    fn default() -> Self {
        Self::NONE
    }
}

/// The tokens around a text, and those that end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextEnds {
    /// The token that begins every text.
    pub begin: Option<u32>,
    /// The token that is put after every text that is given.
    pub append: Option<u32>,
    /// The tokens that end a text when the model says them.
    pub end: EndTokens,
}

impl TextEnds {
    /// The ids of a text with those around it, as many as `ids` holds; `encode` writes those of the
    /// text alone.
    ///
    /// # Errors
    ///
    /// The error of `encode`.
    pub fn around(
        &self,
        ids: &mut [u32],
        encode: impl FnOnce(&mut [u32]) -> Result<TokenCount>,
    ) -> Result<TokenCount> {
        let mut found = TokenCount::default();
        let put = |ids: &mut [u32], found: &mut TokenCount, token: Option<u32>| {
            let Some(token) = token else { return };
            if let Some(place) = ids.get_mut(found.total) {
                *place = token;
                found.tokens = found.tokens.saturating_add(1);
            }
            found.total = found.total.saturating_add(1);
        };
        put(ids, &mut found, self.begin);
        let inner = encode(ids.get_mut(found.tokens..).unwrap_or_default())?;
        found.tokens = found.tokens.saturating_add(inner.tokens);
        found.total = found.total.saturating_add(inner.total);
        put(ids, &mut found, self.append);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_around_a_text_are_counted_and_cut_like_its_own() {
        let ends = TextEnds { begin: Some(1), append: Some(2), end: EndTokens::NONE };
        let encode = |room: usize| {
            let mut ids = [0; 4];
            let found = ends.around(&mut ids[..room], |rest| {
                let tokens = rest.len().min(2);
                rest[..tokens].fill(9);
                Ok(TokenCount { tokens, total: 2 })
            });
            (ids, found.map(|found| (found.tokens, found.total)))
        };
        assert_eq!(encode(4), ([1, 9, 9, 2], Ok((4, 4))));
        assert_eq!(encode(3), ([1, 9, 9, 0], Ok((3, 4))));
        assert_eq!(encode(2), ([1, 9, 0, 0], Ok((2, 4))));
        assert_eq!(encode(0), ([0; 4], Ok((0, 4))));
    }

    #[test]
    fn every_token_is_kept_once_and_no_more_than_there_is_room_for() {
        let mut ends = EndTokens::NONE;
        assert_eq!((ends.first(), ends.contains(0)), (None, false));
        for id in [7, 3, 7] {
            ends.push(id).unwrap();
        }
        assert_eq!((ends.ids(), ends.first(), ends.contains(3)), (&[7, 3][..], Some(7), true));
        let full = (100..).take(EndTokens::MAX).try_for_each(|id| ends.push(id));
        assert_eq!(full.map_err(|error| error.kind()), Err(ErrorKind::BadVocabulary));
    }
}
