//! Tokens by their ids.

use nanoembed_core::{Error as CoreError, limit};

/// Tokens in the order of their ids, which are distinct.
#[derive(Debug, Default)]
pub(super) struct Numbered(Vec<(u32, Vec<u8>)>);

impl Numbered {
    /// The tokens with the ids before them; the id that two have, if there is one.
    pub(super) fn new(mut tokens: Vec<(u32, Vec<u8>)>) -> Result<Self, u32> {
        tokens.sort_unstable_by_key(|(id, _)| *id);
        let ids = tokens.iter().map(|(id, _)| *id);
        match ids.clone().zip(ids.skip(1)).find(|(id, next)| id == next) {
            Some((id, _)) => Err(id),
            None => Ok(Self(tokens)),
        }
    }

    /// Tokens that are numbered from 0 on.
    pub(super) fn in_order(tokens: Vec<Vec<u8>>) -> Result<Self, CoreError> {
        let mut numbered = limit::reserved(tokens.len())?;
        numbered.extend((0..).zip(tokens));
        Ok(Self(numbered))
    }

    pub(super) fn get(&self, id: u32) -> Option<&[u8]> {
        let place = self.0.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.0.get(place).map(|(_, token)| token.as_slice())
    }

    /// Adds those of `more` whose ids no token has, and which are distinct.
    pub(super) fn add<'t>(
        &mut self,
        more: impl Iterator<Item = (u32, &'t str)>,
    ) -> Result<(), CoreError> {
        let known = self.0.len();
        for (id, token) in more {
            let there = self.0.get(..known).unwrap_or_default();
            if there.binary_search_by_key(&id, |(id, _)| *id).is_err() {
                limit::push(&mut self.0, (id, limit::joined_bytes(&[token.as_bytes()])?))?;
            }
        }
        self.0.sort_unstable_by_key(|(id, _)| *id);
        Ok(())
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        self.0.iter().map(|(id, token)| (*id, token.as_slice()))
    }

    /// The first id without a token, if a token has a larger id.
    pub(super) fn hole(&self) -> Option<u32> {
        let hole = (0..).zip(self.iter()).find(|(expected, (id, _))| expected != id);
        hole.map(|(hole, _)| hole)
    }

    /// The tokens without their ids.
    pub(super) fn into_tokens(self) -> Result<Vec<Vec<u8>>, CoreError> {
        limit::exactly(self.0.into_iter().map(|(_, token)| token))
    }
}
