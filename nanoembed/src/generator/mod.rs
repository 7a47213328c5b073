//! Texts that go on.
//!
//! | file | role |
//! |---|---|
//! | `prompt` | texts to be continued |
//! | `message`, `chat` | messages, and the prompt that they become |
//! | `sampling`, `penalties` | the choice of the next token |
//! | `memory`, `structure` | a decoder in so much memory |
//! | `pieces` | the continuation, piece after piece |

mod chat;
mod memory;
mod message;
mod penalties;
mod pieces;
mod prompt;
mod sampling;
mod stops;
mod structure;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::model::llama::{Activations, Output};
use nanoembed_core::owned::CausalSession;
use nanoembed_core::top::Scored;

use crate::bytes::Bytes;
use crate::causal::model::{Purpose, TOKENS_AT_ONCE};
use crate::error::{Error, Result};
use crate::files::literal;
use crate::limits::Limits;
use crate::open::causal::Causal;
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::Reading;
use crate::open::source::Source;
use crate::progress::Observer;

pub use crate::causal::generation_settings::GenerationSettings;
pub use message::Message;
pub use pieces::{FinishReason, Pieces};
pub use prompt::Prompt;
pub use sampling::Sampling;

/// A model that continues texts. Clones share it; texts may be continued at the same time.
///
/// ```
/// use nanoembed::{Generator, Prompt, Sampling};
///
/// let generator = Generator::open("../tests/data/llama/tiny.gguf")?;
/// let sampling = Sampling::greedy().max_tokens(8);
/// for piece in generator.generate(Prompt::Text("Once upon a time"), sampling)? {
///     print!("{}", piece?);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Generator(Arc<Inner>);

struct Inner {
    causal: Causal,
    options: GeneratorOptions,
}

/// Options of a generator.
#[derive(Clone, Debug, Default)]
pub struct GeneratorOptions {
    memory: Option<u64>,
    precise: bool,
    limits: Limits,
    unknown: Vec<String>,
}

impl GeneratorOptions {
    /// Limits the memory of the whole process to this: weights are read from the file again for
    /// each token, in pieces, instead of being mapped; slower.
    #[must_use]
    pub fn memory(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { memory: bytes.into(), ..self }
    }

    /// Computes in f32 throughout instead of with activations in 16 bits: slower, for comparisons.
    #[must_use]
    pub const fn precise(mut self, precise: bool) -> Self {
        self.precise = precise;
        self
    }

    /// Limits on the memory that the file makes the library take, instead of the defaults of
    /// [`Limits`]. [`memory`](Self::memory) bounds scratch memory by itself: `session_bytes` does
    /// not count then.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Ignores unknown settings of these names in the texts of a folder, for which the model would
    /// be refused: [`Generator::warnings`] lists them.
    #[must_use]
    pub fn allow_unknown(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { unknown: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Opens a model: see [`Generator::open`].
    ///
    /// # Errors
    ///
    /// As [`Generator::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Generator> {
        let path = &*literal(path.as_ref());
        let causal = match self.memory {
            Some(_) => memory::open_stored(path, &self.limits)?,
            None => {
                let reading = Reading { unknown: self.unknown.clone(), ..Reading::default() };
                let source = Arc::new(Source::open_with(path, &reading)?);
                LoadedModel::within(&source, &self.limits)?.causal_to_generate()?
            }
        };
        Ok(Generator(Arc::new(Inner { causal, options: self })))
    }
}

impl Generator {
    /// Opens a model: an `.amb`, `.weights` or GGUF file, a UQFF file or its first shard, or a
    /// folder of one of these or of safetensors.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid, or if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// A model in memory: the bytes of an `.amb`, `.weights` or GGUF file.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        let source = Arc::new(Source::from_bytes(bytes));
        Self::with(&LoadedModel::new(&source)?, GeneratorOptions::default())
    }

    pub(crate) fn with(opened: &LoadedModel<'_>, options: GeneratorOptions) -> Result<Self> {
        Ok(Self(Arc::new(Inner { causal: opened.causal_to_generate()?, options })))
    }

    /// Options to open a model with.
    #[must_use]
    pub fn options() -> GeneratorOptions {
        GeneratorOptions::default()
    }

    /// A warning for each unknown setting that was passed over: see
    /// [`GeneratorOptions::allow_unknown`].
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.0.causal.warnings()
    }

    /// The sampling that the model's files ask for (`generation_config.json`, `general.sampling.*` in
    /// GGUF), [`Sampling::default`] where they say nothing.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        Sampling::default().with(self.0.causal.generation())
    }

    /// The most tokens that a prompt and its continuation can have together.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.0.causal.model().config().positions
    }

    /// The job that the model is made for. All continue texts, and [`Encoder::open`] embeds with all.
    ///
    /// [`Encoder::open`]: crate::Encoder::open
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.0.causal.model().purpose()
    }

    /// The token ids of a prompt, between the tokens that the model puts around every text.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) if it is of messages and the model lacks the tokens around
    /// them.
    pub fn encode(&self, prompt: Prompt<'_>) -> Result<Vec<u32>> {
        prompt.encode(&self.0.causal)
    }

    /// The text of token ids: see [`Tokenizer::decode`](crate::Tokenizer::decode).
    ///
    /// ```
    /// use nanoembed::{Generator, Prompt};
    ///
    /// let generator = Generator::open("../tests/data/llama/tiny.gguf")?;
    /// let ids = generator.encode(Prompt::Text("Once upon a time"))?;
    /// assert_eq!(generator.decode(&ids)?, "Once upon a time");
    /// # Ok::<(), nanoembed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::decode`](crate::Tokenizer::decode).
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let decoded = self.0.causal.model().tokenizer.decode(ids);
        decoded.map_err(|error| self.0.causal.failure(error))
    }

    /// Reads the prompt, and continues it as the pieces are asked for.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) if the prompt has no tokens or is too long, or if it is of
    /// messages and the model lacks the tokens around them; if memory is refused.
    pub fn generate(&self, prompt: Prompt<'_>, sampling: Sampling) -> Result<Pieces> {
        self.begin(prompt, sampling, None)
    }

    /// The same; `observer` may cancel the reading of the prompt, and receives the number of tokens
    /// that are read.
    ///
    /// # Errors
    ///
    /// As [`generate`](Self::generate), and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn generate_watched(
        &self,
        prompt: Prompt<'_>,
        sampling: Sampling,
        observer: &dyn Observer,
    ) -> Result<Pieces> {
        self.begin(prompt, sampling, Some(observer))
    }

    fn begin(
        &self,
        prompt: Prompt<'_>,
        sampling: Sampling,
        observer: Option<&dyn Observer>,
    ) -> Result<Pieces> {
        let causal = &self.0.causal;
        let model = causal.model();
        let failed = |error| causal.failure(error);
        let ids = prompt.encode(causal)?;
        if ids.is_empty() {
            return Err(Error::usage(
                "the prompt is empty, and the model has no token to begin with",
            ));
        }
        let positions = ids.len().saturating_add(sampling.max_tokens);
        if positions > model.config().positions {
            return Err(Error::usage(format!(
                "{} tokens of the prompt and {} more are beyond the model's {} positions",
                ids.len(),
                sampling.max_tokens,
                model.config().positions
            )));
        }
        let (sampler, penalties) = (sampling.sampler()?, sampling.penalties(&ids));
        let mut session = self.session(positions)?;
        let vocabulary = model.config().vocabulary;
        let (mut logits, order) = (vec![0.0; vocabulary], vec![Scored::default(); vocabulary]);
        // Where texts become long ones, a part may make the model read those before again.
        let mut left = ids.len();
        for part in ids.chunks(observer.map_or(ids.len(), |_| TOKENS_AT_ONCE)) {
            if observer.is_some_and(Observer::is_cancelled) {
                return Err(Error::cancelled());
            }
            left = left.saturating_sub(part.len());
            let output = if left == 0 { Output::LastLogits(&mut logits) } else { Output::Nothing };
            model.forward(&mut session, part, output).map_err(failed)?;
            if let Some(observer) = observer {
                observer.advance(part.len() as u64);
            }
        }
        let lengths = (ids.len(), sampling.max_tokens);
        let generator = self.clone();
        Pieces::new(generator, session, (sampler, penalties), (logits, order), lengths)
            .map_err(failed)
    }

    /// Memory for a text of so many tokens.
    fn session(&self, positions: usize) -> Result<CausalSession> {
        let Inner { causal, options } = &*self.0;
        let model = causal.model();
        let activations = if options.precise { Activations::Floats } else { Activations::Words };
        let session = match options.memory {
            Some(budget) => model.session_for(memory::plan(model, budget, positions, activations)?),
            None => {
                let bytes = model.bytes_for(positions, activations);
                options.limits.check_session(bytes, positions, causal.name())?;
                model.session(positions, activations)
            }
        };
        session.map_err(|error| causal.failure(error))
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("model", &self.0.causal.name()).finish_non_exhaustive()
    }
}
