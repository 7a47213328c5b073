//! Lookup of words, rows and vectors.

use core::cmp::Ordering;
use core::mem;

use super::dot::normalize;
use super::index::{Index, entry_bytes, index_of, is_entry};
use super::ngram::{self, Ngram};
use super::product;
use super::scan::{is_entry_in_parts, scan};
use super::source::{Source, read_f32};
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::{Array, FinalfusionLayout, Storage};
use crate::subword::Subwords;
use crate::top::Ties;

/// The value of all elements of a row whose n-grams a pruned model has dropped: negative zero,
/// which changes no sum. A row of positive zeros is one that training has not moved; it counts in a
/// mean, as in fastText.
pub const DROPPED: f32 = -0.0;

/// Returns true if a row belongs to n-grams that a pruned model has dropped.
#[must_use]
pub fn is_dropped(row: &[f32]) -> bool {
    row.iter().all(|value| value.to_bits() == DROPPED.to_bits())
}

/// The rows that make up a word's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The word is in the vocabulary.
    Word {
        /// Its row.
        row: u32,
    },
    /// The rows of an unknown word's n-grams; rows that several n-grams share count each time, rows
    /// that are [dropped](is_dropped) do not count.
    Subwords {
        /// The number of rows summed up.
        count: u32,
    },
}

/// A vector that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The rows that it is made of.
    pub rows: Rows,
    /// The length of the vector before it was normalised: for words as the file states it (1 if it
    /// does not), otherwise that of the sum of the n-grams' rows. Vector times norm is the original
    /// vector.
    pub norm: f32,
}

/// The words of a file, with an index in memory (`M`) or without.
#[derive(Clone, Debug)]
pub struct Words<S, M = [u64; 0]> {
    source: S,
    layout: FinalfusionLayout,
    index: Option<Index<M>>,
}

impl<S: Source> Words<S> {
    /// Words found by scanning the vocabulary on each lookup: takes no memory, but time in
    /// proportion to its size. Ties among neighbours go to the lower row.
    #[must_use]
    pub const fn scan(source: S, layout: FinalfusionLayout) -> Self {
        Self { source, layout, index: None }
    }
}

impl<S: Source, M: AsRef<[u64]>> Words<S, M> {
    /// Words found by an `index` of the same file.
    #[must_use]
    pub const fn with_index(source: S, layout: FinalfusionLayout, index: Index<M>) -> Self {
        Self { source, layout, index: Some(index) }
    }

    /// Words found by an `index` if there is one, else by scanning the vocabulary.
    #[must_use]
    pub const fn open(source: S, layout: FinalfusionLayout, index: Option<Index<M>>) -> Self {
        Self { source, layout, index }
    }

    /// The layout of the file.
    #[must_use]
    pub const fn layout(&self) -> &FinalfusionLayout {
        &self.layout
    }

    pub(super) const fn source(&self) -> &S {
        &self.source
    }

    pub(super) const fn index(&self) -> Option<&Index<M>> {
        self.index.as_ref()
    }

    /// The length of a vector.
    #[must_use]
    pub const fn cols(&self) -> usize {
        self.layout.storage.cols() as usize
    }

    /// The scratch memory to build a vector, in f32: 0 if the file stores vectors plainly.
    #[must_use]
    pub const fn scratch_needed(&self) -> usize {
        match self.layout.storage {
            Storage::Array(_) => 0,
            Storage::Quantized(_) => self.cols(),
        }
    }

    /// The row of a word of the vocabulary, compared byte by byte.
    ///
    /// # Errors
    ///
    /// Any error from the source.
    #[inline]
    pub fn find(&self, word: &[u8]) -> Result<Option<u32>> {
        let row = match &self.index {
            Some(index) => {
                index.find_word(index.hash_word(word), |_, place| self.is_word_at(place, word))?
            }
            None => {
                let count = self.layout.vocabulary.words;
                let found = scan(&self.source, self.layout.words, (count, 0), [word, b"", b""])?;
                found.map(|(row, _)| row.into())
            }
        };
        Ok(row.and_then(|row| u32::try_from(row).ok()))
    }

    /// Calls `on_row` with each row of the n-grams of `word`, whether or not it is in the
    /// vocabulary, in the order in which their vectors are added up and as often; returns their
    /// number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for words whose n-grams exceed
    /// [`MAX_NGRAM_CHARS`](super::MAX_NGRAM_CHARS); [`ErrorKind::IndexRequired`] for a listed
    /// n-gram whose row only an index can tell; any error from the source or from `on_row`.
    pub fn subword_rows(
        &self,
        word: &str,
        mut on_row: impl FnMut(u64) -> Result<()>,
    ) -> Result<u32> {
        let vocabulary = &self.layout.vocabulary;
        let first = u64::from(vocabulary.words);
        let mut count = 0_u32;
        let mut on_subword = |row: u64| {
            count = count.saturating_add(1);
            on_row(first.saturating_add(row))
        };
        ngram::for_each(vocabulary, word, |ngram| {
            if let Subwords::Explicit { ngrams } = vocabulary.subwords {
                return match self.listed_row(&ngram, ngrams)? {
                    Some(row) => on_subword(row),
                    None => Ok(()),
                };
            }
            ngram.hashed_rows(&vocabulary.subwords, &mut on_subword)
        })?;
        Ok(count)
    }

    /// Calls `on_row` with each row of which the vector of `word` is made; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find) and [`subword_rows`](Self::subword_rows).
    pub fn rows(
        &self,
        word: &str,
        mut on_row: impl FnMut(u64) -> Result<()>,
    ) -> Result<Option<Rows>> {
        if let Some(row) = self.find(word.as_bytes())? {
            on_row(row.into())?;
            return Ok(Some(Rows::Word { row }));
        }
        let count = self.subword_rows(word, on_row)?;
        Ok((count > 0).then_some(Rows::Subwords { count }))
    }

    /// Writes the vector of `word` to `out`: its row, or the normalised sum of its n-grams' rows;
    /// `None` if there is neither, with `out` all zeros.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `out` does not have [`cols`](Self::cols) elements or
    /// `scratch` fewer than [`scratch_needed`](Self::scratch_needed); otherwise as
    /// [`rows`](Self::rows) and [`row`](Self::row).
    pub fn vector(
        &self,
        word: &str,
        out: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<Option<Found>> {
        self.check_out(out)?;
        if let Some(row) = self.find(word.as_bytes())? {
            return self.known_vector(row, out, scratch).map(Some);
        }
        self.subword_vector(word, out, scratch)
    }

    /// Returns true if the entry at `place`, counted from the first word's, is `word`.
    #[inline]
    pub(super) fn is_word_at(&self, place: u64, word: &[u8]) -> Result<bool> {
        is_entry(&self.source, self.layout.words.offset, place, word)
    }

    /// The vector of the word in this row.
    #[inline]
    pub(super) fn known_vector(
        &self,
        row: u32,
        out: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<Found> {
        self.row(row.into(), out, scratch)?;
        Ok(Found { rows: Rows::Word { row }, norm: self.norm(row)? })
    }

    /// Writes the normalised sum of the rows of the n-grams of `word` to `out`, whether or not it
    /// is in the vocabulary; `None` if it has none, with `out` all zeros.
    ///
    /// # Errors
    ///
    /// As [`vector`](Self::vector).
    pub fn subword_vector(
        &self,
        word: &str,
        out: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<Option<Found>> {
        self.check_out(out)?;
        out.fill(0.0);
        let mut count = 0_u32;
        let add = |row| {
            let mut bits = 0;
            self.combine(row, out, scratch, |sum, value| {
                *sum += value;
                bits |= value.to_bits() ^ DROPPED.to_bits();
            })?;
            count = count.saturating_add(u32::from(bits != 0));
            Ok(())
        };
        if self.subword_rows(word, add)? == 0 {
            return Ok(None);
        }
        Ok(Some(Found { rows: Rows::Subwords { count }, norm: normalize(out) }))
    }

    /// Writes the vector of a row, of a word or of n-grams, to `out` as the file stores it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is no such row; [`ErrorKind::BufferTooSmall`] as in
    /// [`vector`](Self::vector); [`ErrorKind::CodeOutOfRange`] at a code without a centroid; any
    /// error from the source.
    pub fn row(&self, row: u64, out: &mut [f32], scratch: &mut [f32]) -> Result<()> {
        self.check_out(out)?;
        self.combine(row, out, scratch, |to, value| *to = value)
    }

    /// The length of a word's vector before it was normalised; 1 if the file does not state it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is no such word; any error from the source.
    pub fn norm(&self, row: u32) -> Result<f32> {
        self.check_word(row)?;
        let Some(norms) = self.layout.norms else { return Ok(1.0) };
        read_f32(&self.source, norms.saturating_add(u64::from(row).saturating_mul(4)))
    }

    /// Reads the word of a row into `buffer`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is no such word; [`ErrorKind::BufferTooSmall`]; any
    /// error from the source.
    pub fn word_into<'b>(&self, row: u32, buffer: &'b mut [u8]) -> Result<&'b [u8]> {
        let offset = self.word_offset(row)?;
        let bytes = entry_bytes(&self.source, offset)?;
        let word = buffer.get_mut(..bytes).ok_or(Error::new(offset, ErrorKind::BufferTooSmall))?;
        let mut rest = word.iter_mut();
        self.source.pieces(offset.saturating_add(4), bytes, |piece| {
            piece.iter().zip(&mut rest).for_each(|(from, to)| *to = *from);
            Ok(())
        })?;
        Ok(word)
    }

    /// Absolute offset of a word's entry.
    pub(super) fn word_offset(&self, row: u32) -> Result<u64> {
        self.check_word(row)?;
        let landmark = self.index.as_ref().and_then(|index| index.landmark(row));
        let (mut at_row, mut place) = landmark.unwrap_or((0, 0));
        while at_row < row {
            let offset = self.layout.words.offset.saturating_add(place);
            let bytes = entry_bytes(&self.source, offset)? as u64;
            place = place.saturating_add(4).saturating_add(bytes);
            at_row = at_row.saturating_add(1);
        }
        Ok(self.layout.words.offset.saturating_add(place))
    }

    /// The row of a listed n-gram, counted from the first subword row.
    fn listed_row(&self, ngram: &Ngram<'_>, ngrams: u32) -> Result<Option<u64>> {
        let base = self.layout.ngrams.offset;
        if let Some(index) = &self.index {
            return index.find_ngram(ngram.parts(), |place| {
                is_entry_in_parts(&self.source, base, place, ngram.parts().map(str::as_bytes))
            });
        }
        let parts = ngram.parts().map(str::as_bytes);
        match scan(&self.source, self.layout.ngrams, (ngrams, 8), parts)? {
            None => Ok(None),
            Some((_, place)) if self.layout.distinct_ngram_indices.is_some() => {
                index_of(&self.source, base, place).map(Some)
            }
            Some((_, place)) => {
                Err(Error::new(base.saturating_add(place), ErrorKind::IndexRequired))
            }
        }
    }

    /// Combines each element of `out` with the matching one of a row.
    fn combine(
        &self,
        row: u64,
        out: &mut [f32],
        scratch: &mut [f32],
        mut combine: impl FnMut(&mut f32, f32),
    ) -> Result<()> {
        if row >= self.layout.storage.rows() {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        match &self.layout.storage {
            Storage::Array(Array { cols, offset, .. }) => {
                let row_bytes = u64::from(*cols).saturating_mul(4);
                let offset = row.saturating_mul(row_bytes).saturating_add(*offset);
                let mut rest = out;
                self.source.pieces(offset, self.cols().saturating_mul(4), |piece| {
                    let values = piece.as_chunks::<4>().0;
                    // Slices of equal length: the loop below vectorises, one with two end
                    // conditions does not.
                    let filled = values.len().min(rest.len());
                    let (to, after) =
                        mem::take(&mut rest).split_at_mut_checked(filled).unwrap_or_default();
                    for (bytes, to) in values.iter().zip(to) {
                        combine(to, f32::from_le_bytes(*bytes));
                    }
                    rest = after;
                    Ok(())
                })
            }
            Storage::Quantized(quantized) => {
                let norm = product::row_norm(&self.source, quantized, row)?;
                if norm.is_some_and(|norm| is_dropped(&[norm])) {
                    out.iter_mut().for_each(|to| combine(to, DROPPED));
                    return Ok(());
                }
                product::reconstruct(&self.source, quantized, row, scratch)?;
                product::project(&self.source, quantized, scratch, |at, value| {
                    if let Some(to) = out.get_mut(at) {
                        combine(to, norm.map_or(value, |norm| value * norm));
                    }
                })
            }
        }
    }

    fn check_out(&self, out: &[f32]) -> Result<()> {
        if out.len() == self.cols() {
            Ok(())
        } else {
            Err(Error::without_offset(ErrorKind::BufferTooSmall))
        }
    }

    fn check_word(&self, row: u32) -> Result<()> {
        if row < self.layout.vocabulary.words {
            Ok(())
        } else {
            Err(Error::without_offset(ErrorKind::InvalidArgument))
        }
    }
}

impl<S: Source, M: AsRef<[u64]>> Ties for Words<S, M> {
    fn order(&self, a: u32, b: u32) -> Result<Ordering> {
        if self.index.is_none() || a == b {
            return Ok(a.cmp(&b));
        }
        let (a, b) = (self.word_offset(a)?, self.word_offset(b)?);
        let (a_bytes, b_bytes) = (entry_bytes(&self.source, a)?, entry_bytes(&self.source, b)?);
        let (mut a_piece, mut b_piece) = ([0; 64], [0; 64]);
        let (mut at, common) = (0, a_bytes.min(b_bytes));
        while at < common {
            let size = common.saturating_sub(at).min(a_piece.len());
            let after = (at as u64).saturating_add(4);
            let a = self.source.block(a.saturating_add(after), size, &mut a_piece)?;
            let b = self.source.block(b.saturating_add(after), size, &mut b_piece)?;
            match a.cmp(b) {
                Ordering::Equal => at = at.saturating_add(size),
                order => return Ok(order),
            }
        }
        Ok(a_bytes.cmp(&b_bytes))
    }
}
