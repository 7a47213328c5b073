//! The similarity measure for which a model was trained.

use crate::text::json::{Object, Read, is};

/// The key in `config_sentence_transformers.json`, and in the metadata of files converted from such
/// folders.
pub const SIMILARITY: &str = "similarity_fn_name";

/// A similarity measure of two vectors; larger values mean more similar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Similarity {
    /// The cosine of the angle between them.
    #[default]
    Cosine,
    /// Their dot product.
    Dot,
    /// Their negated Euclidean distance.
    Euclidean,
    /// Their negated Manhattan distance.
    Manhattan,
    /// The sum over one's vectors of the largest dot product with the other's, of models that make
    /// a vector for each token.
    MaxSim,
}

impl Similarity {
    const ALL: [Self; 5] =
        [Self::Cosine, Self::Dot, Self::Euclidean, Self::Manhattan, Self::MaxSim];

    /// The name in sentence-transformers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
            Self::Euclidean => "euclidean",
            Self::Manhattan => "manhattan",
            Self::MaxSim => "MaxSim",
        }
    }

    pub(super) fn from_config<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let Some(name) = config.text(SIMILARITY)? else { return Ok(Self::default()) };
        let found = Self::ALL.into_iter().find(|known| is(name, known.name()));
        // PyLate spells it in another way than sentence-transformers.
        let found = found.or(is(name, "maxsim").then_some(Self::MaxSim));
        found.ok_or_else(|| {
            config.unsupported(SIMILARITY, "cosine, dot, euclidean, manhattan and MaxSim are known")
        })
    }

    /// The measure with this name; the cosine for unknown names.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|known| known.name() == name).unwrap_or_default()
    }
}
