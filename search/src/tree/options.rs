//! Options of a tree and of a query.

use std::path::PathBuf;

use nanoembed::VectorKind;

use crate::content::Cutting;
use crate::rank::DEPTH;
use crate::walk::Walk;

/// The files of a tree, and the way that they are read.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// The files of folders that are wanted.
    pub walk: Walk,
    /// The way that texts become passages.
    pub cutting: Cutting,
    /// The folder where indices are kept, such as [`cache_folder`](crate::cache_folder); without
    /// one, everything is embedded again.
    pub store: Option<PathBuf>,
    /// Makes dense vectors, without which passages are found by words and sparse vectors alone.
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
    /// The way that passages are found.
    pub by: By,
    /// The kind of vectors; what the model is made for if there is none.
    pub vectors: Option<VectorKind>,
    /// The share of meaning beside words; [`WEIGHT`](crate::WEIGHT) if there is none.
    pub weight: Option<f32>,
    /// True if the model is the built-in one, whose meaning counts less beside words for other
    /// languages than English.
    pub is_built_in: bool,
    /// The passages that count by each kind of score.
    pub depth: usize,
}

impl<'q> Query<'q> {
    /// A query by words and meaning.
    #[must_use]
    pub const fn new(text: &'q str) -> Self {
        Self { text, by: By::Both, vectors: None, weight: None, is_built_in: false, depth: DEPTH }
    }
}
