//! Options of an encoder.

use std::path::Path;
use std::sync::Arc;

use super::Encoder;
use crate::bytes::Bytes;
use crate::choice::choices;
use crate::error::Result;
use crate::files::literal;
use crate::folder::prompts::Prefix;
use crate::limits::Limits;
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::{Reading, reading_options};
use crate::open::source::Source;
use crate::role::Role;

choices! {
    /// The pooling of the hidden states of a causal model into one vector.
    #[non_exhaustive]
    pub enum Pooling {
        /// The mean over all tokens
        Mean = "mean",
        /// The state of the last token, which has seen all others
        Last = "last",
    }
}

/// Options of an encoder; those that are not set are those of the model's file.
///
/// ```
/// use nanoembed::Encoder;
///
/// let path = "../ffi/tests/data/small_bert.weights";
/// let encoder = Encoder::options().max_tokens(16).truncate_dim(8).open(path)?;
/// assert_eq!(encoder.embed("How do I reset my password?")?.len(), 8);
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    pub(super) max_tokens: Option<usize>,
    pub(super) truncate_dim: Option<usize>,
    pub(super) threads: Option<usize>,
    pub(super) precise: bool,
    pub(super) requantize: bool,
    pub(super) normalize: bool,
    pub(super) pooling: Option<Pooling>,
    pub(super) prompt: Prefix,
    pub(super) limits: Limits,
    reading: Reading,
}

impl EncoderOptions {
    /// The number of tokens of a text that are used, instead of that of the model's training.
    #[must_use]
    pub fn max_tokens(self, tokens: impl Into<Option<usize>>) -> Self {
        Self { max_tokens: tokens.into(), ..self }
    }

    /// Keeps only the first numbers of every vector, for models made for it. They are as the model
    /// has them: see [`normalize`](Self::normalize).
    #[must_use]
    pub fn truncate_dim(self, dimensions: impl Into<Option<usize>>) -> Self {
        Self { truncate_dim: dimensions.into(), ..self }
    }

    /// The number of threads that embed several texts, instead of those of rayon's global pool.
    #[must_use]
    pub fn threads(self, threads: impl Into<Option<usize>>) -> Self {
        Self { threads: threads.into(), ..self }
    }

    /// Computes in 32-bit floats throughout, also where weights are integers of 8 bits or fewer:
    /// slower, and a little nearer to the original model.
    #[must_use]
    pub const fn precise(mut self, precise: bool) -> Self {
        self.precise = precise;
        self
    }

    /// Requantises weights to bytes when the model is opened, and computes in integers: faster,
    /// with a byte more of memory for each weight. It is made for encoders in blocks of few bits.
    #[must_use]
    pub const fn requantize(mut self, requantize: bool) -> Self {
        self.requantize = requantize;
        self
    }

    /// Brings every vector to length 1 at the end, whatever the model does itself and how many of
    /// its numbers are kept.
    #[must_use]
    pub const fn normalize(mut self, normalize: bool) -> Self {
        self.normalize = normalize;
        self
    }

    /// The pooling of the states of a causal model's tokens into one vector.
    #[must_use]
    pub fn pooling(self, pooling: impl Into<Option<Pooling>>) -> Self {
        Self { pooling: pooling.into(), ..self }
    }

    /// The prompt before every text, including queries and documents. With [`Prefix::Query`] or
    /// [`Prefix::Document`], all texts also take that route through a model with a Router.
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

    reading_options!("Encoder::warnings");

    /// Opens a model: see [`Encoder::open`].
    ///
    /// # Errors
    ///
    /// As [`Encoder::open`], and [`Kind::Usage`](crate::Kind::Usage) for what this model does not
    /// have.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Encoder> {
        let reading = self.reading.in_role(Role::from_prompt(&self.prompt));
        self.open_source(Source::open_with(&literal(path.as_ref()), &reading)?)
    }

    /// A model in memory: see [`Encoder::from_bytes`].
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Encoder> {
        self.open_source(Source::from_bytes_with(bytes, &self.reading)?)
    }

    /// The model that is part of the program: see [`Encoder::built_in`].
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open) and [`Encoder::built_in`].
    pub fn built_in(&self) -> Result<Encoder> {
        self.reading.check_without_folder()?;
        self.open_source(Source::built_in()?)
    }

    #[doc(hidden)]
    pub fn open_source(&self, source: Source) -> Result<Encoder> {
        Encoder::from_opened(&LoadedModel::within(&Arc::new(source), &self.limits)?, self)
    }
}
