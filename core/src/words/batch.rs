//! The vectors of several words at once.
//!
//! A lookup in a large file mostly waits for memory: for the index, then for the word and its row.
//! Words are queued here, and the memory that later words need is prefetched while earlier ones are
//! answered.

use super::lookup::{Found, Words};
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::Storage;

/// The number of words whose rows are prefetched ahead of the current one; slots in the index are
/// prefetched for as many again.
const AHEAD: usize = 4;

/// The length of the queue, which is indexed by a word's ordinal modulo this power of two.
const QUEUE: usize = 2 * AHEAD;

/// A word in the queue.
#[derive(Clone, Copy, Default)]
struct Expected {
    hash: u64,
    /// The first row and offset whose hash tag matches the word's: almost always the right one.
    likely: Option<(u32, u64)>,
}

impl<S: Source, M: AsRef<[u64]>> Words<S, M> {
    /// Writes the vectors of several words to `out`, contiguously, and the findings to `found`.
    /// With a large file in memory this is faster than one word at a time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `out` cannot hold all words' vectors or `found` all words;
    /// otherwise as [`vector`](Self::vector).
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
        let mut queue = [Expected::default(); QUEUE];
        let (mut coming, mut nearing) = (words.iter().enumerate(), words.iter().enumerate());
        for word in coming.by_ref().take(AHEAD) {
            self.expect_slot(word, &mut queue);
        }
        let mut expect = |queue: &mut [Expected; QUEUE]| {
            coming.next().into_iter().for_each(|word| self.expect_slot(word, queue));
            nearing.next().into_iter().for_each(|word| self.expect_vector(word, queue));
        };
        (0..AHEAD).for_each(|_| expect(&mut queue));
        let mut rest = out;
        for ((ordinal, word), found) in words.iter().enumerate().zip(found) {
            let likely = queue.get(ordinal % QUEUE).and_then(|word| word.likely);
            let (vector, after) = rest.split_at_mut_checked(cols).unwrap_or_default();
            *found = match likely {
                Some((row, place)) if self.is_word_at(place, word.as_bytes())? => {
                    Some(self.known_vector(row, vector, scratch)?)
                }
                _ => self.vector(word, vector, scratch)?,
            };
            rest = after;
            expect(&mut queue);
        }
        Ok(())
    }

    /// Prefetches a word's first slot in the index.
    #[inline]
    fn expect_slot(&self, (ordinal, word): (usize, &&str), queue: &mut [Expected; QUEUE]) {
        if let Some((index, expected)) = self.index().zip(queue.get_mut(ordinal % QUEUE)) {
            *expected = Expected { hash: index.hash_word(word.as_bytes()), likely: None };
            index.expect_word(expected.hash);
        }
    }

    /// Prefetches a word and its row, if the index has a candidate.
    #[inline]
    fn expect_vector(&self, (ordinal, word): (usize, &&str), queue: &mut [Expected; QUEUE]) {
        let Some((index, expected)) = self.index().zip(queue.get_mut(ordinal % QUEUE)) else {
            return;
        };
        let bytes = word.len().saturating_add(4);
        // The closure never fails.
        let _ = index.find_word(expected.hash, |row, place| {
            self.source().expect(self.layout().words.offset.saturating_add(place), bytes);
            self.expect_row(row);
            expected.likely = u32::try_from(row).ok().map(|row| (row, place));
            Ok(true)
        });
    }

    /// Prefetches a row.
    #[inline]
    fn expect_row(&self, row: u64) {
        let (start, bytes) = match &self.layout().storage {
            Storage::Array(array) => (array.offset, u64::from(array.cols).saturating_mul(4)),
            Storage::Quantized(quantized) => (quantized.codes, quantized.codes_per_row.into()),
        };
        let offset = row.saturating_mul(bytes).saturating_add(start);
        self.source().expect(offset, usize::try_from(bytes).unwrap_or(0));
    }
}
