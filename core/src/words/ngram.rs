//! The n-grams of a word between brackets, without concatenating the three.

use super::hash::{self, FastTextHash, Murmur3};
use crate::error::{Error, ErrorKind, Result};
use crate::subword::{Subwords, WordVocabulary};

/// The limit on the characters in all n-grams of a word together. With the usual lengths of three
/// to six it admits any word that a file can hold; with n-grams of every length, words of up to
/// about 250 letters.
pub const MAX_NGRAM_CHARS: u64 = 1 << 24;

/// An n-gram: a stretch of a bracketed word, split where the brackets meet the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ngram<'w> {
    parts: [&'w str; 3],
    /// Its length in Unicode scalar values.
    chars: u64,
    /// Its fastText hash, in vocabularies that use it.
    hash: Option<FastTextHash>,
}

impl<'w> Ngram<'w> {
    /// A whole word between brackets.
    fn whole(vocabulary: &'w WordVocabulary, word: &'w str) -> Self {
        let parts = [vocabulary.begin.as_str(), word, vocabulary.end.as_str()];
        let chars = parts.iter().map(|part| part.chars().count() as u64).sum();
        Self { parts, chars, hash: None }
    }

    /// The text in up to three parts.
    pub(super) const fn parts(&self) -> [&'w str; 3] {
        self.parts
    }

    /// The n-gram without its first character.
    fn without_first(&self) -> Self {
        let mut parts = self.parts;
        for part in &mut parts {
            let mut chars = part.chars();
            if chars.next().is_some() {
                *part = chars.as_str();
                break;
            }
        }
        Self { parts, chars: self.chars.saturating_sub(1), hash: None }
    }

    /// The n-gram without its last character.
    fn without_last(&self) -> Self {
        let (mut parts, mut hash) = (self.parts, self.hash);
        for part in parts.iter_mut().rev() {
            let mut chars = part.chars();
            if chars.next_back().is_some() {
                let (rest, last) = part.split_at_checked(chars.as_str().len()).unwrap_or_default();
                if let Some(hash) = &mut hash {
                    last.bytes().rev().for_each(|byte| hash.pop(byte));
                }
                *part = rest;
                break;
            }
        }
        Self { parts, chars: self.chars.saturating_sub(1), hash }
    }

    /// Its first `count` characters.
    fn first(&self, count: u64) -> Self {
        let mut left = count;
        let parts = self.parts.map(|part| {
            let mut chars = part.chars();
            while left > 0 && chars.next().is_some() {
                left = left.saturating_sub(1);
            }
            part.get(..part.len().saturating_sub(chars.as_str().len())).unwrap_or(part)
        });
        Self { parts, chars: count.min(self.chars), hash: None }
    }

    fn finalfusion(&self) -> u64 {
        let chars = self.parts.iter().flat_map(|part| part.chars());
        chars.fold(hash::finalfusion_start(self.chars), hash::finalfusion_next)
    }

    fn fasttext(&self) -> FastTextHash {
        FastTextHash::new(self.parts.iter().flat_map(|part| part.bytes()))
    }

    fn floret(&self, seed: u32) -> [u32; 4] {
        let mut murmur = Murmur3::new(seed);
        self.parts.iter().for_each(|part| murmur.update(part.as_bytes()));
        murmur.finish()
    }

    /// Calls `on_row` with each row of this n-gram, counted from the first subword row. Listed
    /// n-grams have none here.
    pub(super) fn hashed_rows(
        &self,
        subwords: &Subwords,
        mut on_row: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        match *subwords {
            Subwords::None | Subwords::Explicit { .. } => Ok(()),
            Subwords::Buckets { exponent } => {
                let buckets = 1_u64.checked_shl(exponent).unwrap_or(0);
                on_row(self.finalfusion() & buckets.wrapping_sub(1))
            }
            Subwords::FastText { buckets } => {
                let hash = self.hash.unwrap_or_else(|| self.fasttext()).value();
                on_row(hash.checked_rem(buckets).unwrap_or(0).into())
            }
            Subwords::Floret { buckets, hashes, seed } => self
                .floret(seed)
                .into_iter()
                .take(hashes as usize)
                .try_for_each(|hash| on_row(floret_row(hash, buckets).into())),
        }
    }
}

/// `hash` modulo `buckets`, 0 without buckets; a 32-bit division, which microcontrollers have.
fn floret_row(hash: u32, buckets: u64) -> u32 {
    u32::try_from(buckets).map_or(hash, |buckets| hash.checked_rem(buckets).unwrap_or(0))
}

/// Calls `on_ngram` with the n-grams of `word`, in the order in which the reference adds up their
/// vectors: by start, the longest first; in floret's vocabularies the whole bracketed word comes
/// before them.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] for words whose n-grams exceed [`MAX_NGRAM_CHARS`]; any error
/// from `on_ngram`.
pub(super) fn for_each<'w>(
    vocabulary: &'w WordVocabulary,
    word: &'w str,
    mut on_ngram: impl FnMut(Ngram<'w>) -> Result<()>,
) -> Result<()> {
    let (min_n, max_n) = (u64::from(vocabulary.min_n), u64::from(vocabulary.max_n));
    if vocabulary.subwords == Subwords::None || min_n == 0 {
        return Ok(());
    }
    let mut rest = Ngram::whole(vocabulary, word);
    let longest = max_n.min(rest.chars);
    let lengths = longest.saturating_sub(min_n).saturating_add(1);
    if rest.chars.saturating_mul(lengths).saturating_mul(longest) > MAX_NGRAM_CHARS {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    if matches!(vocabulary.subwords, Subwords::Floret { .. }) {
        on_ngram(rest)?;
    }
    while rest.chars >= min_n {
        let mut ngram = rest.first(max_n);
        // The other hashes begin with the n-gram's length or mix in whole blocks, so they are
        // recomputed for each n-gram.
        if matches!(vocabulary.subwords, Subwords::FastText { .. }) {
            ngram.hash = Some(ngram.fasttext());
        }
        while ngram.chars >= min_n {
            on_ngram(ngram)?;
            ngram = ngram.without_last();
        }
        rest = rest.without_first();
    }
    Ok(())
}
