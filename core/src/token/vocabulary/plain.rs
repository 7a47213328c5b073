//! A vocabulary whose tokens are all there is.

use super::{Match, Vocabulary};
use crate::error::Result;

/// A vocabulary without added tokens. A program that has no other kind is built without the search
/// for them and the table of word characters that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Plain<V>(pub(crate) V);

impl<V: Vocabulary> Vocabulary for Plain<V> {
    fn count(&self) -> u32 {
        self.0.count()
    }

    fn find(&self, token: &[u8]) -> Result<Option<u32>> {
        self.0.find(token)
    }

    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>> {
        self.0.longest_prefix(text, at_least)
    }

    fn token(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        self.0.token(id, out)
    }

    fn may_add(&self) -> bool {
        false
    }
}
