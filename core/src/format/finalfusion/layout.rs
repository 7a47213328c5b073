//! The layout of a file: the result of decoding it without its bulk data.

use crate::subword::WordVocabulary;

/// A byte range of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalfusionPlace {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl FinalfusionPlace {
    /// The absolute offset of the end, exclusive.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// A chunk of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// The identifier, 1 to 9.
    pub id: u32,
    /// Absolute offset of the chunk's header.
    pub offset: u64,
    /// The declared length of the payload. Writers have got that of vocabularies wrong; it is used
    /// only to read metadata and to determine the padding before tensors.
    pub declared_bytes: u64,
    /// The actual length of the payload.
    pub payload_bytes: u64,
}

/// An f32 matrix, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Array {
    /// The number of rows: words, then buckets or n-grams.
    pub rows: u64,
    /// The length of a vector.
    pub cols: u32,
    /// Absolute offset of the first element.
    pub offset: u64,
}

/// A product-quantised matrix. Row `r` is the concatenation over `s` of centroid `codes[r][s]` of
/// subquantiser `s`, times the transposed projection, times the row's norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quantized {
    /// The number of rows: words, then buckets or n-grams.
    pub rows: u64,
    /// The length of a reconstructed vector, a multiple of `codes_per_row`.
    pub cols: u32,
    /// The number of subquantisers, and of bytes a row; at least 1.
    pub codes_per_row: u32,
    /// Centroids per subquantiser, 1 to 256.
    pub centroids: u32,
    /// Absolute offset of the projection (F32 `[cols, cols]`).
    pub projection: Option<u64>,
    /// Absolute offset of the centroids (F32 `[codes_per_row, centroids, cols / codes_per_row]`).
    pub subquantizers: u64,
    /// Absolute offset of the rows' norms (F32 `[rows]`).
    pub norms: Option<u64>,
    /// Absolute offset of the codes (U8 `[rows, codes_per_row]`).
    pub codes: u64,
}

impl Quantized {
    /// The length of one centroid.
    #[must_use]
    pub const fn centroid_cols(&self) -> u32 {
        match self.cols.checked_div(self.codes_per_row) {
            Some(cols) => cols,
            None => 0,
        }
    }
}

/// The vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A plain matrix.
    Array(Array),
    /// Product-quantised.
    Quantized(Quantized),
}

impl Storage {
    /// The number of rows: words, then buckets or n-grams.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        match self {
            Self::Array(array) => array.rows,
            Self::Quantized(quantized) => quantized.rows,
        }
    }

    /// The length of a vector.
    #[must_use]
    pub const fn cols(&self) -> u32 {
        match self {
            Self::Array(array) => array.cols,
            Self::Quantized(quantized) => quantized.cols,
        }
    }
}

/// The layout of a structurally valid file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FinalfusionLayout {
    /// The metadata's TOML.
    pub metadata: Option<FinalfusionPlace>,
    /// The vocabulary's parameters.
    pub vocabulary: WordVocabulary,
    /// The word entries: `u32` length and bytes each.
    pub words: FinalfusionPlace,
    /// The n-gram entries of an explicit vocabulary: `u32` length, bytes and `u64` index each.
    pub ngrams: FinalfusionPlace,
    /// The number of different indices of an explicit vocabulary's n-grams, if they are numbered in
    /// the order of their first appearance, as all known writers do. Otherwise `None`: then only an
    /// index in memory can number them.
    pub distinct_ngram_indices: Option<u64>,
    /// The vectors.
    pub storage: Storage,
    /// Absolute offset of the words' norms (F32 `[words]`).
    pub norms: Option<u64>,
    /// True if the header's list of chunks contains the norms, which writers before October 2019
    /// omitted.
    pub norms_listed: bool,
    pub(super) chunks: [Option<Chunk>; 4],
}

impl FinalfusionLayout {
    /// The chunks in file order.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().flatten()
    }

    /// The number of subword rows, after those of the words; `None` if only an index in memory can
    /// tell.
    #[must_use]
    pub fn subword_rows(&self) -> Option<u64> {
        self.vocabulary.subwords.rows().or(self.distinct_ngram_indices)
    }
}
