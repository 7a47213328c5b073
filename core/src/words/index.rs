//! An index over words and n-grams in caller-provided memory.
//!
//! The memory holds, in this order: the table of words; the table of n-grams; a table that numbers
//! the n-grams' indices, unless the file numbers them; and the offset of every 16th word, which
//! maps rows to words.

use super::source::Source;
use super::table::{Inserted, Packing, slots_for};
use crate::bytes::{Item, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::{Entry, FinalfusionLayout, FinalfusionPlace, entry};
use crate::subword::Subwords;

/// The distance in words between stored offsets.
const STRIDE: u32 = 16;

/// The number of seeds tried before a vocabulary is rejected.
const SEEDS: u64 = 8;

/// The treatment of words that a vocabulary contains twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Duplicates {
    /// The vocabulary is rejected, as both reference readers do.
    #[default]
    Error,
    /// The first one is found.
    First,
}

/// Options for building an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// Random seed for the hash index, unknown to the file's author: prevents hash flooding by a
    /// hostile file. With a known seed such a file is rejected at worst.
    pub seed: u64,
    /// The treatment of words and n-grams that the vocabulary contains twice.
    pub duplicates: Duplicates,
}

/// The offsets of an index's parts in its memory, in `u64`.
#[derive(Clone, Copy, Debug)]
struct Parts {
    words: u64,
    ngrams: u64,
    numbers: u64,
    places: u64,
}

impl Parts {
    fn new(layout: &FinalfusionLayout) -> Option<Self> {
        let (words, ngrams) = counts(layout);
        let ngram_slots = if ngrams == 0 { 0 } else { slots_for(ngrams.into())? };
        let is_numbered = ngrams == 0 || layout.distinct_ngram_indices.is_some();
        let different = u64::from(words).min(different_strings(layout.words.bytes));
        Some(Self {
            words: slots_for(different)?,
            ngrams: ngram_slots,
            numbers: if is_numbered { 0 } else { ngram_slots },
            places: words.div_ceil(STRIDE).into(),
        })
    }

    fn total(&self) -> Option<u64> {
        self.words.checked_add(self.ngrams)?.checked_add(self.numbers)?.checked_add(self.places)
    }
}

/// An upper bound of the number of different strings in so many bytes, each preceded by its length
/// of four bytes: one is empty, 256 have one byte, and so on. It keeps files of repeated words from
/// making the index large.
const fn different_strings(bytes: u64) -> u64 {
    let (mut count, mut left) = (0_u64, bytes);
    let (mut of_this_length, mut size) = (1_u64, 4_u64);
    while of_this_length.saturating_mul(size) < left {
        count = count.saturating_add(of_this_length);
        left = left.saturating_sub(of_this_length.saturating_mul(size));
        of_this_length = of_this_length.saturating_mul(256);
        size = size.saturating_add(1);
    }
    match left.checked_div(size) {
        Some(more) => count.saturating_add(more),
        None => count,
    }
}

/// The numbers of words and of listed n-grams.
fn counts(layout: &FinalfusionLayout) -> (u32, u32) {
    let ngrams = match layout.vocabulary.subwords {
        Subwords::Explicit { ngrams } => ngrams,
        _ => 0,
    };
    (layout.vocabulary.words, ngrams)
}

/// An index over the words and n-grams of one file, in borrowed (`&mut [u64]`) or owned memory (a
/// `Vec<u64>`).
#[derive(Clone, Debug)]
pub struct Index<M> {
    memory: M,
    parts: Parts,
    words: Packing,
    ngrams: Packing,
}

impl Index<&mut [u64]> {
    /// The size of an index over this file in `u64`; `None` if it exceeds the machine's address
    /// space.
    ///
    /// A million words take 12.5 MB.
    #[must_use]
    pub fn memory_needed(layout: &FinalfusionLayout) -> Option<usize> {
        usize::try_from(Parts::new(layout)?.total()?).ok()
    }
}

impl<M: AsRef<[u64]> + AsMut<[u64]>> Index<M> {
    /// Builds an index in one pass over the vocabulary. `scratch` is needed only for sources that
    /// are not in memory, which read the vocabulary in pieces of its size;
    /// [`MAX_ITEM_BYTES`](crate::format::finalfusion::MAX_ITEM_BYTES) always suffice.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `memory` has fewer `u64` than
    /// [`memory_needed`](Index::memory_needed) or `scratch` is smaller than an entry;
    /// [`ErrorKind::DuplicateWord`] at a repeated entry; [`ErrorKind::WrongShape`] if the n-grams'
    /// indices do not number the storage's rows; [`ErrorKind::BadVocabulary`] for words constructed
    /// to collide; any error from the source.
    pub fn build(
        source: &impl Source,
        layout: &FinalfusionLayout,
        options: IndexOptions,
        mut memory: M,
        scratch: &mut [u8],
    ) -> Result<Self> {
        let (words, ngrams) = counts(layout);
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let parts = Parts::new(layout).ok_or(too_small)?;
        let mut tables = Tables::new(memory.as_mut(), &parts).ok_or(too_small)?;
        let mut pass = Pass { source, options, scratch };
        let packing = |values: u64, place: FinalfusionPlace| {
            Packing::new(values, place.bytes, options.seed)
                .ok_or(Error::new(place.offset, ErrorKind::BadVocabulary))
        };
        let packing_words = packing(words.into(), layout.words)?;
        let word_packing = pass.words((layout.words, words), packing_words, &mut tables)?;
        let packing_ngrams = packing(ngrams.into(), layout.ngrams)?;
        let (ngram_packing, rows) =
            pass.ngrams((layout.ngrams, ngrams), packing_ngrams, &mut tables)?;
        let subword_rows = layout.storage.rows().saturating_sub(words.into());
        if ngrams > 0 && rows != subword_rows {
            return Err(Error::new(layout.ngrams.offset, ErrorKind::WrongShape));
        }
        Ok(Self { memory, parts, words: word_packing, ngrams: ngram_packing })
    }
}

impl<M: AsRef<[u64]>> Index<M> {
    /// The row of the word with this [`hash`](Self::hash_word); `is_there` compares candidates by
    /// row and by offset, counted from the first word entry.
    #[inline]
    pub(super) fn find_word(
        &self,
        hash: u64,
        is_there: impl FnMut(u64, u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        self.words.find(self.part(0, self.parts.words), hash, is_there)
    }

    /// The hash of a word in the index.
    #[inline]
    pub(super) fn hash_word(&self, word: &[u8]) -> u64 {
        self.words.hash(word)
    }

    /// Prefetches the first slot for a word with this hash.
    #[inline]
    pub(super) fn expect_word(&self, hash: u64) {
        Packing::expect(self.part(0, self.parts.words), hash);
    }

    /// The row of an n-gram, counted from the first subword row; `parts` are its bytes, and
    /// `is_there` compares candidates by offset, counted from the first n-gram entry.
    pub(super) fn find_ngram(
        &self,
        parts: [&str; 3],
        mut is_there: impl FnMut(u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let slots = self.part(self.parts.words, self.parts.ngrams);
        self.ngrams.find(slots, self.ngrams.hash_parts(parts), |_, place| is_there(place))
    }

    /// The nearest word at or before `row` with a stored offset: its row and its entry's offset.
    pub(super) fn landmark(&self, row: u32) -> Option<(u32, u64)> {
        let Parts { words, ngrams, numbers, places } = self.parts;
        let landmarks = self.part(words.saturating_add(ngrams).saturating_add(numbers), places);
        let ordinal = row / STRIDE;
        landmarks.get(ordinal as usize).map(|&place| (ordinal.saturating_mul(STRIDE), place))
    }

    #[inline]
    fn part(&self, start: u64, length: u64) -> &[u64] {
        // Building has checked that both fit.
        let range = |at| usize::try_from(at).unwrap_or(usize::MAX);
        let memory = self.memory.as_ref().get(range(start)..).unwrap_or(&[]);
        memory.get(..range(length)).unwrap_or(&[])
    }
}

/// The memory of an index that is being built.
struct Tables<'m> {
    words: &'m mut [u64],
    ngrams: &'m mut [u64],
    numbers: &'m mut [u64],
    places: &'m mut [u64],
}

impl<'m> Tables<'m> {
    fn new(memory: &'m mut [u64], parts: &Parts) -> Option<Self> {
        let size = |part| usize::try_from(part).ok();
        let (words, rest) = memory.split_at_mut_checked(size(parts.words)?)?;
        let (ngrams, rest) = rest.split_at_mut_checked(size(parts.ngrams)?)?;
        let (numbers, rest) = rest.split_at_mut_checked(size(parts.numbers)?)?;
        let places = rest.get_mut(..size(parts.places)?)?;
        Some(Self { words, ngrams, numbers, places })
    }
}

/// A pass over a file's vocabulary.
struct Pass<'p, S> {
    source: &'p S,
    options: IndexOptions,
    scratch: &'p mut [u8],
}

impl<S: Source> Pass<'_, S> {
    /// Fills the table of words, trying several seeds.
    fn words(
        &mut self,
        (place, count): (FinalfusionPlace, u32),
        packing: Packing,
        tables: &mut Tables<'_>,
    ) -> Result<Packing> {
        let (source, duplicates) = (self.source, self.options.duplicates);
        for attempt in 0..SEEDS {
            let packing = packing.with_seed(reseed(self.options.seed, attempt));
            tables.words.fill(0);
            let mut ordinal = 0_u32;
            let insert = |at: u64, entry: Entry<'_>| {
                if ordinal.is_multiple_of(STRIDE)
                    && let Some(landmark) = tables.places.get_mut((ordinal / STRIDE) as usize)
                {
                    *landmark = at;
                }
                let pair = (ordinal.into(), at);
                ordinal = ordinal.saturating_add(1);
                let hash = packing.hash(entry.bytes);
                let same = |other| is_entry(source, place.offset, other, entry.bytes);
                let inserted = packing.insert(tables.words, hash, pair, same)?;
                note(duplicates, place.offset.saturating_add(at), &inserted)
            };
            if entries(source, self.scratch, place, (count, false), insert)? {
                return Ok(packing);
            }
        }
        Err(Error::new(place.offset, ErrorKind::BadVocabulary))
    }

    /// Fills the table of n-grams; also returns the number of rows that their indices have.
    fn ngrams(
        &mut self,
        (place, count): (FinalfusionPlace, u32),
        packing: Packing,
        tables: &mut Tables<'_>,
    ) -> Result<(Packing, u64)> {
        let (source, duplicates) = (self.source, self.options.duplicates);
        for attempt in 0..SEEDS {
            let packing = packing.with_seed(reseed(self.options.seed, attempt));
            tables.ngrams.fill(0);
            tables.numbers.fill(0);
            let mut rows = 0;
            let insert = |at: u64, entry: Entry<'_>| {
                let numbered =
                    number(source, place, packing, tables.numbers, (at, entry.index), rows)?;
                let Some(row) = numbered else { return Ok(false) };
                rows = rows.max(row.saturating_add(1));
                let hash = packing.hash(entry.bytes);
                let same = |other| is_entry(source, place.offset, other, entry.bytes);
                let inserted = packing.insert(tables.ngrams, hash, (row, at), same)?;
                note(duplicates, place.offset.saturating_add(at), &inserted)
            };
            if entries(source, self.scratch, place, (count, true), insert)? {
                return Ok((packing, rows));
            }
        }
        Err(Error::new(place.offset, ErrorKind::BadVocabulary))
    }
}

/// The row of an n-gram's `index`, whose entry is `at`: the k-th different index is row k, as in
/// the reference. Without slots the indices are row numbers already. `None` if the table is
/// crowded.
fn number(
    source: &impl Source,
    place: FinalfusionPlace,
    packing: Packing,
    slots: &mut [u64],
    (at, index): (u64, u64),
    rows: u64,
) -> Result<Option<u64>> {
    if slots.is_empty() {
        return Ok(Some(index));
    }
    let same = |other| Ok(index_of(source, place.offset, other)? == index);
    Ok(match packing.insert(slots, packing.hash(&index.to_le_bytes()), (rows, at), same)? {
        Inserted::New => Some(rows),
        Inserted::Known(row) => Some(row),
        Inserted::Crowded => None,
    })
}

/// Returns whether to continue after the insertion of the entry at the absolute `offset`.
fn note(duplicates: Duplicates, offset: u64, inserted: &Inserted) -> Result<bool> {
    match (inserted, duplicates) {
        (Inserted::Crowded, _) => Ok(false),
        (Inserted::Known(_), Duplicates::Error) => {
            Err(Error::new(offset, ErrorKind::DuplicateWord))
        }
        _ => Ok(true),
    }
}

/// The seed of a further attempt.
const fn reseed(seed: u64, attempt: u64) -> u64 {
    seed.wrapping_add(attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Calls `on_entry` with each entry and its offset, counted from the first, while it returns
/// `true`; returns whether it always did.
pub(super) fn entries(
    source: &impl Source,
    scratch: &mut [u8],
    place: FinalfusionPlace,
    (count, has_index): (u32, bool),
    mut on_entry: impl FnMut(u64, Entry<'_>) -> Result<bool>,
) -> Result<bool> {
    let (mut at, mut left) = (0_u64, count);
    while left > 0 {
        let rest = usize::try_from(place.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let size = rest.min(source.block_limit(scratch.len()));
        let offset = place.offset.saturating_add(at);
        let mut window = source.block(offset, size, scratch)?;
        let before = left;
        while left > 0 {
            let Item::Parsed { item, used } = parse(entry(has_index), window, offset)? else {
                break;
            };
            if !on_entry(at, item)? {
                return Ok(false);
            }
            window = window.get(used..).unwrap_or(&[]);
            at = at.saturating_add(used as u64);
            left = left.saturating_sub(1);
        }
        if left == before {
            return Err(Error::new(offset, ErrorKind::BufferTooSmall));
        }
    }
    Ok(true)
}

/// Returns true if the entry at `base + at` is `string`.
#[inline]
pub(super) fn is_entry(source: &impl Source, base: u64, at: u64, string: &[u8]) -> Result<bool> {
    let offset = base.saturating_add(at);
    if entry_bytes(source, offset)? != string.len() {
        return Ok(false);
    }
    let (mut rest, mut is_same) = (string, true);
    source.pieces(offset.saturating_add(4), string.len(), |piece| {
        let (ours, after) = rest.split_at_checked(piece.len()).unwrap_or((rest, &[]));
        is_same &= ours == piece;
        rest = after;
        Ok(())
    })?;
    Ok(is_same)
}

/// The length in bytes of the string whose entry is at the absolute `offset`.
#[inline]
pub(super) fn entry_bytes(source: &impl Source, offset: u64) -> Result<usize> {
    let mut scratch = [0; 4];
    let length = source.block(offset, 4, &mut scratch)?.first_chunk().copied().unwrap_or_default();
    Ok(u32::from_le_bytes(length) as usize)
}

/// The index of the n-gram whose entry is at `base + at`.
pub(super) fn index_of(source: &impl Source, base: u64, at: u64) -> Result<u64> {
    let offset = base.saturating_add(at);
    let after = offset.saturating_add(4).saturating_add(entry_bytes(source, offset)? as u64);
    let mut scratch = [0; 8];
    let index = source.block(after, 8, &mut scratch)?.first_chunk().copied().unwrap_or_default();
    Ok(u64::from_le_bytes(index))
}
