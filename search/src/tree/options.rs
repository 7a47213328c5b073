//! Options of a tree and of a query.

use std::path::PathBuf;

use nanoembed::VectorKind;

use crate::content::Cutting;
use crate::rank::DEPTH;
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
    /// True if dense vectors are made. Without them passages are found only by words and sparse
    /// vectors.
    pub vectors: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        let (walk, cutting) = (Walk::default(), Cutting::default());
        Self { walk, cutting, store: None, vectors: true }
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

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Its words.
    pub text: &'q str,
    /// How passages are found.
    pub by: By,
    /// The kind of vectors; if `None`, the kind that the model is made for.
    pub vectors: Option<VectorKind>,
    /// The share of meaning in scores, from 0 to 1; if `None`, [`WEIGHT`](crate::WEIGHT).
    pub weight: Option<f32>,
    /// True if the model is the built-in one, whose meaning counts less beside words for other
    /// languages than English.
    pub is_built_in: bool,
    /// The number of best passages by words, and by meaning, that are ranked together.
    pub depth: usize,
}

impl<'q> Query<'q> {
    /// A query by words and meaning.
    #[must_use]
    pub const fn new(text: &'q str) -> Self {
        Self { text, by: By::Both, vectors: None, weight: None, is_built_in: false, depth: DEPTH }
    }
}
