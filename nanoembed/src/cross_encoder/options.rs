//! Options of a cross-encoder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CrossEncoder;
use crate::error::Result;
use crate::files::literal;
use crate::folder::prompts::Prefix;
use crate::limits::Limits;
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::Reading;
use crate::open::source::Source;

/// Options of a cross-encoder; those that are not set are the folder's.
#[derive(Clone, Debug, Default)]
pub struct CrossEncoderOptions {
    pub(super) max_tokens: Option<usize>,
    pub(super) limits: Limits,
    pub(super) prompt: Prefix,
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

    /// Ignores unknown settings of these names, for which the model would be refused, in the texts
    /// of a folder, or of a `.weights` or `.amb` file that keeps them: [`CrossEncoder::warnings`]
    /// lists them.
    #[must_use]
    pub fn allow_unknown(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reading.unknown = names.into_iter().map(Into::into).collect();
        self
    }

    /// Merges the LoRA adapter in a folder into the weights of the model, which has to be in a
    /// folder, too. Texts that the adapter's folder has are used instead of the model's.
    #[must_use]
    pub fn adapter(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.reading.adapter = folder.into();
        self
    }

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
