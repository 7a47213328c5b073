//! Whatever a file holds.

use std::path::Path;
use std::sync::Arc;

use nanoembed_core::event::Format;
use nanoembed_core::format::{SNIFF_BYTES, sniff};

use crate::bytes::Bytes;
use crate::cross_encoder::CrossEncoder;
use crate::encoder::{Encoder, EncoderOptions};
use crate::error::{Error, Result};
use crate::files::literal;
use crate::generator::{Generator, GeneratorOptions};
use crate::limits::Limits;
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::{Reading, reading_options};
use crate::open::source::Source;
use crate::words::Words;
use crate::words::read::start::Start;

/// A model of any kind, told by the content of its file.
///
/// ```
/// use nanoembed::Model;
///
/// match Model::open("../ffi/tests/data/words.fifu")? {
///     Model::Encoder(encoder) => println!("embeds in {} dimensions", encoder.dimensions()),
///     Model::Generator(generator) => println!("continues {} tokens", generator.positions()),
///     Model::Words(words) => println!("has {} words", words.len()),
///     _ => println!("is something else"),
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// It embeds texts.
    Encoder(Encoder),
    /// It compares two texts.
    CrossEncoder(CrossEncoder),
    /// It continues texts; [`Encoder::open`] makes it embed them.
    Generator(Generator),
    /// It has vectors of words.
    Words(Words),
}

impl Model {
    /// Opens a model file or folder, or a file of word vectors.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid, or if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// A model in memory: the bytes of a `.weights`, `.amb` or GGUF file, or of a file of word
    /// vectors.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::options().from_bytes(bytes)
    }

    /// Options to open a file with whose content is not known yet.
    #[must_use]
    pub fn options() -> ModelOptions {
        ModelOptions::default()
    }

    /// A warning for each unknown setting that was passed over: see
    /// [`ModelOptions::allow_unknown`].
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Encoder(model) => model.warnings(),
            Self::CrossEncoder(model) => model.warnings(),
            Self::Generator(model) => model.warnings(),
            Self::Words(_) => Vec::new(),
        }
    }

    /// True if a file has word vectors, by its first bytes. A format that the core knows is none,
    /// whatever its bytes look like as text.
    fn is_words(start: &Start<'_>) -> bool {
        let head = start.head.get(..SNIFF_BYTES).unwrap_or(&start.head);
        match sniff(head) {
            Some(format) => format == Format::Finalfusion,
            None => start.form().is_some(),
        }
    }
}

/// Options for opening a file of any kind. Options that a model of its kind does not have are
/// refused by name.
///
/// ```
/// use nanoembed::Model;
///
/// let options = Model::options().max_tokens(16);
/// assert!(matches!(options.open("../ffi/tests/data/small_bert.weights")?, Model::Encoder(_)));
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    max_tokens: Option<usize>,
    precise: bool,
    requantize: bool,
    memory: Option<u64>,
    limits: Limits,
    reading: Reading,
}

impl ModelOptions {
    /// The number of tokens of a text that are embedded, or of two that are compared.
    #[must_use]
    pub fn max_tokens(self, tokens: impl Into<Option<usize>>) -> Self {
        Self { max_tokens: tokens.into(), ..self }
    }

    /// See [`EncoderOptions::precise`] and [`GeneratorOptions::precise`].
    #[must_use]
    pub const fn precise(mut self, precise: bool) -> Self {
        self.precise = precise;
        self
    }

    /// See [`EncoderOptions::requantize`].
    #[must_use]
    pub const fn requantize(mut self, requantize: bool) -> Self {
        self.requantize = requantize;
        self
    }

    /// See [`GeneratorOptions::memory`].
    #[must_use]
    pub fn memory(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { memory: bytes.into(), ..self }
    }

    /// Limits on the memory that the file makes the library take, instead of the defaults of
    /// [`Limits`]. `session_bytes` does not count for word vectors, nor beside
    /// [`memory`](Self::memory).
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    reading_options!("Model::warnings");

    /// The options of a model that embeds.
    #[must_use]
    pub fn encoder(&self) -> EncoderOptions {
        let options = Encoder::options().max_tokens(self.max_tokens).limits(self.limits);
        let options = options.precise(self.precise).requantize(self.requantize);
        options.reading(self.reading.clone())
    }

    /// Opens a file or folder: see [`Model::open`].
    ///
    /// # Errors
    ///
    /// As [`Model::open`], and [`Kind::Usage`](crate::Kind::Usage) for options that a model of this
    /// kind does not have.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Model> {
        let path = &*literal(path.as_ref());
        if path.is_file() && Model::is_words(&Start::open(path)?) {
            self.refuse_all("word vectors")?;
            return Words::options().limits(self.limits).open(path).map(Model::Words);
        }
        let source = Arc::new(Source::open_with(path, &self.reading)?);
        let opened = LoadedModel::within(&source, &self.limits)?;
        match self.memory {
            Some(_) if opened.is_causal() => {
                self.generator()?.memory(self.memory).open(path).map(Model::Generator)
            }
            _ => self.model(&opened),
        }
    }

    /// A model in memory: see [`Model::from_bytes`].
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Model> {
        let bytes = bytes.into();
        if Model::is_words(&Start::from_bytes("the file", &bytes)) {
            self.refuse_all("word vectors")?;
            return Words::options().limits(self.limits).from_bytes(bytes).map(Model::Words);
        }
        let source = Arc::new(Source::from_bytes_with(bytes, &self.reading)?);
        self.model(&LoadedModel::within(&source, &self.limits)?)
    }

    /// The model that is part of the program: see [`Encoder::built_in`].
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open) and [`Encoder::built_in`].
    pub fn built_in(&self) -> Result<Model> {
        self.reading.check_without_folder()?;
        self.model(&LoadedModel::within(&Arc::new(Source::built_in()?), &self.limits)?)
    }

    /// The opened model, all of it in memory or mapped.
    fn model(&self, opened: &LoadedModel<'_>) -> Result<Model> {
        if self.memory.is_some() {
            let message = "is for files of models that continue texts";
            return Err(Error::argument("memory", message));
        }
        if opened.is_causal() {
            return Generator::with(opened, self.generator()?).map(Model::Generator);
        }
        if opened.described().is_some_and(|text| text.model().compares()) {
            Self::refuse(self.precise, "precise", "cross-encoders")?;
            Self::refuse(self.requantize, "requantize", "cross-encoders")?;
            let options = CrossEncoder::options().max_tokens(self.max_tokens).limits(self.limits);
            return CrossEncoder::from_opened(opened, &options).map(Model::CrossEncoder);
        }
        Encoder::from_opened(opened, &self.encoder()).map(Model::Encoder)
    }

    fn generator(&self) -> Result<GeneratorOptions> {
        Self::refuse(self.requantize, "requantize", "models that continue texts")?;
        Ok(Generator::options().precise(self.precise).limits(self.limits))
    }

    fn refuse_all(&self, kind: &str) -> Result<()> {
        Self::refuse(self.max_tokens.is_some(), "max_tokens", kind)?;
        Self::refuse(self.precise, "precise", kind)?;
        Self::refuse(self.requantize, "requantize", kind)?;
        Self::refuse(self.reading.adapter.is_some(), "adapter", kind)?;
        Self::refuse(self.memory.is_some(), "memory", kind)
    }

    fn refuse(is_given: bool, name: &'static str, kind: &str) -> Result<()> {
        match is_given {
            true => Err(Error::argument(name, format!("is not for {kind}"))),
            false => Ok(()),
        }
    }
}
