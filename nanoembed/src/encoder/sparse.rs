//! Sparse vectors: weights for some tokens of the vocabulary.

use std::borrow::Cow;

use nanoembed_core::owned::SparseVector;

use super::Encoder;
use super::backend::Length;
use super::embed::TEXTS_AT_ONCE;
use super::vector_kind::VectorKind;
use crate::error::Result;
use crate::progress::Silent;
use crate::role::Role;

impl Encoder {
    /// The sparse vector of a text, of a model that [makes](Self::makes) such vectors: SPLADE, or
    /// BGE-M3 beside its dense vectors.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`ErrorKind::OtherModel`](crate::ErrorKind::OtherModel) for other
    /// models.
    pub fn embed_sparse(&self, text: &str) -> Result<SparseVector> {
        let (vectors, _) = self.embed_sparse_all_as(Role::Text, &[text])?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    /// The sparse vectors of several texts, in their order, on all threads.
    ///
    /// # Errors
    ///
    /// As [`embed_sparse`](Self::embed_sparse).
    pub fn embed_sparse_all<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<SparseVector>> {
        self.embed_sparse_all_as(Role::Text, texts).map(|(vectors, _)| vectors)
    }

    /// The same for texts of a role, and how much of each text was embedded.
    ///
    /// # Errors
    ///
    /// As [`embed_sparse`](Self::embed_sparse).
    pub fn embed_sparse_all_as<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
    ) -> Result<(Vec<SparseVector>, Vec<Length>)> {
        self.check_kind(VectorKind::Sparse)?;
        let encoder = self.for_texts(role)?;
        let prompt = encoder.prompt(role)?;
        if prompt.skipped > 0 {
            return Err(encoder.0.prompts.refuse_left_out());
        }
        let (mut vectors, mut lengths) = (Vec::new(), Vec::new());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let texts = texts.iter().map(|text| prompt.before(text.as_ref()));
            let texts: Vec<Cow<'_, str>> =
                texts.collect::<Result<_, _>>().map_err(|error| encoder.failure(error))?;
            let embed = || encoder.0.backend.embed_sparse(&texts, &Silent);
            let embedded = match &self.0.threads {
                Some(threads) => threads.install(embed),
                None => embed(),
            };
            let embedded = embedded.map_err(|error| encoder.failure(error))?;
            vectors.extend(embedded.vectors);
            lengths.extend(embedded.lengths);
        }
        Ok((vectors, lengths))
    }

    /// A token as the vocabulary spells it, such as an index of a sparse vector; `None` for an id
    /// beyond the vocabulary.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.0.backend.token(id)
    }
}
