//! Options of a tree and of a query.

use std::path::PathBuf;
use std::str::FromStr;

use nanoembed::{Encoder, Error, Result, VectorKind};
use nanoembed_ranking::DEPTH;

use crate::cutting::Cutting;
use crate::store::cache_folder;
use crate::walk::Walk;

/// The files of a tree, and the way that they are read.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Which files of folders are wanted.
    pub walk: Walk,
    /// How texts are cut into passages.
    pub cutting: Cutting,
    /// The folder where indices are kept, such as [`cache_folder`](crate::cache_folder). Without one,
    /// every text is embedded again.
    pub store: Option<PathBuf>,
    /// True if the index of a folder is kept in its own folder `.nanoembed`, where later searches find
    /// it. The key of its user is kept in `store`.
    pub in_folder: bool,
    /// True if dense vectors are made. Without them passages are found only by words and sparse
    /// vectors.
    pub vectors: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        let (walk, cutting) = (Walk::default(), Cutting::default());
        Self { walk, cutting, store: None, in_folder: false, vectors: true }
    }
}

impl TreeOptions {
    /// The files that are wanted, without those of indices.
    pub(crate) fn texts(&self) -> Walk {
        self.walk.clone().without(self.store.as_deref())
    }
}

/// The ways to find passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Words and meaning together.
    #[default]
    Both,
    /// Words alone.
    Words,
    /// Meaning alone.
    Meaning,
}

impl TreeOptions {
    /// The options for a query to all files, with an index in the user's folder for caches.
    #[must_use]
    pub fn for_query(query: &Query<'_>, encoder: &Encoder) -> Self {
        Self { store: cache_folder(), vectors: query.is_dense(encoder), ..Self::default() }
    }
}

impl FromStr for By {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "both" => Ok(Self::Both),
            "words" => Ok(Self::Words),
            "meaning" => Ok(Self::Meaning),
            _ => Err(Error::argument("by", "is both, words or meaning")),
        }
    }
}

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Its words.
    pub text: &'q str,
    /// How passages are found.
    pub by: By,
    /// The kind of vectors; if `None`, the kind that the model is made for.
    pub vectors: Option<VectorKind>,
    /// The share of meaning in scores, from 0 to 1; if `None`, [`WEIGHT`](crate::WEIGHT), or less of
    /// the built-in model for other languages than English.
    pub weight: Option<f32>,
    /// The number of best passages by words, and by meaning, that are ranked together.
    pub depth: usize,
}

impl<'q> Query<'q> {
    /// A query by words and meaning.
    #[must_use]
    pub const fn new(text: &'q str) -> Self {
        Self { text, by: By::Both, vectors: None, weight: None, depth: DEPTH }
    }

    /// The same query for at least `count` answers.
    #[must_use]
    pub fn at_least(self, count: usize) -> Self {
        Self { depth: DEPTH.max(count), ..self }
    }

    /// Checks that there is something to look for.
    ///
    /// # Errors
    ///
    /// Fails for a query of nothing but blanks.
    pub fn check(&self) -> Result<()> {
        match self.text.trim().is_empty() {
            true => Err(Error::usage("the query is empty")),
            false => Ok(()),
        }
    }

    /// True if it compares dense vectors, which a tree has by [`TreeOptions::vectors`].
    #[must_use]
    pub fn is_dense(&self, encoder: &Encoder) -> bool {
        let kind = self.vectors.unwrap_or_else(|| encoder.vector_kind());
        self.by != By::Words && kind == VectorKind::Dense
    }
}
