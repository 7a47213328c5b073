//! Options of a cross-encoder.

use std::path::Path;
use std::sync::Arc;

use super::CrossEncoder;
use crate::error::Result;
use crate::files::literal;
use crate::folder::prompts::Prefix;
use crate::limits::Limits;
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::{Reading, reading_options};
use crate::open::source::Source;

/// Options of a cross-encoder; those that are not set are the folder's.
#[derive(Clone, Debug, Default)]
pub struct CrossEncoderOptions {
    pub(crate) max_tokens: Option<usize>,
    pub(crate) limits: Limits,
    pub(crate) prompt: Prefix,
    reading: Reading,
}

impl CrossEncoderOptions {
    /// The number of tokens of both texts together that are used, instead of that of the model's
    /// training.
    #[must_use]
    pub fn max_tokens(self, tokens: impl Into<Option<usize>>) -> Self {
        Self { max_tokens: tokens.into(), ..self }
    }

    /// The instruction to a reranker whose chat template has a place for one, instead of the
    /// model's default prompt; an empty text stands for the template's own.
    #[must_use]
    pub fn prompt(self, prompt: Prefix) -> Self {
        Self { prompt, ..self }
    }

    /// Limits on the memory that the file makes the library take, instead of the defaults of
    /// [`Limits`].
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    reading_options!("CrossEncoder::warnings");

    /// Opens a model: see [`CrossEncoder::open`].
    ///
    /// # Errors
    ///
    /// As [`CrossEncoder::open`]; [`Kind::Usage`](crate::Kind::Usage) for what this model does not
    /// have; [`Kind::NotFound`](crate::Kind::NotFound) for a prompt that it does not have.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<CrossEncoder> {
        self.open_source(Source::open_with(&literal(path.as_ref()), &self.reading)?)
    }

    #[doc(hidden)]
    pub fn open_source(&self, source: Source) -> Result<CrossEncoder> {
        CrossEncoder::from_opened(&LoadedModel::within(&Arc::new(source), &self.limits)?, self)
    }
}
