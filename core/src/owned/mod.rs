//! For hosts with a heap: a model file in, texts in, vectors out.
//!
//! An [`Embedder`] is immutable and shared between threads; each thread that embeds has a
//! [`Session`] of its own. A [`CausalModel`] continues texts, each in a [`CausalSession`]; it is
//! made of a [`Decoder`], which runs over weights from anywhere, and a [`BpeTokenizer`]. A
//! [`SentencePieceModel`] is a tokenizer on its own. Everything here is made of the borrowing types
//! of [`token`](crate::token) and [`model`](crate::model).

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "sizes are checked when a model is opened"
)]

mod added_words;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod bpe;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod causal;
mod decoder;
#[cfg(feature = "gguf")]
mod gguf;
mod model_proto;
mod open;
mod prompt;
mod requantize;
mod sentencepiece;
mod vocabulary;

use alloc::string::String;
use alloc::vec::Vec;

pub use added_words::{ADDED_TOKENS, AddedWord, parse_added_words, write_added_words};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use bpe::BpeTokenizer;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use causal::CausalModel;
pub use decoder::{CausalSession, Decoder};
pub use model_proto::{ModelProto, ModelSettings};
pub use sentencepiece::{SentencePieceModel, TokenSession};

use crate::error::{Error, ErrorKind, Result};
#[cfg(any(feature = "amb", feature = "gguf"))]
use crate::event::Format;
use crate::format::sniff;
use crate::kernel::{self, Kernels, RowSummary};
use crate::limit::filled;
use crate::model::{
    Bert, BertConfig, Layer, Matrix, Observer, Parallel, Plan, Run, SliceWeights, Weights,
    Workspace,
};
use crate::tensor::TensorHeader;
use crate::token::{Entries, HashVocabulary, WordPiece};
use open::Model;
use requantize::Memory;
use vocabulary::{FoundVocabulary, VocabularyIndex};

/// Token ids of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenized {
    /// The ids, special tokens included.
    pub ids: Vec<u32>,
    /// How many the whole text has, special tokens included.
    pub total: usize,
    /// Whether the text has more than were kept.
    pub truncated: bool,
}

/// A sentence embedder over a `.weights`, `.amb` or GGUF file whose bytes `B` holds: a slice, a
/// `Vec`, a mapped file.
#[derive(Clone, Debug)]
pub struct Embedder<B> {
    file: B,
    bert: Bert<Vec<Layer>>,
    kernels: Kernels,
    summaries: Vec<RowSummary>,
    /// Where the file has the scales of columns of activations, if it has.
    column_scales: Option<Matrix>,
    /// Weights that were coded anew, if any were.
    memory: Memory,
    vocabulary: VocabularyIndex,
    /// What stands before every text, or why that cannot be done.
    default_prompt: Result<String>,
}

impl<B: AsRef<[u8]>> Embedder<B> {
    /// Opens a BERT model with its vocabulary. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::MissingVocabulary`] without
    /// tokens.
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let (model, found): (Model, FoundVocabulary<'_>) = match sniff(bytes) {
            #[cfg(feature = "amb")]
            Some(Format::Amb) => open::open_amb(bytes)?,
            #[cfg(feature = "gguf")]
            Some(Format::Gguf) => gguf::open_gguf(bytes)?,
            #[cfg(feature = "embd")]
            _ => open::open_embd(bytes)?,
            #[cfg(not(feature = "embd"))]
            _ => return Err(Error::without_offset(ErrorKind::UnknownFormat)),
        };
        let Model { bert, column_scales } = model;
        let default_prompt = found.default_prompt.clone();
        let vocabulary = VocabularyIndex::build(found, bert.config())?;
        let kernels = kernel::detect();
        let memory = Memory::default();
        let summaries = summarize(&memory.with(bytes), &bert, &kernels)?;
        Ok(Self {
            file,
            bert,
            kernels,
            summaries,
            column_scales,
            memory,
            vocabulary,
            default_prompt,
        })
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfBounds`] if the file has become shorter since it was opened.
    pub fn with_kernels(self, kernels: Kernels) -> Result<Self> {
        let Self { file, bert, memory, .. } = &self;
        let summaries = summarize(&memory.with(file.as_ref()), bert, &kernels)?;
        Ok(Self { kernels, summaries, ..self })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &BertConfig {
        self.bert.config()
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
    /// `max_tokens`, special tokens included, or all for `None`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the two special tokens; as
    /// [`default_prompt`](Self::default_prompt).
    pub fn tokenize(&self, text: &str, max_tokens: Option<usize>) -> Result<Tokenized> {
        match self.default_prompt()? {
            "" => self.tokenize_alone(text, max_tokens),
            prompt => self.tokenize_alone(&[prompt, text].concat(), max_tokens),
        }
    }

    /// The same of `text` alone, whatever prompt the model wants.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the two special tokens.
    pub fn tokenize_alone(&self, text: &str, max_tokens: Option<usize>) -> Result<Tokenized> {
        let tokenizer = self.tokenizer()?;
        // A character gives at most one token; some characters vanish, none becomes two words but
        // by its neighbours.
        let most = text.len().saturating_add(2);
        let room = max_tokens.map_or(most, |max_tokens| max_tokens.min(most));
        if room < 2 {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let mut ids = filled(room, 0)?;
        let mut encoded = tokenizer.encode(text, &mut ids)?;
        if max_tokens.is_none() && encoded.truncated {
            ids = filled(encoded.total, 0)?;
            encoded = tokenizer.encode(text, &mut ids)?;
        }
        ids.truncate(encoded.tokens);
        Ok(Tokenized { ids, total: encoded.total, truncated: encoded.truncated })
    }

    /// How the model was made to run: see [`Bert::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.bert.plan(tokens)
    }

    /// The scratch memory of one thread, for texts (or packs of short texts) of up to `tokens`
    /// tokens, in `jobs` parts at a time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if either is 0 or the memory would be larger than addresses
    /// are; [`ErrorKind::NoMemory`] if there is not as much.
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        self.session_for(Plan { jobs, ..self.plan(tokens) })
    }

    /// As [`session`](Self::session), for a plan that says more; weights lie in memory, whatever
    /// the plan says.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        let plan = Plan { tile_bytes: 0, ..plan };
        let needs = Workspace::needs(self.config(), &plan)?;
        Ok(Session { plan, floats: filled(needs.floats, 0.0)?, bytes: filled(needs.bytes, 0)? })
    }

    /// The embeddings of tokenised texts, `hidden` elements each, into `out`: see
    /// [`Bert::embed_batch`].
    ///
    /// # Errors
    ///
    /// As [`Bert::embed_batch`].
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

    /// As [`embed`](Self::embed), showing `observe` what every linear layer is applied to: see
    /// [`Bert::embed_observed`].
    ///
    /// # Errors
    ///
    /// As [`Bert::embed_batch`].
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
        self.bert.embed_observed(&run, ids, lengths, &mut workspace, out, observe)
    }
}

/// The weights in a file whose tensors are found already.
fn without_names(file: &[u8]) -> impl Weights + Sync {
    SliceWeights::new(file, |_: &str| None::<TensorHeader<'_>>)
}

/// What the kernels want to know of the weights.
fn summarize(
    weights: &impl Weights,
    bert: &Bert<Vec<Layer>>,
    kernels: &Kernels,
) -> Result<Vec<RowSummary>> {
    let mut summaries = filled(bert.summaries(kernels), RowSummary::EMPTY)?;
    bert.summarize(weights, kernels, &mut [], &mut summaries)?;
    Ok(summaries)
}

/// The scratch memory of one thread that embeds.
#[derive(Clone, Debug)]
pub struct Session {
    plan: Plan,
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

impl Session {
    /// The size of the memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.floats.len().saturating_mul(4).saturating_add(self.bytes.len())
    }
}
