//! The results of tokenizers.

use alloc::vec::Vec;

/// More tokens than any text has: what a model takes that has no positions.
pub(super) const MOST_TOKENS: usize = 1 << 24;

/// Token ids of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokenized {
    /// The ids, special tokens included.
    pub ids: Vec<u32>,
    /// How many the whole text has, special tokens included.
    pub total: usize,
    /// True if the text has more tokens than were kept.
    pub truncated: bool,
}

/// Token ids of two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizedPair {
    /// The ids of both, special tokens included.
    pub ids: Vec<u32>,
    /// The type of each token, which says in most models which text it belongs to.
    pub types: Vec<u8>,
    /// True if the texts have more tokens than were kept.
    pub truncated: bool,
    /// The number of first tokens that the first text makes with any second one, if the model
    /// computes them once for several: see [`Batch::shared`](crate::model::Batch::shared).
    pub shared: usize,
}
