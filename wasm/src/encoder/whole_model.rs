//! Encoders of all files and folders that the module is built for.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
#[cfg(feature = "encoder-files")]
use core::slice;

#[cfg(feature = "encoder-files")]
use nanoembed_core::limit::push;
use nanoembed_core::limit::{filled, joined};
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{Encoder, FileWeights, Prompt, TextSession, Tokenized, usual_prompt};
#[cfg(feature = "encoder-files")]
use nanoembed_core::owned::{LateSide, MultiTokens, SparseVector};
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error, ErrorKind};

use super::EncoderModel;
use super::handle::{Handle, handle};
use super::prompt_choice::PromptChoice;
use super::prompting::{Prompting, lacks};
use super::requantize;
use super::sessions::{Sessions, in_steps, precise};
use super::text_queue::TextQueue;
use crate::failure::{Failure, Result};
use crate::leaf;

/// An encoder with all of its weights in memory.
pub(crate) struct WholeModel {
    model: Handle<WholeFile>,
    texts: TextSession,
    sessions: Sessions,
    /// A warning for each unknown setting that is ignored.
    #[cfg(feature = "encoder-files")]
    pub(crate) warnings: Vec<String>,
}

/// The part of a model that threads share.
pub(crate) struct WholeFile {
    encoder: Encoder<FileWeights<Vec<u8>>>,
    /// The prompt before every text, where none can be chosen.
    prompt: core::result::Result<String, Error>,
}

impl WholeModel {
    /// The model in a file. It is requantised if `requantize` says so, or if it is BERT in blocks of
    /// few bits and nothing is said.
    pub(crate) fn open(file: Vec<u8>, requantize: Option<bool>) -> Result<Self> {
        let prompt = match leaf::Prompts::built_in() {
            Ok(_) => Ok(String::new()),
            Err(_) => usual_prompt(&ModelSource::parse(&file)?),
        };
        let opened = Encoder::open(file);
        let mut encoder = match leaf::Prompts::built_in() {
            Ok(_) => opened.map_err(Failure::from)?,
            // Only models that texts describe have faults with more words.
            Err(_) => opened.map_err(|fault| fault.error())?,
        };
        let is_grouped = encoder.plan(1).grouped;
        requantize::if_wanted(requantize, is_grouped, || encoder.requantize())?;
        Ok(Self::new(handle(WholeFile { encoder, prompt })))
    }

    /// The model of a folder.
    pub(crate) fn from_encoder(encoder: Encoder<FileWeights<Vec<u8>>>) -> Self {
        Self::new(handle(WholeFile { encoder, prompt: Ok(String::new()) }))
    }

    pub(crate) fn new(model: Handle<WholeFile>) -> Self {
        Self {
            model,
            texts: TextSession::default(),
            sessions: Sessions::default(),
            #[cfg(feature = "encoder-files")]
            warnings: Vec::new(),
        }
    }

    #[cfg(feature = "shared")]
    pub(crate) const fn handle(&self) -> &Handle<WholeFile> {
        &self.model
    }
}

/// Files with unknown settings, sparse vectors, and a vector for each token.
#[cfg(feature = "encoder-files")]
impl WholeModel {
    /// As [`open`](Self::open), with unknown settings of these names ignored.
    pub(crate) fn open_allowing(
        file: Vec<u8>,
        requantize: Option<bool>,
        names: &[String],
    ) -> Result<Self> {
        let (mut encoder, absent) = Encoder::open_allowing(file, names)?;
        let is_grouped = encoder.plan(1).grouped;
        requantize::if_wanted(requantize, is_grouped, || encoder.requantize())?;
        let mut model = Self::from_encoder(encoder);
        for setting in absent.faults() {
            push(&mut model.warnings, setting.warning()?)?;
        }
        Ok(model)
    }

    pub(crate) fn encoder(&self) -> &Encoder<FileWeights<Vec<u8>>> {
        &self.model.encoder
    }

    /// The sparse vectors of texts.
    pub(crate) fn embed_sparse(
        &mut self,
        texts: &TextQueue,
        is_precise: bool,
    ) -> Result<Vec<SparseVector>> {
        let (encoder, TextQueue { ids, lengths }) = (&self.model.encoder, texts);
        Ok(self.sessions.with(
            precise(encoder.plan(texts.tokens()), is_precise),
            |plan| encoder.session_for(plan),
            |session| encoder.embed_sparse(session, &InOrder, ids, lengths),
        )?)
    }

    /// The vectors of the tokens of a text, at most `limit`, and the tokens.
    pub(crate) fn embed_multi(
        &mut self,
        text: &str,
        side: LateSide,
        limit: usize,
        is_precise: bool,
    ) -> Result<(Vec<f32>, MultiTokens)> {
        let encoder = &self.model.encoder;
        let tokens = encoder.encode_multi(text, side, limit, &mut self.texts)?;
        let texts = slice::from_ref(&tokens);
        let vectors = self.sessions.with(
            precise(encoder.plan(in_steps(tokens.ids.len())), is_precise),
            |plan| encoder.session_for(plan),
            |session| encoder.embed_multi(session, &InOrder, texts),
        )?;
        Ok((vectors.into_iter().next().unwrap_or_default(), tokens))
    }
}

impl EncoderModel for WholeModel {
    fn dims(&self) -> usize {
        self.model.encoder.dimensions()
    }

    fn max_tokens(&self) -> usize {
        self.model.encoder.usual_tokens()
    }

    fn positions(&self) -> usize {
        self.model.encoder.positions()
    }

    fn tokenize(&mut self, text: &str, limit: usize) -> Result<Tokenized> {
        let encoder = &self.model.encoder;
        if leaf::Prompts::built_in().is_err() {
            let prompt = self.model.prompt.as_deref().map_err(|error| *error)?;
            if !prompt.is_empty() {
                return Ok(encoder.encode(&joined(&[prompt, text])?, limit, &mut self.texts)?);
            }
        }
        Ok(encoder.encode(text, limit, &mut self.texts)?)
    }

    fn embed(
        &mut self,
        texts: &TextQueue,
        skipped: usize,
        is_precise: bool,
        out: &mut [f32],
    ) -> Result<()> {
        let (encoder, TextQueue { ids, lengths }) = (&self.model.encoder, texts);
        Ok(self.sessions.with(
            precise(encoder.plan(texts.tokens()), is_precise),
            |plan| encoder.session_for(plan),
            |session| encoder.embed(session, &InOrder, ids, lengths, skipped, out),
        )?)
    }
}

impl Prompting for WholeModel {
    fn least_tokens(&self) -> usize {
        self.model.encoder.least_tokens()
    }

    fn prompts(&self) -> Vec<String> {
        self.model.encoder.prompts().by_name.keys().cloned().collect()
    }

    fn choose(&self, choice: PromptChoice, text: String) -> Result<String> {
        let (role, wanted) = match choice {
            PromptChoice::Usual => (Prefix::Usual, Prefix::Usual),
            PromptChoice::Text => (Prefix::Usual, Prefix::Text(text)),
            PromptChoice::Named => (Prefix::Usual, Prefix::Named(text)),
            PromptChoice::Query => (Prefix::Query, Prefix::Usual),
            PromptChoice::Document => (Prefix::Document, Prefix::Usual),
        };
        let chosen = self.model.encoder.prompts().choose_for(&role, &wanted);
        chosen.map(String::from).map_err(|missing| lacks(&self.prompts(), &[&missing.to_string()]))
    }

    fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(self.model.encoder.prompt(prompt, &mut self.texts)?)
    }

    fn labels(&self) -> Option<Vec<String>> {
        let encoder = &self.model.encoder;
        let classes = encoder.classes().filter(|_| encoder.compares());
        classes.map(|classes| classes.labels().to_vec())
    }

    fn compare(
        &mut self,
        (first, second): (&str, &str),
        limit: usize,
        is_precise: bool,
    ) -> Result<(Vec<f32>, usize)> {
        let encoder = &self.model.encoder;
        let classes = encoder.classes().ok_or(ErrorKind::OtherModel)?;
        let mut logits = filled(classes.labels().len(), 0.0)?;
        let pair = encoder.encode_pair(first, second, limit, &mut self.texts)?;
        let tokens = pair.ids.len();
        let shown = tokens + usize::from(pair.truncated);
        self.sessions.with(
            precise(encoder.plan(in_steps(tokens)), is_precise),
            |plan| encoder.session_for(plan),
            |session| encoder.classify(session, &InOrder, &[pair], &mut logits),
        )?;
        let mut scores = logits.clone();
        classes.score(&mut scores);
        logits.extend(scores);
        Ok((logits, shown))
    }
}
