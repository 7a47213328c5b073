//! The different n-grams of a file's words, for a vocabulary that lists them.
//!
//! N-grams may have any length, so a word of n letters has n² of them, of n letters each: both the
//! listed and the compared ones are limited by the size of the file.

use std::collections::HashMap;

use nanoembed_core::{ErrorKind, limit};

use super::file::WordFile;
use super::vocabulary::{NotAdded, WordList};
use crate::error::{Error, Result};
use crate::{hashed, units};

/// The most bytes of n-grams that are listed: for each byte of the file, and for a file of any
/// size. Usual lengths of three to six letters list fewer than the file has.
const LISTED_PER_BYTE: u64 = 16;
const LISTED_OF_ANY: u64 = 16 << 20;

/// The most letters of n-grams that are compared, likewise.
const SEEN_PER_BYTE: u64 = 512;
const SEEN_OF_ANY: u64 = 1 << 24;

/// Bytes of an n-gram beside its text: a length and a row in the file, and about as much in memory.
const ENTRY_BYTES: u64 = 12;

/// N-grams in the order of their first appearance, with rows numbered in the same order.
#[derive(Default)]
pub(super) struct Listed {
    ngrams: WordList,
    /// The row of each n-gram.
    rows: Vec<u64>,
    /// The bucket of each row. N-grams that share a bucket share a row.
    pub(super) buckets: Vec<u64>,
    row_of_bucket: HashMap<u64, u64>,
}

impl Listed {
    /// The n-grams of all words of a file with buckets.
    pub(super) fn from_opened(opened: &WordFile<'_>) -> Result<Self> {
        let words = opened.scanned();
        let vocabulary = opened.file.vocabulary();
        let (min_n, max_n) = (vocabulary.min_n as usize, vocabulary.max_n as usize);
        let mut room = Room::new(opened);
        let mut listed = Self::default();
        for (number, word) in opened.file.words().enumerate() {
            let Ok(word) = str::from_utf8(word) else { continue };
            // The rows come in the order of the n-grams: start after start, the longest first.
            let parts = [vocabulary.begin.as_str(), word, vocabulary.end.as_str()];
            let bracketed = limit::joined(&parts).map_err(|error| opened.failure(error))?;
            let ends = bracketed.char_indices().map(|(at, _)| at).chain([bracketed.len()]);
            let ends = limit::collected(ends).map_err(|error| opened.failure(error))?;
            let chars = ends.len() - 1;
            room.see(seen(chars, (min_n, max_n)), number)?;
            let mut ngrams = (0..chars).flat_map(|start| {
                let lengths = (min_n..=max_n.min(chars - start)).rev();
                lengths.map(move |length| (start, start + length))
            });
            let mut refused = Ok(());
            let taken = words.subword_rows(word, |row| {
                let Some((start, end)) = ngrams.next().filter(|_| refused.is_ok()) else {
                    return Ok(());
                };
                let bucket = row.saturating_sub(vocabulary.words.into());
                let ngram = &bracketed.as_bytes()[ends[start]..ends[end]];
                refused = match listed.add(ngram, bucket) {
                    Ok(added) => room.list(added, number),
                    Err(NotAdded::Known(_)) => Ok(()),
                    Err(NotAdded::Failed(error)) => Err(opened.failure(error)),
                    Err(NotAdded::Full) => {
                        Err(room.refuse("more n-grams than a file can have", number))
                    }
                };
                Ok(())
            });
            taken.map_err(|error| room.refuse_word(error.kind(), number))?;
            refused?;
        }
        Ok(listed)
    }

    /// Adds an n-gram; how many bytes it takes.
    fn add(&mut self, ngram: &[u8], bucket: u64) -> Result<u64, NotAdded> {
        self.ngrams.insert(ngram)?;
        let next = self.buckets.len() as u64;
        let row = self.row_of_bucket.get(&bucket).copied();
        if row.is_none() {
            hashed::insert(&mut self.row_of_bucket, bucket, next)?;
            limit::push(&mut self.buckets, bucket)?;
        }
        limit::push(&mut self.rows, row.unwrap_or(next))?;
        Ok(ngram.len() as u64 + ENTRY_BYTES)
    }

    /// The number of n-grams.
    pub(super) fn count(&self) -> u32 {
        self.ngrams.len()
    }

    /// Their bytes together.
    pub(super) const fn bytes(&self) -> u64 {
        self.ngrams.bytes()
    }

    /// The n-grams with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.ngrams.iter().zip(self.rows.iter().copied())
    }
}

/// At most how many letters the n-grams of a word of so many have together.
const fn seen(chars: usize, (min_n, max_n): (usize, usize)) -> u64 {
    let longest = if chars < max_n { chars } else { max_n };
    let lengths = (longest + 1).saturating_sub(min_n) as u64;
    (chars as u64).saturating_mul(lengths).saturating_mul(longest as u64)
}

/// The budgets that are left for listing and for comparing.
struct Room {
    name: String,
    file_bytes: u64,
    listed: u64,
    seen: u64,
}

impl Room {
    fn new(opened: &WordFile<'_>) -> Self {
        let file_bytes = opened.file.bytes().len() as u64;
        Self {
            name: opened.name.clone(),
            file_bytes,
            listed: file_bytes.saturating_mul(LISTED_PER_BYTE).saturating_add(LISTED_OF_ANY),
            seen: file_bytes.saturating_mul(SEEN_PER_BYTE).saturating_add(SEEN_OF_ANY),
        }
    }

    fn list(&mut self, bytes: u64, word: usize) -> Result<()> {
        self.listed = self.listed.checked_sub(bytes).ok_or_else(|| {
            let limit = self.file_bytes.saturating_mul(LISTED_PER_BYTE) + LISTED_OF_ANY;
            self.refuse(
                format!("the list of n-grams would be longer than {}", units::bytes(limit)),
                word,
            )
        })?;
        Ok(())
    }

    fn see(&mut self, letters: u64, word: usize) -> Result<()> {
        self.seen = self.seen.checked_sub(letters).ok_or_else(|| {
            let limit = self.file_bytes.saturating_mul(SEEN_PER_BYTE) + SEEN_OF_ANY;
            self.refuse(format!("the words' n-grams have more than {limit} letters"), word)
        })?;
        Ok(())
    }

    /// The core does not take the n-grams of a word.
    fn refuse_word(&self, kind: ErrorKind, word: usize) -> Error {
        match kind {
            ErrorKind::InvalidArgument => self.refuse("the word is too long for its n-grams", word),
            kind => Error::input(kind, kind.message()).at(&self.name),
        }
    }

    fn refuse(&self, message: impl Into<String>, word: usize) -> Error {
        Error::input(ErrorKind::BadCount, message)
            .at(&self.name)
            .at(format_args!("word {}", word + 1))
            .with_hint("lengths of n-grams as here, or words so long, are hardly meant; `nanoembed inspect FILE` shows the lengths")
    }
}
