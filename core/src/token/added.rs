//! Added tokens: they are found in a text by their spellings before any other step.
//!
//! An [`AddedTable`] has them sorted by their spellings, in memory that the caller lends; the
//! spellings are borrowed. The leftmost match wins, and of several that begin at one place the
//! longest, as in `AddedVocabulary` of Hugging Face `tokenizers`. Tokens that are searched in the
//! normalised text (`normalized`) have a table of their own, which is applied to the text between
//! the others.
//!
//! A place of the text costs nothing if no token begins with its byte. Elsewhere the tokens that
//! match so far are a range of the table, which each further byte narrows: two comparisons a byte
//! while all of them agree, a binary search where they differ. No token is longer than
//! [`Limit::ADDED_TOKEN_BYTES`], so the work is linear in the text, whatever tokens there are.

use core::ops::Range;

use super::byte_set::ByteSet;
use super::heap_sort::sort;
use super::word_characters::is_word_character;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;

/// Where a token is found beside its spelling, and what it takes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedRules {
    /// Takes the white space before it (`lstrip`).
    pub strips_before: bool,
    /// Takes the white space after it (`rstrip`).
    pub strips_after: bool,
    /// Is not found within a word (`single_word`).
    pub single_word: bool,
}

impl AddedRules {
    /// The part of `text` that a token takes which `start..end` spells; `None` if it may not stand
    /// there. The parts that other tokens have taken end at `taken`.
    pub(super) fn extent(
        self,
        text: &str,
        taken: usize,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize)> {
        if !self.may_stand(text, start..end) {
            return None;
        }
        let rest = text.get(end..).unwrap_or_default();
        let (mut start, mut end) = (start, end);
        if self.strips_before {
            let before = text.get(taken..start).unwrap_or_default();
            start = start.saturating_sub(before.len()).saturating_add(before.trim_end().len());
        }
        if self.strips_after {
            end = end.saturating_add(rest.len().saturating_sub(rest.trim_start().len()));
        }
        let start = start.max(taken);
        Some((start, end.max(start)))
    }

    /// Returns true if a token may be found at a place: some only where no part of a word is on
    /// either side.
    pub(super) fn may_stand(self, text: &str, place: Range<usize>) -> bool {
        if !self.single_word {
            return true;
        }
        let before = text.get(..place.start).and_then(|text| text.chars().next_back());
        let after = text.get(place.end..).and_then(|text| text.chars().next());
        !before.into_iter().chain(after).any(is_word_character)
    }
}

/// A token of an [`AddedTable`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedToken {
    start: u32,
    bytes: u32,
    id: u32,
    rules: AddedRules,
}

impl AddedToken {
    /// A token that is spelled by so many `bytes` from `start` on of what its table is over.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] for a spelling of more than [`Limit::ADDED_TOKEN_BYTES`];
    /// [`ErrorKind::SizeOverflow`] for one that lies beyond 4 GiB.
    pub fn new(start: usize, bytes: usize, id: u32, rules: AddedRules) -> Result<Self> {
        let far = |_| Error::without_offset(ErrorKind::SizeOverflow);
        let bytes = Limit::ADDED_TOKEN_BYTES.check_len(bytes)?;
        let (start, bytes) = (start.try_into().map_err(far)?, bytes.try_into().map_err(far)?);
        Ok(Self { start, bytes, id, rules })
    }

    /// The token that `spelling`, a part of `all`, spells.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); [`ErrorKind::InvalidArgument`] if `spelling` is no part of `all`.
    pub fn within(all: &[u8], spelling: &[u8], id: u32, rules: AddedRules) -> Result<Self> {
        let elsewhere = Error::without_offset(ErrorKind::InvalidArgument);
        let start = spelling.as_ptr().addr().checked_sub(all.as_ptr().addr());
        let start = start.filter(|start| *start <= all.len()).ok_or(elsewhere)?;
        let token = Self::new(start, spelling.len(), id, rules)?;
        if token.spelling(all).len() == spelling.len() { Ok(token) } else { Err(elsewhere) }
    }

    /// Where else it may be found, and what it takes with it.
    #[must_use]
    pub const fn rules(&self) -> AddedRules {
        self.rules
    }

    /// The length of its spelling.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// How it is spelled in what its table is over.
    fn spelling<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        bytes.get(start..start.saturating_add(self.bytes as usize)).unwrap_or_default()
    }

    /// The first byte of its spelling.
    pub(crate) fn first(&self, bytes: &[u8]) -> Option<u8> {
        self.byte(bytes, 0)
    }

    /// How it is spelled, if that is a text.
    pub(crate) fn text<'a>(&self, bytes: &'a [u8]) -> Option<&'a str> {
        core::str::from_utf8(self.spelling(bytes)).ok()
    }

    /// Its byte at `at`.
    fn byte(&self, bytes: &[u8], at: usize) -> Option<u8> {
        self.spelling(bytes).get(at).copied()
    }
}

/// A table without its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedIndex {
    tokens: usize,
    first: ByteSet,
}

/// Added tokens, sorted.
#[derive(Clone, Copy, Debug)]
pub struct AddedTable<'a> {
    bytes: &'a [u8],
    tokens: &'a [AddedToken],
    first: ByteSet,
}

impl AddedIndex {
    /// How many tokens the table has.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Sorts `tokens` of the spellings in `bytes`; [`AddedTable::resume`] takes them up. Tokens
    /// without a spelling are left out, and of several with the same one the highest id counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if an id is there twice; [`ErrorKind::InvalidUtf8`] if a
    /// spelling is no text.
    pub fn build(bytes: &[u8], tokens: &mut [AddedToken]) -> Result<Self> {
        sort(tokens, |a, b| a.id < b.id);
        let twice = tokens.iter().zip(tokens.iter().skip(1)).any(|(a, b)| a.id == b.id);
        if twice {
            return Err(Error::without_offset(ErrorKind::BadVocabulary));
        }
        let key = |token: &AddedToken| (token.spelling(bytes), token.id);
        sort(tokens, |a, b| key(a) < key(b));
        let mut index = Self::default();
        for at in 0..tokens.len() {
            let Some(token) = tokens.get(at).copied() else { break };
            let spelling = token.spelling(bytes);
            let invalid = |_| Error::without_offset(ErrorKind::InvalidUtf8);
            core::str::from_utf8(spelling).map_err(invalid)?;
            let Some(first) = spelling.first() else { continue };
            index.first.insert(*first);
            let last = index.tokens.checked_sub(1).and_then(|last| tokens.get(last));
            let is_new = last.is_none_or(|last| last.spelling(bytes) != spelling);
            let place = if is_new { index.tokens } else { index.tokens.saturating_sub(1) };
            if let Some(place) = tokens.get_mut(place) {
                *place = token;
            }
            index.tokens = place.saturating_add(1);
        }
        Ok(index)
    }
}

impl Default for AddedTable<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a> AddedTable<'a> {
    /// No tokens.
    pub const EMPTY: Self = Self { bytes: &[], tokens: &[], first: ByteSet::EMPTY };

    /// A table of `tokens`, which are sorted, over the spellings in `bytes`.
    ///
    /// # Errors
    ///
    /// As [`AddedIndex::build`].
    pub fn build(bytes: &'a [u8], tokens: &'a mut [AddedToken]) -> Result<Self> {
        let index = AddedIndex::build(bytes, tokens)?;
        Ok(Self::resume(bytes, tokens, index))
    }

    /// Takes up again what [`AddedIndex::build`] left in `tokens`. With others tokens are not
    /// found, nothing worse.
    #[must_use]
    pub fn resume(bytes: &'a [u8], tokens: &'a [AddedToken], index: AddedIndex) -> Self {
        let tokens = tokens.get(..index.tokens).unwrap_or_default();
        Self { bytes, tokens, first: index.first }
    }

    /// Returns true if there are no tokens.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// How the token with this id is spelled, if it is one of the table.
    #[must_use]
    pub fn spelling(&self, id: u32) -> Option<&'a [u8]> {
        let token = self.tokens.iter().find(|token| token.id == id)?;
        Some(token.spelling(self.bytes))
    }

    /// The longest token that `text` starts with.
    pub(super) fn at_start(&self, text: &[u8]) -> Option<AddedToken> {
        if !text.first().is_some_and(|first| self.first.contains(*first)) {
            return None;
        }
        let mut search = self.search();
        let mut longest = None;
        for byte in text {
            if !search.step(*byte) {
                break;
            }
            longest = search.complete().or(longest);
        }
        longest
    }

    /// The first place in `text` from byte `at` on that spells a token, with that token.
    pub(crate) fn next_in(&self, text: &str, mut at: usize) -> Option<(AddedToken, usize)> {
        if self.tokens.is_empty() {
            return None;
        }
        loop {
            let rest = text.as_bytes().get(at..)?;
            let skipped = rest.iter().position(|byte| self.first.contains(*byte))?;
            at = at.saturating_add(skipped);
            if let Some(token) = self.at_start(rest.get(skipped..)?) {
                return Some((token, at));
            }
            at = at.saturating_add(1);
        }
    }

    /// A search for a token whose bytes come one by one.
    pub(super) const fn search(&self) -> Search<'a> {
        Search { bytes: self.bytes, range: self.tokens, depth: 0 }
    }
}

/// The tokens of a table that begin with the bytes seen so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search<'a> {
    bytes: &'a [u8],
    range: &'a [AddedToken],
    depth: usize,
}

impl Search<'_> {
    /// Goes on with `byte`; answers whether any token is left.
    pub(super) fn step(&mut self, byte: u8) -> bool {
        let (bytes, depth) = (self.bytes, self.depth);
        let of = |token: &AddedToken| token.byte(bytes, depth);
        let is_next = |token: Option<&AddedToken>| token.and_then(of) == Some(byte);
        if !(is_next(self.range.first()) && is_next(self.range.last())) {
            let from = self.range.partition_point(|token| of(token) < Some(byte));
            let rest = self.range.get(from..).unwrap_or_default();
            let count = rest.partition_point(|token| of(token) == Some(byte));
            self.range = rest.get(..count).unwrap_or_default();
        }
        self.depth = depth.saturating_add(1);
        !self.range.is_empty()
    }

    /// The token that is just what was seen: the shortest of the range, so its first.
    pub(super) fn complete(&self) -> Option<AddedToken> {
        self.range.first().filter(|token| token.bytes as usize == self.depth).copied()
    }
}

#[cfg(test)]
pub(super) mod tests {
    extern crate std;

    use std::string::String;
    use std::vec::Vec;

    use super::*;

    pub(in crate::token) fn tokens(
        spellings: &[&str],
        rules: AddedRules,
    ) -> (String, Vec<AddedToken>) {
        let mut start = 0;
        let token = |(id, spelling): (u32, &&str)| {
            let token = AddedToken::new(start, spelling.len(), id, rules).unwrap();
            start += spelling.len();
            token
        };
        (spellings.concat(), (0..).zip(spellings).map(token).collect())
    }

    #[test]
    fn ids_that_are_there_twice_and_spellings_that_are_too_long_are_refused() {
        let (all, mut tokens) = tokens(&["a", "b"], AddedRules::default());
        tokens[1].id = tokens[0].id;
        let error = AddedTable::build(all.as_bytes(), &mut tokens).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadVocabulary);
        let error = AddedToken::new(0, 1025, 0, AddedRules::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverLimit);
    }

    /// Looks at bytes do not grow with the number of tokens.
    #[test]
    fn many_tokens_that_share_a_beginning_take_few_steps() {
        let spellings: Vec<String> = (0..2_000).map(|n| std::format!("a{n:04}")).collect();
        let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
        let (all, mut tokens) = tokens(&spellings, AddedRules::default());
        let table = AddedTable::build(all.as_bytes(), &mut tokens).unwrap();
        let text = "a".repeat(10_000);
        let mut steps = 0;
        for at in 0..text.len() {
            let mut search = table.search();
            for byte in &text.as_bytes()[at..] {
                steps += 1;
                if !search.step(*byte) {
                    break;
                }
            }
        }
        assert!(steps <= 2 * text.len(), "{steps}");
        assert_eq!(table.next_in(&text, 0).map(|found| found.1), None);
    }
}
