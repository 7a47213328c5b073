//! Sparse vectors: weights for some tokens of the vocabulary.

use nanoembed_core::owned::SparseVector;

use super::Encoder;
use super::backend::Length;
use super::vector_kind::VectorKind;
use crate::error::Result;
use crate::progress::{Observer, Silent};
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
        self.embed_sparse_watched(role, texts, &Silent)
    }

    /// The same; `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed_sparse`](Self::embed_sparse), and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_sparse_watched<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        observer: &dyn Observer,
    ) -> Result<(Vec<SparseVector>, Vec<Length>)> {
        self.embed_others(VectorKind::Sparse, (role, texts), observer, |backend, texts| {
            backend.embed_sparse(texts, observer)
        })
    }

    /// True if there is a token of this id; faster than [`token`](Self::token).
    #[must_use]
    pub fn has_token(&self, id: u32) -> bool {
        self.0.backend.has_token(id)
    }

    /// A token as the vocabulary spells it, such as an index of a sparse vector; `None` for an id
    /// beyond the vocabulary.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.0.backend.token(id)
    }
}
