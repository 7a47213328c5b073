//! Tokens that share letters of no text.

use std::collections::HashSet;

/// Tells whether an added token overlaps others.
#[derive(Default)]
pub(super) struct Overlap<'t> {
    all: HashSet<&'t [u8]>,
    starts: HashSet<&'t [u8]>,
    /// The bytes that they start with, and the bytes after those.
    first: HashSet<u8>,
    further: HashSet<u8>,
}

impl<'t> Overlap<'t> {
    pub(super) fn from(tokens: &'t [String]) -> Self {
        let mut apart = Self::default();
        for token in tokens.iter().map(String::as_bytes) {
            let Some((first, further)) = token.split_first() else { continue };
            apart.all.insert(token);
            apart.starts.extend((1..=token.len()).filter_map(|end| token.get(..end)));
            apart.first.insert(*first);
            apart.further.extend(further);
        }
        apart
    }

    /// True if neither begins within the other, nor is a prefix of the other.
    pub(super) fn is(&self, token: &[u8]) -> bool {
        let Some((first, further)) = token.split_first() else { return true };
        let begins =
            || self.further.contains(first) || further.iter().any(|it| self.first.contains(it));
        let mut starts = (1..=token.len()).filter_map(|end| token.get(..end));
        !(begins() || self.starts.contains(token) || starts.any(|start| self.all.contains(start)))
    }
}
