//! A whole `.fifu` file in memory: read, mapped, or in flash.

use super::decoder::FinalfusionDecoder;
use super::grammar;
use super::layout::{FinalfusionLayout, FinalfusionPlace, Quantized, Storage};
use super::{CODES, EMBEDDINGS, NORMS, PROJECTION, ROW_NORMS, SUBQUANTIZERS};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Mode};
use crate::read::Slice;
use crate::subword::{Subwords, WordVocabulary};
use crate::tensor::{Dtype, Shape, TensorHeader, TensorView};

/// A validated `.fifu` file; all views borrow from the file's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Finalfusion<'a> {
    bytes: &'a [u8],
    layout: FinalfusionLayout,
    deviation: Option<Error>,
}

impl<'a> Finalfusion<'a> {
    /// Validates the structure of `bytes`, the whole file, in one pass over header and vocabulary.
    /// Vectors, norms and codes are not read.
    ///
    /// # Errors
    ///
    /// As the [`FinalfusionDecoder`].
    pub fn parse(bytes: &'a [u8], mode: Mode) -> Result<Self> {
        Self::parse_with(FinalfusionDecoder::new(mode), bytes)
    }

    /// As [`parse`](Self::parse), with a new decoder with other policies.
    ///
    /// # Errors
    ///
    /// As the [`FinalfusionDecoder`].
    pub fn parse_with(decoder: FinalfusionDecoder, bytes: &'a [u8]) -> Result<Self> {
        let mut slice = Slice::new(decoder, bytes).without_data();
        while slice.next_event()? != Event::End {}
        let layout = slice.decoder().layout();
        let layout = layout.ok_or(Error::new(0, ErrorKind::UnexpectedEnd))?;
        Ok(Self { bytes, layout, deviation: slice.decoder().deviation() })
    }

    /// The whole file.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The layout of the file.
    #[must_use]
    pub const fn layout(&self) -> &FinalfusionLayout {
        &self.layout
    }

    /// The first deviation from the format that lenient mode has accepted: the error of strict mode.
    #[must_use]
    pub const fn deviation(&self) -> Option<Error> {
        self.deviation
    }

    /// The vocabulary's parameters.
    #[must_use]
    pub const fn vocabulary(&self) -> &WordVocabulary {
        &self.layout.vocabulary
    }

    /// The metadata's TOML.
    #[must_use]
    pub fn metadata(&self) -> Option<&'a str> {
        core::str::from_utf8(self.region(self.layout.metadata?)?).ok()
    }

    /// The words in the order of their rows.
    #[must_use]
    pub fn words(&self) -> WordEntries<'a> {
        let entries = self.region(self.layout.words).unwrap_or(&[]);
        WordEntries { entries, remaining: self.layout.vocabulary.words }
    }

    /// The n-grams of an explicit vocabulary with their indices.
    #[must_use]
    pub fn ngrams(&self) -> NgramEntries<'a> {
        let entries = self.region(self.layout.ngrams).unwrap_or(&[]);
        let remaining = match self.layout.vocabulary.subwords {
            Subwords::Explicit { ngrams } => ngrams,
            _ => 0,
        };
        NgramEntries { entries, remaining }
    }

    /// The tensors in file order: storage, then norms.
    pub fn tensors(&self) -> impl Iterator<Item = TensorView<'a>> + use<'a> {
        let words = u64::from(self.layout.vocabulary.words);
        let norms = self.layout.norms.map(|offset| (NORMS, Dtype::F32, [words, 1, 1], 1, offset));
        let file = *self;
        storage_tensors(&self.layout.storage).into_iter().chain([norms]).flatten().filter_map(
            move |(name, dtype, dims, ndim, offset)| {
                let shape = Shape::new(dims.get(..ndim)?)?;
                let bytes = dtype.data_bytes(shape.elements()?)?;
                let header = TensorHeader { name, dtype, shape, offset, bytes };
                TensorView::new(header, file.region(FinalfusionPlace { offset, bytes })?)
            },
        )
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        self.tensors().find(|tensor| tensor.header().name == name)
    }

    fn region(&self, place: FinalfusionPlace) -> Option<&'a [u8]> {
        let start = usize::try_from(place.offset).ok()?;
        self.bytes.get(start..usize::try_from(place.end()).ok()?)
    }
}

/// Name, type, dimensions, the number of them that are used, and offset.
type Tensor = (&'static str, Dtype, [u64; 3], usize, u64);

fn storage_tensors(storage: &Storage) -> [Option<Tensor>; 4] {
    match *storage {
        Storage::Array(array) => {
            let dims = [array.rows, array.cols.into(), 1];
            [Some((EMBEDDINGS, Dtype::F32, dims, 2, array.offset)), None, None, None]
        }
        Storage::Quantized(quantized) => {
            let Quantized { rows, cols, codes_per_row, centroids, .. } = quantized;
            let (cols, codes_per_row) = (u64::from(cols), u64::from(codes_per_row));
            let centroid = [codes_per_row, centroids.into(), quantized.centroid_cols().into()];
            [
                quantized
                    .projection
                    .map(|offset| (PROJECTION, Dtype::F32, [cols, cols, 1], 2, offset)),
                Some((SUBQUANTIZERS, Dtype::F32, centroid, 3, quantized.subquantizers)),
                quantized.norms.map(|offset| (ROW_NORMS, Dtype::F32, [rows, 1, 1], 1, offset)),
                Some((CODES, Dtype::U8, [rows, codes_per_row, 1], 2, quantized.codes)),
            ]
        }
    }
}

/// Iterates over words.
#[derive(Clone, Debug)]
pub struct WordEntries<'a> {
    entries: &'a [u8],
    remaining: u32,
}

impl<'a> Iterator for WordEntries<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (rest, word) = grammar::word(self.entries).ok()?;
        self.entries = rest;
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for WordEntries<'_> {}

/// Iterates over n-grams and their indices.
#[derive(Clone, Debug)]
pub struct NgramEntries<'a> {
    entries: &'a [u8],
    remaining: u32,
}

impl<'a> Iterator for NgramEntries<'a> {
    type Item = (&'a [u8], u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (rest, ngram) = grammar::ngram(self.entries).ok()?;
        self.entries = rest;
        Some(ngram)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for NgramEntries<'_> {}
