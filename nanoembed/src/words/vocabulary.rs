//! Words in the order of their rows, each once, in little more memory than their bytes.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use nanoembed_core::{Error as CoreError, limit};

use crate::error::NO_MEMORY;

/// Words, one after the other, and a table that finds them.
#[derive(Debug, Default)]
pub struct WordList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    rows: HashTable<u32>,
    hasher: RandomState,
}

impl WordList {
    /// Adds a word and returns its row.
    pub fn insert(&mut self, word: &[u8]) -> Result<u32, NotAdded> {
        let Self { bytes, ends, rows, hasher } = self;
        let hash = hasher.hash_one(word);
        if let Some(&row) = rows.find(hash, |&row| word_at(bytes, ends, row) == word) {
            return Err(NotAdded::Known(row));
        }
        let row =
            u32::try_from(ends.len()).ok().filter(|&row| row < u32::MAX).ok_or(NotAdded::Full)?;
        let hashed = |&row: &u32| hasher.hash_one(word_at(bytes, ends, row));
        rows.try_reserve(1, hashed).map_err(|_| NO_MEMORY)?;
        limit::append(bytes, word)?;
        limit::push(ends, bytes.len())?;
        rows.insert_unique(hash, row, |&row| hasher.hash_one(word_at(bytes, ends, row)));
        Ok(row)
    }

    /// The number of words.
    pub fn len(&self) -> u32 {
        // `insert` has made sure of it.
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// The sum of all words' lengths in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The words in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|row| word_at(&self.bytes, &self.ends, row))
    }
}

/// The reason that a word was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// It has this row already.
    Known(u32),
    /// There are as many words as a file can have.
    Full,
    /// There is no memory for it.
    Failed(CoreError),
}

impl From<CoreError> for NotAdded {
    fn from(error: CoreError) -> Self {
        Self::Failed(error)
    }
}

fn word_at<'v>(bytes: &'v [u8], ends: &[usize], row: u32) -> &'v [u8] {
    let end = |at: usize| ends.get(at).copied().unwrap_or(0);
    let start = (row as usize).checked_sub(1).map_or(0, end);
    bytes.get(start..end(row as usize)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_row_of_its_first_appearance() {
        let mut words = WordList::default();
        assert_eq!(words.insert(b""), Ok(0));
        for number in 0..1000_u32 {
            assert_eq!(words.insert(number.to_string().as_bytes()), Ok(number + 1));
        }
        assert_eq!(words.insert(b"999"), Err(NotAdded::Known(1000)));
        assert_eq!(words.insert(b""), Err(NotAdded::Known(0)));
        assert_eq!((words.len(), words.bytes()), (1001, 10 + 180 + 2700));
        assert_eq!(words.iter().nth(13), Some(&b"12"[..]));
    }
}
