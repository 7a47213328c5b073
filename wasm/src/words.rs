//! Word vectors: of a file in memory, or of parts of it that JavaScript reads as they are needed.
//!
//! Core's lookup reads from a [`Source`]; what a file that is elsewhere does not have here yet is
//! asked for beforehand ([`WordVectors::missing`]) and inserted, so that no lookup has to wait in
//! the middle.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;

use nanoembed_core::format::finalfusion::{FinalfusionLayout, MAX_WORD_BYTES, Storage};
use nanoembed_core::kernel::{self, ProductF32};
use nanoembed_core::limit::filled;
use nanoembed_core::words::{
    Duplicates, Found, Index, IndexOptions, Rows, Scored, SearchMemory, Source, TopK, Words,
};
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::{Reader, Region};

/// The bytes of rows that are kept after they were used; more are forgotten all together.
const CACHE_BYTES: usize = 8 << 20;

/// The bytes that a search of a file that is elsewhere takes at a time.
const TILE_BYTES: usize = 1 << 20;

/// A file that is here as a whole or in parts.
struct File {
    /// The file, or what is always needed of it, in the order of offsets.
    regions: Vec<Region>,
    is_whole: bool,
    /// Other parts that every row needs.
    held: RefCell<Vec<Region>>,
    /// Rows that have been read.
    rows: RefCell<Vec<Region>>,
}

impl File {
    /// Of regions none of which lies in another the last that begins before an offset also reaches
    /// furthest.
    fn get(regions: &[Region], offset: u64, bytes: usize) -> Option<&[u8]> {
        let after = regions.partition_point(|region| region.offset <= offset);
        let region = regions.get(after.checked_sub(1)?)?;
        let start = usize::try_from(offset.checked_sub(region.offset)?).ok()?;
        region.bytes.get(start..start.checked_add(bytes)?)
    }

    fn has(&self, offset: u64, bytes: usize) -> bool {
        Self::get(&self.regions, offset, bytes).is_some()
            || Self::get(&self.held.borrow(), offset, bytes).is_some()
            || Self::get(&self.rows.borrow(), offset, bytes).is_some()
    }

    fn hold(&self, offset: u64, bytes: Vec<u8>) {
        put(&mut self.held.borrow_mut(), offset, bytes);
    }

    fn insert(&self, offset: u64, bytes: Vec<u8>) {
        put(&mut self.rows.borrow_mut(), offset, bytes);
    }

    /// Forgets the rows if they are too many. What is asked for may need all that was inserted for
    /// it, and more that was there before: so this is for when it has been answered.
    fn trim(&self) {
        let mut rows = self.rows.borrow_mut();
        if rows.iter().map(|region| region.bytes.len()).sum::<usize>() > CACHE_BYTES {
            rows.clear();
        }
    }
}

/// Puts a region where it belongs in the order of offsets, in place of those that lie in it.
fn put(regions: &mut Vec<Region>, offset: u64, bytes: Vec<u8>) {
    if File::get(regions, offset, bytes.len()).is_some() {
        return;
    }
    let end = offset.saturating_add(bytes.len() as u64);
    let from = regions.partition_point(|region| region.offset < offset);
    let after = regions.partition_point(|region| region.end() <= end);
    regions.splice(from..after.max(from), [Region { offset, bytes }]);
}

/// A shared [`File`] as a source.
struct Shared(Rc<File>);

impl Source for Shared {
    fn block<'s>(
        &'s self,
        offset: u64,
        bytes: usize,
        scratch: &'s mut [u8],
    ) -> core::result::Result<&'s [u8], Error> {
        if let Some(block) = File::get(&self.0.regions, offset, bytes) {
            return Ok(block);
        }
        let (held, rows) = (self.0.held.borrow(), self.0.rows.borrow());
        let block = File::get(&held, offset, bytes).or_else(|| File::get(&rows, offset, bytes));
        let block = block.ok_or(Error::new(offset, ErrorKind::ReadFailed))?;
        let too_small = Error::new(offset, ErrorKind::BufferTooSmall);
        let copy = scratch.get_mut(..bytes).ok_or(too_small)?;
        copy.copy_from_slice(block);
        Ok(copy)
    }

    fn block_limit(&self, scratch_bytes: usize) -> usize {
        if self.0.is_whole { usize::MAX } else { scratch_bytes }
    }
}

/// Word vectors, and the answer to the last question.
#[wasm_bindgen]
pub struct WordVectors {
    file: Rc<File>,
    layout: FinalfusionLayout,
    words: Words<Shared, Vec<u64>>,
    product: ProductF32,
    found: Option<Found>,
    best: Vec<Scored>,
    skip: Vec<u32>,
    query: Vec<f32>,
    capacity: usize,
}

#[wasm_bindgen]
impl WordVectors {
    /// The words of the file that `reader` has read, or of which it has kept header and vocabulary.
    /// `seed` is a number that whoever wrote the file cannot know.
    ///
    /// # Errors
    ///
    /// `unknown_format` if the file holds no words; `duplicate_word` unless `takes_first`;
    /// `bad_vocabulary`.
    #[wasm_bindgen(constructor)]
    pub fn new(reader: Reader, seed: f64, takes_first: bool) -> Result<Self> {
        let is_whole = reader.keeps_all();
        let (regions, layout) = reader.into_regions()?;
        let file =
            Rc::new(File { regions, is_whole, held: RefCell::default(), rows: RefCell::default() });
        let duplicates = if takes_first { Duplicates::First } else { Duplicates::Error };
        let options = IndexOptions { seed: seed.to_bits(), duplicates };
        let needed = Index::memory_needed(&layout).ok_or(ErrorKind::BufferTooSmall)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(needed).map_err(|_| ErrorKind::BufferTooSmall)?;
        memory.resize(needed, 0_u64);
        let mut scratch = vec![0; if is_whole { 0 } else { 1 << 17 }];
        let source = Shared(Rc::clone(&file));
        let index = Index::build(&source, &layout, options, memory, &mut scratch)?;
        Ok(Self {
            words: Words::with_index(source, layout, index),
            file,
            layout,
            product: kernel::detect().product_f32,
            found: None,
            best: Vec::new(),
            skip: Vec::new(),
            query: Vec::new(),
            capacity: 0,
        })
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.words.cols()
    }

    /// How many words there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.layout.vocabulary.words
    }

    /// How words that are missing are spelled.
    #[must_use]
    pub fn subwords(&self) -> String {
        self.layout.vocabulary.subwords.name().into()
    }

    /// The word of a row; bytes that are no UTF-8 become replacement characters.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if there is no such row.
    pub fn word(&self, row: u32) -> Result<String> {
        let mut buffer = vec![0; MAX_WORD_BYTES];
        let word = self.words.word_into(row, &mut buffer)?;
        Ok(String::from_utf8_lossy(word).into_owned())
    }

    /// The stretches of the file, offset and length by turns, that [`vector`](Self::vector) of
    /// `word` needs and that are not here.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a word with too many n-grams.
    pub fn missing(&self, word: &str) -> Result<Vec<f64>> {
        let mut missing = Vec::new();
        if self.file.is_whole {
            return Ok(missing);
        }
        let mut need = |offset: u64, bytes: u64| self.need(&mut missing, offset, bytes);
        let rows = self.words.rows(word, |row| {
            match &self.layout.storage {
                Storage::Array(array) => {
                    let bytes = u64::from(array.cols) * 4;
                    need(array.offset + row * bytes, bytes);
                }
                Storage::Quantized(quantized) => {
                    let bytes = u64::from(quantized.codes_per_row);
                    need(quantized.codes + row * bytes, bytes);
                    if let Some(norms) = quantized.norms {
                        need(norms + row * 4, 4);
                    }
                }
            }
            Ok(())
        })?;
        if let (Some(Rows::Word { row }), Some(norms)) = (rows, self.layout.norms) {
            need(norms + u64::from(row) * 4, 4);
        }
        Ok(missing)
    }

    /// As [`missing`](Self::missing): what every row needs, to be given to [`hold`](Self::hold).
    #[must_use]
    pub fn essentials(&self) -> Vec<f64> {
        let mut missing = Vec::new();
        if let Storage::Quantized(quantized) = &self.layout.storage {
            let cols = u64::from(quantized.cols);
            if let Some(projection) = quantized.projection {
                self.need(&mut missing, projection, cols * cols * 4);
            }
            let centroids = u64::from(quantized.centroids) * cols * 4;
            self.need(&mut missing, quantized.subquantizers, centroids);
        }
        missing
    }

    fn need(&self, missing: &mut Vec<f64>, offset: u64, bytes: u64) {
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes > 0 && !self.file.has(offset, size) {
            #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
            missing.extend([offset as f64, bytes as f64]);
        }
    }

    /// Takes bytes of the file that are needed as long as it is open.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an offset")]
    pub fn hold(&mut self, offset: f64, bytes: Vec<u8>) {
        self.file.hold(offset as u64, bytes);
    }

    /// Takes bytes of the file that were asked for.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an offset")]
    pub fn insert(&mut self, offset: f64, bytes: Vec<u8>) {
        self.file.insert(offset as u64, bytes);
    }

    /// The vector of `word`, its own or made of its n-grams'; none if there is neither.
    ///
    /// # Errors
    ///
    /// `read_failed` at a byte that was not inserted.
    pub fn vector(&mut self, word: &str) -> Result<Option<Vec<f32>>> {
        let mut out = filled(self.words.cols(), 0.0)?;
        let mut scratch = filled(self.words.scratch_needed(), 0.0)?;
        self.found = self.words.vector(word, &mut out, &mut scratch)?;
        self.file.trim();
        Ok(self.found.is_some().then_some(out))
    }

    /// The row of the last word that was found, or −1 if its vector was made of n-grams'.
    #[must_use]
    pub fn row(&self) -> f64 {
        match self.found.map(|found| found.rows) {
            Some(Rows::Word { row }) => row.into(),
            _ => -1.0,
        }
    }

    /// How many rows of n-grams the last vector was made of.
    #[must_use]
    pub fn parts(&self) -> u32 {
        match self.found.map(|found| found.rows) {
            Some(Rows::Subwords { count }) => count,
            _ => 0,
        }
    }

    /// The length of the last vector before it was normalised.
    #[must_use]
    pub fn norm(&self) -> f32 {
        self.found.map_or(0.0, |found| found.norm)
    }

    /// Begins a search for the `count` words nearest to `query`, leaving out the rows in `skip`.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the query has not as many elements as vectors have.
    pub fn begin_search(&mut self, query: Vec<f32>, count: usize, skip: Vec<u32>) -> Result<()> {
        if query.len() != self.words.cols() {
            return Err(ErrorKind::InvalidArgument.into());
        }
        (self.query, self.skip) = (query, skip);
        self.best.clear();
        self.capacity = count.min(self.layout.vocabulary.words as usize);
        Ok(())
    }

    /// Where that lies which a search looks through, of a file that is not here: offset and bytes
    /// of a row, by turns.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn rows_at(&self) -> Vec<f64> {
        match &self.layout.storage {
            Storage::Array(array) => vec![array.offset as f64, f64::from(array.cols) * 4.0],
            Storage::Quantized(quantized) => {
                let mut tables = vec![quantized.codes as f64, quantized.codes_per_row.into()];
                if let Some(norms) = quantized.norms {
                    tables.extend([norms as f64, 4.0]);
                }
                tables
            }
        }
    }

    /// Looks through the rows from `first` up to `end`.
    ///
    /// # Errors
    ///
    /// As core's search.
    pub fn search(&mut self, first: u32, end: u32) -> Result<()> {
        let mut here = filled(self.capacity, Scored::default())?;
        let mut all = filled(self.capacity, Scored::default())?;
        let floats = self.words.search_memory_needed(1).ok_or(ErrorKind::BufferTooSmall)?;
        let mut floats = filled(floats, 0.0)?;
        let mut tile = vec![0; if self.file.is_whole { 0 } else { TILE_BYTES }];
        let memory = SearchMemory { floats: &mut floats, tile: &mut tile };
        let mut tops = [TopK::new(&mut here, &self.skip)];
        self.words.search(self.product, first..end, &self.query, &mut tops, memory)?;
        let mut merged = TopK::new(&mut all, &self.skip);
        self.words.merge(&mut merged, &self.best)?;
        self.words.merge(&mut merged, tops[0].rows())?;
        self.best = self.words.ranked(merged)?.to_vec();
        self.file.trim();
        Ok(())
    }

    /// The rows that were found, the best first.
    #[must_use]
    pub fn best_rows(&self) -> Vec<u32> {
        self.best.iter().map(|scored| scored.row).collect()
    }

    /// Their scores.
    #[must_use]
    pub fn best_scores(&self) -> Vec<f32> {
        self.best.iter().map(|scored| scored.score).collect()
    }

    /// The query of "`a` is to `b` as `c` is to …"; none if one of the words has no vector.
    ///
    /// # Errors
    ///
    /// As [`vector`](Self::vector).
    pub fn analogy(&mut self, a: &str, b: &str, c: &str) -> Result<Option<Vec<f32>>> {
        let mut query = filled(self.words.cols(), 0.0)?;
        let mut scratch = filled(self.words.cols() + self.words.scratch_needed(), 0.0)?;
        let analogy = self.words.analogy([a, b, c], &mut query, &mut scratch)?;
        self.file.trim();
        self.skip = analogy.rows.iter().flatten().copied().collect();
        Ok((analogy.present == [true; 3]).then_some(query))
    }

    /// The rows of the last analogy's own words.
    #[must_use]
    pub fn analogy_rows(&self) -> Vec<u32> {
        self.skip.clone()
    }
}
