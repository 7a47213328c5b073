//! Sentence embedders: a file in, texts in, vectors out.

use alloc::string::String;
use alloc::vec::Vec;

use super::open::{Model, open, prompt};
use super::requantize::Memory;
use super::session::Session;
use super::tokenized::Tokenized;
use super::vocabulary::VocabularyIndex;
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "embd")]
use crate::event::Mode;
#[cfg(feature = "embd")]
use crate::format::embd::Embd;
use crate::kernel::{self, Kernels, RowSummary};
use crate::limit::{filled, joined};
use crate::model::{
    Batch, Encoder, InOrder, Layer, Matrix, ModelSource, Observer, Parallel, Plan, Run,
    SliceWeights, Transformer, Weights, Workspace,
};
use crate::tensor::TensorHeader;
use crate::token::vocabulary::{MAX_TOKEN_BYTES, Vocabulary as _};
use crate::token::{Entries, HashVocabulary, WordPiece};

/// A sentence embedder over a `.weights`, `.amb` or GGUF file whose bytes `B` holds: a slice, a
/// `Vec`, a mapped file.
///
/// ```
/// use nanoembed_core::model::InOrder;
/// use nanoembed_core::owned::Embedder;
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let embedder = Embedder::open(std::fs::read(path)?)?;
/// // One text:
/// let vector = embedder.embed_text("How do I reset my password?")?;
///
/// // Many texts: a session of one's own, and several texts in a pass.
/// let (mut ids, mut lengths) = (Vec::new(), Vec::new());
/// for text in ["How do I reset my password?", "Where is the invoice?"] {
///     let text = embedder.tokenize(text, None)?;
///     lengths.push(text.ids.len());
///     ids.extend(text.ids);
/// }
/// let hidden = embedder.config().hidden;
/// let mut vectors = vec![0.0; lengths.len() * hidden];
/// let mut session = embedder.session(ids.len(), 1)?;
/// embedder.embed(&mut session, &InOrder, &ids, &lengths, &mut vectors)?;
/// let cosine: f32 = vector.iter().zip(&vectors[..hidden]).map(|(a, b)| a * b).sum();
/// assert!(cosine > 0.999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedder<B> {
    pub(super) file: B,
    pub(super) config: BertConfig,
    pub(super) encoder: Encoder<Vec<Layer>>,
    pub(super) kernels: Kernels,
    pub(super) summaries: Vec<RowSummary>,
    /// Where the scales of activation columns lie, if the file has any.
    pub(super) column_scales: Option<Matrix>,
    /// Requantised weights, if there are any.
    pub(super) memory: Memory,
    vocabulary: VocabularyIndex,
    /// What is put before every text, or why that cannot be done.
    default_prompt: Result<String>,
}

/// All of an [`Embedder`] that its file's bytes say.
pub(super) struct Parts {
    config: BertConfig,
    encoder: Encoder<Vec<Layer>>,
    kernels: Kernels,
    summaries: Vec<RowSummary>,
    column_scales: Option<Matrix>,
    vocabulary: VocabularyIndex,
    default_prompt: Result<String>,
}

impl Parts {
    pub(super) fn of(bytes: &[u8], source: &ModelSource<'_>) -> Result<Self> {
        let config = source.encoder_config()?;
        let Model { encoder, column_scales } = open(bytes, source, &config)?;
        let vocabulary = VocabularyIndex::new(&source.word_pieces(&config)?)?;
        let default_prompt = prompt(source);
        let kernels = kernel::detect();
        let weights = Memory::default();
        let summaries = summarize(&weights.with(bytes), &encoder.transformer, &kernels)?;
        Ok(Self { config, encoder, kernels, summaries, column_scales, vocabulary, default_prompt })
    }
}

impl<B: AsRef<[u8]>> Embedder<B> {
    /// Opens a BERT model with its vocabulary. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::MissingVocabulary`] without
    /// tokens; [`ErrorKind::OtherModel`] if the model is one that continues texts.
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let source = match ModelSource::parse(bytes) {
            // What is no model may yet have been meant as one: its first bytes are wrong.
            #[cfg(feature = "embd")]
            Err(error) if error.kind() == ErrorKind::UnknownFormat => {
                Embd::parse(bytes, Mode::Lenient).map(ModelSource::Embd)
            }
            source => source,
        };
        let parts = Parts::of(bytes, &source?)?;
        Ok(Self::of(file, parts))
    }

    /// As [`open`](Self::open), by what has been parsed of the bytes of `file` already.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_source(file: B, source: &ModelSource<'_>) -> Result<Self> {
        let parts = Parts::of(file.as_ref(), source)?;
        Ok(Self::of(file, parts))
    }

    pub(super) fn of(file: B, parts: Parts) -> Self {
        let Parts { config, encoder, kernels, summaries, column_scales, vocabulary, .. } = parts;
        let (memory, default_prompt) = (Memory::default(), parts.default_prompt);
        Self {
            file,
            config,
            encoder,
            kernels,
            summaries,
            column_scales,
            memory,
            vocabulary,
            default_prompt,
        }
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfBounds`] if the file has become shorter since it was opened.
    pub fn with_kernels(self, kernels: Kernels) -> Result<Self> {
        let Self { file, encoder, memory, .. } = &self;
        let transformer = &encoder.transformer;
        let summaries = summarize(&memory.with(file.as_ref()), transformer, &kernels)?;
        Ok(Self { kernels, summaries, ..self })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &BertConfig {
        &self.config
    }

    /// The kernels that the model runs on.
    #[must_use]
    pub const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The model's tokenizer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file's bytes have changed since it was opened.
    pub fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        self.vocabulary.tokenizer(self.file.as_ref())
    }

    /// The prompt that the model wants before every text, which [`tokenize`](Self::tokenize) puts
    /// there; most have none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingMetadata`] if the file names a prompt that it does not have,
    /// [`ErrorKind::UnsupportedSetting`] if the prompt's tokens are to be left out of the mean,
    /// [`ErrorKind::BadMetadata`] if it is no text.
    pub fn default_prompt(&self) -> Result<&str> {
        self.default_prompt.as_deref().map_err(|error| *error)
    }

    /// The token ids of `text` behind the [default prompt](Self::default_prompt): at most
    /// `max_tokens`, special tokens included; for `None` as many as the model was made for
    /// ([`BertConfig::max_tokens`]). [`Tokenized::total`] is how many the whole text has.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the two special tokens; as
    /// [`default_prompt`](Self::default_prompt).
    pub fn tokenize(&self, text: &str, max_tokens: Option<usize>) -> Result<Tokenized> {
        match self.default_prompt()? {
            "" => self.tokenize_alone(text, max_tokens),
            prompt => self.tokenize_alone(&joined(&[prompt, text])?, max_tokens),
        }
    }

    /// As [`tokenize`](Self::tokenize), without the default prompt.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the two special tokens.
    pub fn tokenize_alone(&self, text: &str, max_tokens: Option<usize>) -> Result<Tokenized> {
        let tokenizer = self.tokenizer()?;
        let most = max_tokens.unwrap_or(self.config().max_tokens);
        if most < 2 {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        // A character gives at most one token, and the few that give more are tried again.
        let mut ids = filled(most.min(text.len().saturating_add(2)), 0)?;
        let mut encoded = tokenizer.encode(text, &mut ids)?;
        if encoded.truncated && ids.len() < most {
            ids = filled(most.min(encoded.total), 0)?;
            encoded = tokenizer.encode(text, &mut ids)?;
        }
        ids.truncate(encoded.tokens);
        Ok(Tokenized { ids, total: encoded.total, truncated: encoded.truncated })
    }

    /// The first `limit` tokens of `text` and whether it has more, without the default prompt:
    /// cheaper for a long text than to [count](Self::tokenize_alone) its tokens.
    ///
    /// # Errors
    ///
    /// As [`tokenize_alone`](Self::tokenize_alone).
    pub fn tokenize_start(&self, text: &str, limit: usize) -> Result<(Vec<u32>, bool)> {
        let tokenizer = self.tokenizer()?;
        let mut ids = filled(limit, 0)?;
        let encoded = tokenizer.encode_start(text, &mut ids)?;
        ids.truncate(encoded.tokens);
        Ok((ids, encoded.truncated))
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        let mut buffer = [0; MAX_TOKEN_BYTES];
        let bytes = self.tokenizer().ok()?.vocabulary().token(id, &mut buffer).ok()?;
        let token = buffer.get(..bytes).unwrap_or_default();
        Some(String::from_utf8_lossy(token).into_owned())
    }

    /// The embedding of one text, [truncated](Self::tokenize) if it is longer than the model was
    /// made for: [`Config::hidden`](crate::model::Config::hidden) elements. It allocates what it
    /// needs; for many texts [`embed`](Self::embed) does so once.
    ///
    /// # Errors
    ///
    /// As [`tokenize`](Self::tokenize), [`session`](Self::session) and [`embed`](Self::embed).
    pub fn embed_text(&self, text: &str) -> Result<Vec<f32>> {
        let ids = self.tokenize(text, None)?.ids;
        let mut vector = filled(self.config().hidden, 0.0)?;
        let mut session = self.session(ids.len(), 1)?;
        self.embed(&mut session, &InOrder, &ids, &[ids.len()], &mut vector)?;
        Ok(vector)
    }

    /// How the model was made to run: see [`Transformer::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.encoder.plan(tokens)
    }

    /// The scratch memory of one thread, for texts (or packs of short texts) of up to `tokens`
    /// tokens, in `jobs` parts at a time: 1 without threads, else as many as
    /// [`Parallel::jobs`] says.
    ///
    /// Memory grows with `tokens` times `jobs`. There are never more jobs than the model has
    /// attention heads, or than there are eights of tokens, whichever is more: smaller parts would
    /// not be worth a thread.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if either is 0 or the memory would be larger than addresses
    /// are; [`ErrorKind::NoMemory`] if there is not as much.
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        let jobs = Session::jobs(self.config(), tokens, jobs);
        self.session_for(Plan { jobs, ..self.plan(tokens) })
    }

    /// The bytes that [`session_for`](Self::session_for) takes.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session), but for memory that is refused.
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        Session::bytes_of(self.config(), plan)
    }

    /// As [`session`](Self::session), for a plan that says more, with as many jobs as it says.
    /// Weights lie in memory, whatever the plan says.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        Session::new(self.config(), plan)
    }

    /// The embeddings of tokenised texts, `hidden` elements each, into `out`: see
    /// [`Encoder::embed`].
    ///
    /// # Errors
    ///
    /// As [`Encoder::embed`].
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_observed(session, parallel, ids, lengths, out, &|_| {})
    }

    /// As [`embed`](Self::embed), and shows `observe` the inputs of every linear layer: see
    /// [`Encoder::embed_observed`].
    ///
    /// # Errors
    ///
    /// As [`Encoder::embed`].
    pub fn embed_observed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
        observe: &Observer<'_>,
    ) -> Result<()> {
        let Session { plan, floats, bytes } = session;
        let mut workspace = Workspace::new(self.config(), plan, floats, bytes)?;
        let Self { kernels, summaries, .. } = self;
        let weights = &self.memory.with(self.file.as_ref());
        let run = Run { weights, kernels, summaries, parallel };
        let texts = Batch::new(ids, lengths);
        self.encoder.embed_observed(&run, &texts, &mut workspace, &mut [], out, observe)
    }
}

/// The weights of a file whose tensors have been found.
pub(super) fn without_names(file: &[u8]) -> impl Weights + Sync {
    SliceWeights::new(file, |_: &str| None::<TensorHeader<'_>>)
}

/// What the kernels need to know of the weights.
pub(super) fn summarize(
    weights: &impl Weights,
    transformer: &Transformer<Vec<Layer>>,
    kernels: &Kernels,
) -> Result<Vec<RowSummary>> {
    let mut summaries = filled(transformer.summaries(kernels), RowSummary::EMPTY)?;
    transformer.summarize(weights, kernels, &mut [], &mut summaries)?;
    Ok(summaries)
}
