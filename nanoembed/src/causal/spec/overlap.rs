//! Tokens that share letters of no text.

use std::collections::HashSet;

use nanoembed_core::Error;

use crate::hashed;

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
    /// For the tokens that others may overlap.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(super) fn new(tokens: &'t [String]) -> Result<Self, Error> {
        let mut apart = Self::default();
        for token in tokens.iter().map(String::as_bytes) {
            let Some((first, further)) = token.split_first() else { continue };
            hashed::add(&mut apart.all, token)?;
            for start in (1..=token.len()).filter_map(|end| token.get(..end)) {
                hashed::add(&mut apart.starts, start)?;
            }
            hashed::add(&mut apart.first, *first)?;
            for byte in further {
                hashed::add(&mut apart.further, *byte)?;
            }
        }
        Ok(apart)
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
