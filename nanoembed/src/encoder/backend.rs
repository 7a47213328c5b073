//! Operations that an encoder needs of its models.

use std::borrow::Cow;

use nanoembed_core::owned::{self, LateSide, Prompt, SparseVector};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::vector_kind::VectorKind;
use crate::progress::Observer;
use crate::tokenizer::Tokens;

/// The part of a text that was embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Length {
    /// The number of tokens, special tokens included.
    pub tokens: usize,
    /// True if the text has more tokens.
    pub truncated: bool,
}

impl Length {
    pub(super) const fn from_tokens(tokens: &Tokens) -> Self {
        Self { tokens: tokens.ids.len(), truncated: tokens.truncated }
    }
}

/// Vectors of the model's size, one after the other, and the lengths of the texts.
pub(super) struct Batch {
    pub(super) values: Vec<f32>,
    pub(super) lengths: Vec<Length>,
}

/// A vector of another kind for each text, and the lengths of the texts.
pub(super) struct Others<V> {
    pub(super) vectors: Vec<V>,
    pub(super) lengths: Vec<Length>,
}

const OTHER_MODEL: CoreError = CoreError::without_offset(ErrorKind::OtherModel);

/// A model that makes embeddings of texts.
pub(super) trait Backend: Send + Sync {
    /// Elements of a dense vector; 0 if the model makes none.
    fn dimensions(&self) -> usize;

    /// The most tokens of a text that it can use.
    fn positions(&self) -> usize;

    /// The number of tokens of a text that it uses.
    fn max_tokens(&self) -> usize;

    /// The token ids of `text` that are embedded.
    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError>;

    /// A prompt whose tokens are left out of the vector, ready to stand before texts, if the model
    /// can do that.
    fn prompt(&self, prompt: &str) -> Result<Prompt, CoreError> {
        let _ = prompt;
        Err(CoreError::without_offset(ErrorKind::UnsupportedSetting))
    }

    /// Scratch memory for one text after the other; `None` if it takes memory for each text.
    fn session(&self) -> Result<Option<owned::Session>, CoreError> {
        Ok(None)
    }

    /// The embedding of `text` into `out`, on this thread, in memory of
    /// [`session`](Self::session) or, without it, of a pool. Its first `skipped` tokens are left
    /// out.
    fn embed(
        &self,
        session: Option<&mut owned::Session>,
        text: &str,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError>;

    /// The embeddings of `texts`, in their order, on all threads. `observer` is told of each that
    /// is done; after it cancels, the vectors are unspecified.
    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError>;

    /// The embeddings of texts whose token ids are known, one after the other, on all threads.
    fn embed_ids(
        &self,
        texts: &[&[u32]],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Vec<f32>, CoreError>;

    /// The number of tokens of all of `text`, special tokens included.
    fn count_tokens(&self, text: &str) -> Result<usize, CoreError>;

    /// Returns true if the model makes vectors of this kind.
    fn makes(&self, kind: VectorKind) -> bool {
        kind == VectorKind::Dense
    }

    /// The sparse vectors of `texts`, in their order, on all threads.
    fn embed_sparse(
        &self,
        texts: &[Cow<'_, str>],
        observer: &dyn Observer,
    ) -> Result<Others<SparseVector>, CoreError> {
        let _ = (texts, observer);
        Err(OTHER_MODEL)
    }

    /// Elements of a token's vector; 0 if the model does not make one for each.
    fn multi_dimensions(&self) -> usize {
        0
    }

    /// Returns true if queries and documents become different tokens.
    fn tells_sides(&self) -> bool {
        false
    }

    /// The largest number of tokens of a text on this side of late interaction; `None` if the model's
    /// files state none.
    fn multi_limit(&self, _side: LateSide) -> Option<usize> {
        None
    }

    /// The vectors of the tokens of `texts`, all numbers of each text one after the other, in their
    /// order, on all threads.
    fn embed_multi(
        &self,
        texts: &[Cow<'_, str>],
        side: LateSide,
        observer: &dyn Observer,
    ) -> Result<Others<Vec<f32>>, CoreError> {
        let _ = (texts, side, observer);
        Err(OTHER_MODEL)
    }

    /// True if there is a token of this id.
    fn has_token(&self, id: u32) -> bool;

    /// A token as the vocabulary spells it.
    fn token(&self, id: u32) -> Option<String>;

    /// The text of token ids, without special tokens.
    fn decode(&self, ids: &[u32]) -> Result<String, CoreError>;
}
