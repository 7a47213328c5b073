//! A vector for each token of a text, for late interaction.

use nanoembed_core::kernel::{self, max_sim};
use nanoembed_core::owned::LateSide;
use rayon::prelude::*;

use super::Encoder;
use super::backend::Length;
use super::vector_kind::VectorKind;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::progress::{Observer, Progress, Silent};
use crate::role::Role;

impl Encoder {
    /// The number of elements of a token's vector; 0 if the model does not
    /// [make](Self::makes) one for each token.
    #[must_use]
    pub fn multi_dimensions(&self) -> usize {
        self.0.backend.multi_dimensions()
    }

    /// Returns true if the model makes other vectors of a query than of a document: the role of a
    /// text is then needed for [`embed_multi_all_as`](Self::embed_multi_all_as).
    #[must_use]
    pub fn tells_sides(&self) -> bool {
        self.0.backend.tells_sides()
    }

    /// The largest number of tokens of a text of `role` for which the model can make vectors: its
    /// [positions](Self::positions), or fewer if its files say so.
    #[must_use]
    pub fn multi_positions(&self, role: Role) -> usize {
        let limit = self.late_side(role).and_then(|side| self.0.backend.multi_limit(side));
        limit.unwrap_or(usize::MAX).min(self.positions())
    }

    /// The side of late interaction that texts of `role` are on; `None` if neither `role` nor the
    /// prompt tells.
    fn late_side(&self, role: Role) -> Option<LateSide> {
        match (Role::from_prompt(&self.0.prompt), role) {
            (Role::Query, _) | (Role::Text, Role::Query) => Some(LateSide::Query),
            (Role::Text, Role::Text) => None,
            _ => Some(LateSide::Document),
        }
    }

    /// A vector for each token of a question, of a model that [makes](Self::makes) them: ColBERT, or
    /// BGE-M3 beside its dense vectors. Each has length 1.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`ErrorKind::OtherModel`](crate::ErrorKind::OtherModel) for other
    /// models.
    pub fn embed_multi_query(&self, text: &str) -> Result<Vectors> {
        let (vectors, _) = self.embed_multi_all_as(Role::Query, &[text])?;
        let none = || Error::bad_input("the model's vectors are empty");
        vectors.into_iter().next().ok_or_else(none)
    }

    /// Vectors for the tokens of texts that answer questions, in their order, on all threads.
    ///
    /// # Errors
    ///
    /// As [`embed_multi_query`](Self::embed_multi_query).
    pub fn embed_multi_documents<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<Vectors>> {
        self.embed_multi_all_as(Role::Document, texts).map(|(vectors, _)| vectors)
    }

    /// Vectors for the tokens of texts of a role, and how much of each text was embedded.
    ///
    /// # Errors
    ///
    /// As [`embed_multi_query`](Self::embed_multi_query); [`Kind::Usage`](crate::Kind::Usage) for
    /// texts without a role if the model [tells them apart](Self::tells_sides).
    pub fn embed_multi_all_as<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
    ) -> Result<(Vec<Vectors>, Vec<Length>)> {
        self.embed_multi_watched(role, texts, &Silent)
    }

    /// The same; `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed_multi_all_as`](Self::embed_multi_all_as), and
    /// [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_multi_watched<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        observer: &dyn Observer,
    ) -> Result<(Vec<Vectors>, Vec<Length>)> {
        let side = match self.late_side(role) {
            Some(side) => side,
            None if self.tells_sides() => {
                let message =
                    "is needed: the model makes other vectors of a query than of a document";
                return Err(Error::argument("as", message).with_hint(
                    "`--as query` for questions, `--as document` for texts that answer",
                ));
            }
            None => LateSide::Document,
        };
        let (vectors, lengths) =
            self.embed_others(VectorKind::Multi, (role, texts), observer, |backend, texts| {
                backend.embed_multi(texts, side, observer)
            })?;
        let vectors =
            vectors.into_iter().filter_map(|values| Vectors::new(self.multi_dimensions(), values));
        Ok((vectors.collect(), lengths))
    }
}

impl Vectors {
    /// How well a document answers these vectors of a question: the sum over them of the largest dot
    /// product with one of the document's; 0 if the document has none, or vectors of another size.
    #[must_use]
    pub fn max_sim(&self, document: &Self) -> f32 {
        if self.dimensions() != document.dimensions() {
            return 0.0;
        }
        max_sim::max_sim(&kernel::detect(), self.dimensions(), self.as_slice(), document.as_slice())
    }
}

/// The [MaxSim](Vectors::max_sim) of each of `queries` and each of `documents`, those of a query one
/// after the other, on all threads. `observer` receives the number of finished documents, and may
/// cancel the rest.
///
/// # Errors
///
/// [`Kind::Cancelled`](crate::Kind::Cancelled).
pub fn max_sim_all(
    queries: &[Vectors],
    documents: &[Vectors],
    observer: &dyn Observer,
) -> Result<Vec<f32>> {
    let progress = Progress::texts(observer, "comparing", Some(documents.len() as u64));
    let columns = documents.par_iter().map(|document| {
        if observer.is_cancelled() {
            return Err(Error::cancelled());
        }
        let scores: Vec<f32> = queries.iter().map(|query| query.max_sim(document)).collect();
        observer.advance(1);
        Ok(scores)
    });
    let columns: Vec<Vec<f32>> = columns.collect::<Result<_>>()?;
    drop(progress);
    let row = |query| columns.iter().filter_map(move |column| column.get(query).copied());
    Ok((0..queries.len()).flat_map(row).collect())
}
