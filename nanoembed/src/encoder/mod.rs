//! Texts in, embeddings out, on as many threads as there are.
//!
//! | file | role |
//! |---|---|
//! | `options` | how a model is to embed |
//! | `backend` | what is asked of a model |
//! | `packed` | transformers, which take short texts together |
//! | `table` | tables of a vector for each token |
//! | `causal` | the pooled states of a model that continues texts |
//! | `session` | one text at a time in memory of one's own |
//! | `vectors` | embeddings, and the nearest among them |
//! | `precision` | embeddings in fewer bytes |

mod backend;
mod causal;
mod options;
pub(crate) mod packed;
pub mod precision;
mod session;
mod table;
mod vectors;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::owned::folder::Described;
use nanoembed_core::owned::{AnyEncoder, Prompt};
use nanoembed_core::{Error as CoreError, ErrorKind};
use rayon::ThreadPool;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::open::opened::Opened;
use crate::open::prompts::{Prefix, Prompts};
use crate::open::source::Source;
use crate::open::text_source::TextSource;
use crate::progress::{Observer, Progress, Silent};
use crate::tokenizer::Tokens;
use backend::{Backend, Batch};
use causal::CausalEncoder;
use packed::{Model, PackedEncoder};
use table::TableEncoder;

pub use backend::Length;
pub use options::{EncoderOptions, Pooling};
pub use precision::Precision;
pub use session::Session;
pub use vectors::{Hit, Vectors, cosine};

/// A model that turns texts into embeddings: vectors that are alike where the texts' meanings are.
///
/// Clones share the model, and threads may share one: scratch memory comes from a pool.
///
/// ```
/// use nanoembed::Encoder;
///
/// let encoder = Encoder::open("../ffi/tests/data/small_bert.weights")?;
/// let lines = ["a cat on a mat", "the price of oil", "cats and dogs"];
/// let vectors = encoder.embed_documents(&lines)?;
/// let query = encoder.embed_query("a dog")?;
/// for hit in vectors.nearest(&query, 2) {
///     println!("{:.3}  {}", hit.similarity, lines[hit.index]);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Encoder(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    backend: Arc<dyn Backend>,
    source: Arc<Source>,
    /// Elements of the model's vectors that are kept.
    dimensions: usize,
    /// Whether every vector is brought to length 1 at the end.
    normalize: bool,
    prompts: Arc<Prompts>,
    prompt: Prefix,
    threads: Option<Arc<ThreadPool>>,
}

/// How many texts are tokenised before the first of them is embedded: enough that threads are
/// seldom without work at the end of them, few enough that their tokens take little memory.
const TEXTS_AT_ONCE: usize = 4096;

/// What a text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Nothing that the model would know of.
    #[default]
    Text,
    /// A question.
    Query,
    /// A text that answers questions.
    Document,
}

impl Encoder {
    /// Opens a model: a `.weights`, `.amb`, GGUF or UQFF file, the first of several, or a folder as
    /// on Hugging Face. Models that continue texts embed by their pooled states.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it, or that it could not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// A model in memory: the bytes of a `.weights`, `.amb` or GGUF file.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::options().from_bytes(bytes)
    }

    /// The model that is part of the program: all-MiniLM-L6-v2 with 8-bit weights.
    ///
    /// # Errors
    ///
    /// If the crate was built without the feature `default-model`, or from a registry's package, which
    /// has no room for a model.
    pub fn built_in() -> Result<Self> {
        Self::options().built_in()
    }

    /// Options to open a model with.
    #[must_use]
    pub fn options() -> EncoderOptions {
        EncoderOptions::default()
    }

    pub(crate) fn of(opened: Opened, options: &EncoderOptions) -> Result<Self> {
        let prompts = opened.prompts();
        let source = Arc::clone(opened.source());
        let backend = backend(opened, options)?;
        let dimensions = dimensions(&*backend, options.truncate_dim)?;
        let (prompts, prompt) = (Arc::new(prompts?), options.prompt.clone());
        let normalize = options.normalize;
        let pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|error| Error::argument("threads", format!("{threads}: {error}")))
        };
        let threads = options.threads.map(pool).transpose()?.map(Arc::new);
        let backend = Arc::from(backend);
        let inner = Inner { backend, source, dimensions, normalize, prompts, prompt, threads };
        let encoder = Self(Arc::new(inner));
        encoder.prompt(Role::Text)?;
        Ok(encoder)
    }

    /// The same model with something else before every text: see [`EncoderOptions::prompt`].
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::Kind::NotFound) if the model has no such prompt.
    pub fn with_prompt(&self, prompt: Prefix) -> Result<Self> {
        let encoder = Self(Arc::new(Inner { prompt, ..Inner::clone(&self.0) }));
        encoder.prompt(Role::Text)?;
        Ok(encoder)
    }

    /// The same model with so many numbers of every vector kept: see
    /// [`EncoderOptions::truncate_dim`].
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) if the model's vectors have not so many.
    pub fn with_truncate_dim(&self, dimensions: impl Into<Option<usize>>) -> Result<Self> {
        let dimensions = self::dimensions(&*self.0.backend, dimensions.into())?;
        Ok(Self(Arc::new(Inner { dimensions, ..Inner::clone(&self.0) })))
    }

    /// The same model with vectors of length 1, or as the model has them: see
    /// [`EncoderOptions::normalize`].
    #[must_use]
    pub fn with_normalize(&self, normalize: bool) -> Self {
        Self(Arc::new(Inner { normalize, ..Inner::clone(&self.0) }))
    }

    /// How many numbers an embedding has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.dimensions
    }

    /// The name of the model, as messages have it: its file, or what was opened instead.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.0.source.name()
    }

    /// How many tokens of a text are embedded.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.0.backend.max_tokens()
    }

    /// The most tokens of a text that the model can embed.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.0.backend.positions()
    }

    /// The embedding of a text, computed on this thread: see [`embed_all`](Self::embed_all) for
    /// many texts.
    ///
    /// # Errors
    ///
    /// If memory is refused, or the model's file has been changed under it.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_as(Role::Text, text)
    }

    /// The embedding of a question, behind the prompt that the model has for these.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_as(Role::Query, text)
    }

    fn embed_as(&self, role: Role, text: &str) -> Result<Vec<f32>> {
        let prompt = self.prompt(role)?;
        let mut vector = vec![0.0; self.0.backend.dimensions()];
        let text = &*prompt.before(text);
        let embedded = self.0.backend.embed(None, text, prompt.skipped, &mut vector);
        embedded.map_err(|error| self.failure(error))?;
        self.cut(&mut vector);
        Ok(vector)
    }

    /// The embeddings of several texts, in their order, on all threads.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_all<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vectors> {
        self.embed_all_as(Role::Text, texts).map(|(vectors, _)| vectors)
    }

    /// The embeddings of texts that answer questions, behind the prompt that the model has for
    /// these.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_documents<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vectors> {
        self.embed_all_as(Role::Document, texts).map(|(vectors, _)| vectors)
    }

    /// The embeddings of several texts, in their order, on all threads, and how much of each was
    /// embedded.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_all_as<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
    ) -> Result<(Vectors, Vec<Length>)> {
        let mut values = vec![0.0; texts.len() * self.0.dimensions];
        let lengths = self.embed_into(role, texts, &mut values, &Silent)?;
        // Never refused: rows have the model's size, which is not 0.
        let vectors = Vectors::new(self.0.dimensions, values);
        Ok((vectors.ok_or_else(|| Error::bad_input("the model's vectors are empty"))?, lengths))
    }

    /// The embeddings of several texts into `out`, one behind the other, and how much of each was
    /// embedded. `observer` is told of texts that are done, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`Kind::Usage`](crate::Kind::Usage) if `out` has not as many
    /// numbers as the embeddings; [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_into<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        out: &mut [f32],
        observer: &dyn Observer,
    ) -> Result<Vec<Length>> {
        let width = self.0.dimensions;
        if texts.len().checked_mul(width) != Some(out.len()) {
            let message =
                format!("has {} numbers, not {width} for each of {}", out.len(), texts.len());
            return Err(Error::argument("out", message));
        }
        let mut all_lengths = Vec::with_capacity(texts.len());
        let mut rest = out;
        self.embed_parts(role, texts, observer, |values, lengths| {
            if let Some((part, behind)) =
                std::mem::take(&mut rest).split_at_mut_checked(values.len())
            {
                part.copy_from_slice(values);
                rest = behind;
            }
            all_lengths.extend_from_slice(lengths);
            Ok(())
        })?;
        Ok(all_lengths)
    }

    /// The embeddings of several texts, given to `take` part by part, in their order: vectors one
    /// behind the other, and how much of each text was embedded. No more than a part of them is in
    /// memory. `observer` is told of texts that are done, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed), what `take` says, and
    /// [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn embed_parts<T: AsRef<str> + Sync>(
        &self,
        role: Role,
        texts: &[T],
        observer: &dyn Observer,
        mut take: impl FnMut(&[f32], &[Length]) -> Result<()>,
    ) -> Result<()> {
        let prompt = self.prompt(role)?;
        let progress = Progress::texts(observer, "embedding", Some(texts.len() as u64));
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let texts: Vec<Cow<'_, str>> =
                texts.iter().map(|text| prompt.before(text.as_ref())).collect();
            let embed = || self.0.backend.embed_all(&texts, prompt.skipped, observer);
            let embedded = match &self.0.threads {
                Some(threads) => threads.install(embed),
                None => embed(),
            };
            let Batch { mut values, lengths } = embedded.map_err(|error| self.failure(error))?;
            if observer.is_cancelled() {
                return Err(Error::cancelled());
            }
            self.cut_rows(&mut values);
            take(&values, &lengths)?;
        }
        drop(progress);
        Ok(())
    }

    /// The token ids of a text behind the model's prompt, as many as are embedded.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn tokenize(&self, text: &str) -> Result<Tokens> {
        let prompt = self.prompt(Role::Text)?;
        let tokens = self.0.backend.tokenize(&prompt.before(text));
        tokens.map_err(|error| self.failure(error))
    }

    /// Scratch memory for one text after the other without the pool: for hot loops.
    ///
    /// # Errors
    ///
    /// If memory is refused.
    pub fn session(&self) -> Result<Session> {
        Session::of(self)
    }

    /// What stands before texts of a role.
    fn prompt(&self, role: Role) -> Result<Prompt> {
        let Inner { prompts, prompt, backend, .. } = &*self.0;
        let text = match role {
            Role::Text => prompts.choose(prompt),
            Role::Query => prompts.choose_for(&Prefix::Query, prompt),
            Role::Document => prompts.choose_for(&Prefix::Document, prompt),
        }?;
        if text.is_empty() || prompts.are_pooled() {
            return Ok(Prompt::pooled(&text));
        }
        backend.prompt(&text).map_err(|error| match error.kind() {
            ErrorKind::UnsupportedSetting => prompts.refuse_left_out(),
            _ => self.failure(error),
        })
    }

    /// Cuts a vector of the model to the length that was asked for.
    fn cut(&self, vector: &mut Vec<f32>) {
        vector.truncate(self.0.dimensions);
        if self.0.normalize {
            normalize(vector);
        }
    }

    /// Does the same to vectors one behind the other.
    fn cut_rows(&self, values: &mut Vec<f32>) {
        let (full, width) = (self.0.backend.dimensions(), self.0.dimensions);
        let rows = values.len() / full;
        if width < full {
            for row in 1..rows {
                values.copy_within(row * full..row * full + width, row * width);
            }
            values.truncate(rows * width);
        }
        if self.0.normalize {
            values.chunks_exact_mut(width).for_each(normalize);
        }
    }

    fn failure(&self, error: CoreError) -> Error {
        self.0.source.failure(error)
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("model", &self.0.source.name())
            .field("dimensions", &self.0.dimensions)
            .finish_non_exhaustive()
    }
}

/// How many numbers of the model's vectors are kept.
fn dimensions(backend: &dyn Backend, asked: Option<usize>) -> Result<usize> {
    let full = backend.dimensions();
    let dimensions = asked.unwrap_or(full);
    if (1..=full).contains(&dimensions) {
        return Ok(dimensions);
    }
    Err(Error::argument("truncate_dim", format!("{dimensions} is out of range"))
        .with_hint(format!("this model's vectors have {full} numbers: 1 to {full}")))
}

/// The model in what was opened, ready to run as `options` say.
fn backend(opened: Opened, options: &EncoderOptions) -> Result<Box<dyn Backend>> {
    if opened.is_causal() {
        return Ok(Box::new(CausalEncoder::of(opened.causal()?, options)?));
    }
    if options.pooling.is_some() {
        let message = "is for decoders; an encoder's file says its own";
        return Err(Error::argument("pooling", message));
    }
    if let Some(text) = opened.text() {
        return text_backend(text, options);
    }
    let mut model = opened.embedder()?;
    if options.requantize {
        model.requantize().map_err(|error| opened.source().failure(error))?;
    }
    let model = AnyEncoder::from_bert(model, opened.prompts()?.into_core());
    Ok(Box::new(PackedEncoder::of(Model::of(model), options)?))
}

/// A model of texts, ready to run as `options` say.
fn text_backend(
    source: &TextSource<'static>,
    options: &EncoderOptions,
) -> Result<Box<dyn Backend>> {
    if source.model().compares() {
        let message = "the model compares two texts and embeds none";
        return Err(Error::input(ErrorKind::OtherModel, message)
            .at(source.name())
            .with_hint("`nanoembed rerank` runs it"));
    }
    let is_table = matches!(source.model().described, Described::Table(_));
    if options.requantize && !is_table {
        let message = match source.is_folder() {
            true => "is for files of weights, and this is a folder",
            false => "is for files of BERT, and this model is described by its config.json",
        };
        return Err(Error::argument("requantize", message).with_hint(
            "`nanoembed convert FOLDER OUT.weights --type int8` makes a file of bytes",
        ));
    }
    let model = Model::of(source.open()?);
    Ok(match model.encoder.is_table() {
        true => Box::new(TableEncoder::of(model, options)?),
        false => Box::new(PackedEncoder::of(model, options)?),
    })
}

/// Brings a vector to length 1, if it has any.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "within ±1")]
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}
