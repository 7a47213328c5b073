//! The sizes of everything in a file to be written.

use super::super::decoder::BrokenUtf8;
use super::super::grammar::{MAX_EMPTY_COLS, id};
use super::invalid;
use crate::error::Result;
use crate::subword::{Subwords, WordVocabulary};

/// The storage to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageSpec {
    /// An f32 matrix; its data are the rows.
    Array {
        /// The number of rows: words, then buckets or n-grams.
        rows: u64,
        /// The length of a vector.
        cols: u32,
    },
    /// A product quantiser; its data are, in this order, the projection, the centroids, the norms
    /// and the codes.
    Quantized {
        /// The number of rows: words, then buckets or n-grams.
        rows: u64,
        /// The length of a reconstructed vector, a multiple of `codes_per_row`.
        cols: u32,
        /// The number of subquantisers, at least 1.
        codes_per_row: u32,
        /// Centroids per subquantiser, 1 to 256.
        centroids: u32,
        /// True if there is a projection (F32 `[cols, cols]`).
        projection: bool,
        /// True if rows have norms (F32 `[rows]`).
        norms: bool,
    },
}

impl StorageSpec {
    pub(super) const fn rows(&self) -> u64 {
        match *self {
            Self::Array { rows, .. } | Self::Quantized { rows, .. } => rows,
        }
    }

    pub(super) const fn id(&self) -> u32 {
        match self {
            Self::Array { .. } => id::ARRAY,
            Self::Quantized { .. } => id::QUANTIZED,
        }
    }

    /// The size of the data without header and padding; `None` if it does not fit a file.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        match *self {
            Self::Array { rows, cols } => rows.checked_mul(u64::from(cols).checked_mul(4)?),
            Self::Quantized { rows, cols, codes_per_row, centroids, projection, norms } => {
                let cols = u64::from(cols);
                let centroids = u64::from(centroids).checked_mul(cols)?.checked_mul(4)?;
                let projection =
                    if projection { cols.checked_mul(cols)?.checked_mul(4)? } else { 0 };
                let norms = if norms { rows.checked_mul(4)? } else { 0 };
                let codes = rows.checked_mul(codes_per_row.into())?;
                projection.checked_add(centroids)?.checked_add(norms)?.checked_add(codes)
            }
        }
    }
}

/// Everything that must be known before the first byte is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinalfusionPlan<'p> {
    /// The metadata, a TOML document.
    pub metadata: Option<&'p str>,
    /// The vocabulary's parameters.
    pub vocabulary: WordVocabulary,
    /// The sum of all words' lengths in bytes.
    pub word_bytes: u64,
    /// The sum of all n-grams' lengths in bytes.
    pub ngram_bytes: u64,
    /// The storage.
    pub storage: StorageSpec,
    /// True if the words' norms (F32 `[words]`) follow the storage.
    pub norms: bool,
    /// True to list the norms in the header, as all writers since October 2019 do.
    pub norms_listed: bool,
    /// How to treat words that are invalid UTF-8, which other readers reject.
    pub broken_utf8: BrokenUtf8,
}

impl<'p> FinalfusionPlan<'p> {
    /// A file with words of `word_bytes` in total, without metadata, n-grams and norms; words are
    /// valid UTF-8.
    #[must_use]
    pub const fn new(vocabulary: WordVocabulary, word_bytes: u64, storage: StorageSpec) -> Self {
        Self {
            metadata: None,
            vocabulary,
            word_bytes,
            ngram_bytes: 0,
            storage,
            norms: false,
            norms_listed: true,
            broken_utf8: BrokenUtf8::Error,
        }
    }
}

impl FinalfusionPlan<'_> {
    pub(super) fn vocabulary_id(&self) -> u32 {
        match self.vocabulary.subwords {
            Subwords::None => id::SIMPLE_VOCABULARY,
            Subwords::Buckets { .. } => id::BUCKET_VOCABULARY,
            Subwords::FastText { .. } => id::FASTTEXT_VOCABULARY,
            Subwords::Explicit { .. } => id::EXPLICIT_VOCABULARY,
            Subwords::Floret { .. } => id::FLORET_VOCABULARY,
        }
    }

    pub(super) fn ngrams(&self) -> u32 {
        match self.vocabulary.subwords {
            Subwords::Explicit { ngrams } => ngrams,
            _ => 0,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let subwords = self.storage.rows().checked_sub(self.vocabulary.words.into());
        let fits = match (subwords, self.vocabulary.subwords) {
            (Some(rows), Subwords::Explicit { ngrams }) => {
                rows <= ngrams.into() && (rows > 0 || ngrams == 0)
            }
            (rows, subwords) => rows.is_some() && rows == subwords.rows(),
        };
        let storage_fits = match self.storage {
            StorageSpec::Array { rows, cols } => rows > 0 || cols <= MAX_EMPTY_COLS,
            StorageSpec::Quantized { cols, codes_per_row, centroids, .. } => {
                cols.checked_rem(codes_per_row) == Some(0) && (1..=256).contains(&centroids)
            }
        };
        // Far below the largest file position, so that sums of a few such sizes cannot wrap.
        let size = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes < 1 << 60);
        let sizes_fit = size(self.storage.data_bytes())
            && size(Some(self.word_bytes))
            && size(Some(self.ngram_bytes));
        if fits && storage_fits && sizes_fit { Ok(()) } else { Err(invalid()) }
    }
}
