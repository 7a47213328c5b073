//! How alike vectors are, by the measure that a model was trained for.

use crate::text::json::{Object, Read, is};

/// The key in `config_sentence_transformers.json`, and in the metadata of files made of such folders.
pub const SIMILARITY: &str = "similarity_fn_name";

/// What is compared of two vectors; the more, the more alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Similarity {
    /// The cosine of the angle between them.
    #[default]
    Cosine,
    /// Their dot product.
    Dot,
    /// Their Euclidean distance, negative.
    Euclidean,
    /// The sum of their elements' distances, negative.
    Manhattan,
}

impl Similarity {
    const ALL: [Self; 4] = [Self::Cosine, Self::Dot, Self::Euclidean, Self::Manhattan];

    /// The name that sentence-transformers gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Dot => "dot",
            Self::Euclidean => "euclidean",
            Self::Manhattan => "manhattan",
        }
    }

    pub(super) fn from_config<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let Some(name) = config.text(SIMILARITY)? else { return Ok(Self::default()) };
        let found = Self::ALL.into_iter().find(|known| is(name, known.name()));
        found.ok_or_else(|| {
            config.unsupported(SIMILARITY, "cosine, dot, euclidean and manhattan are known")
        })
    }

    /// The measure of this name; the cosine for names that are not known.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|known| known.name() == name).unwrap_or_default()
    }
}
