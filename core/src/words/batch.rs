//! The vectors of several words at once.
//!
//! A lookup in a large file is mostly waiting for memory: for the index, for the word, for the row. Here the words
//! of a group do so together.

use super::lookup::{Found, Words};
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::Storage;

/// How many words wait together: some 16 KB of rows, half of the first cache.
const GROUP: usize = 16;

impl<S: Source, M: AsRef<[u64]>> Words<S, M> {
    /// Puts the vectors of several words into `out`, one behind the other, and what was found into `found`. From a large
    /// file in memory this is quicker than word after word.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `out` has no room for all words' vectors or `found` for all words; otherwise
    /// as [`vector`](Self::vector).
    pub fn vectors(
        &self,
        words: &[&str],
        out: &mut [f32],
        found: &mut [Option<Found>],
        scratch: &mut [f32],
    ) -> Result<()> {
        let cols = self.cols();
        let needed = cols.checked_mul(words.len());
        if needed.is_none_or(|needed| out.len() < needed) || found.len() < words.len() {
            return Err(Error::without_offset(ErrorKind::BufferTooSmall));
        }
        let mut rest = out;
        for (words, found) in words.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
            let likely = self.expect(words);
            for ((word, found), likely) in words.iter().zip(found).zip(likely) {
                let (vector, behind) = rest.split_at_mut_checked(cols).unwrap_or_default();
                *found = match likely {
                    Some((row, place)) if self.is_word_at(place, word.as_bytes())? => {
                        Some(self.known_vector(row, vector, scratch)?)
                    }
                    _ => self.vector(word, vector, scratch)?,
                };
                rest = behind;
            }
        }
        Ok(())
    }

    /// Begins to fetch what the lookups of up to [`GROUP`] words will read. Returns for each the first row and place
    /// whose hash looks like the word's: nearly always it is.
    #[inline]
    fn expect(&self, words: &[&str]) -> [Option<(u32, u64)>; GROUP] {
        let mut likely = [None; GROUP];
        let Some(index) = self.index() else { return likely };
        let mut hashes = [0; GROUP];
        let mut slots = 0;
        for (hash, word) in hashes.iter_mut().zip(words) {
            *hash = index.hash_word(word.as_bytes());
            slots |= index.first_slot(*hash);
        }
        core::hint::black_box(slots);
        for ((hash, word), likely) in hashes.into_iter().zip(words).zip(&mut likely) {
            let bytes = word.len().saturating_add(4);
            // Nothing in here fails.
            let _ = index.find_word(hash, |row, place| {
                self.source().expect(self.layout().words.offset.saturating_add(place), bytes);
                self.expect_row(row);
                *likely = u32::try_from(row).ok().map(|row| (row, place));
                Ok(true)
            });
        }
        likely
    }

    /// Begins to fetch a row.
    #[inline]
    pub(super) fn expect_row(&self, row: u64) {
        let (start, bytes) = match &self.layout().storage {
            Storage::Array(array) => (array.offset, u64::from(array.cols).saturating_mul(4)),
            Storage::Quantized(quantized) => (quantized.codes, quantized.codes_per_row.into()),
        };
        let offset = row.saturating_mul(bytes).saturating_add(start);
        self.source().expect(offset, usize::try_from(bytes).unwrap_or(0));
    }
}
