//! Models of all families that embed texts or compare two.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::limit::filled;
use nanoembed_core::model::Batch;
use nanoembed_core::owned::Prompt;
use wasm_bindgen::prelude::*;

use crate::encoder_model::EncoderModel;
use crate::failure::Result;
#[cfg(feature = "encoder-files")]
use crate::folder::Folder;
use crate::reader::Reader;
use crate::sessions::{Sessions, in_steps, precise};
use crate::waiting::{Waiting, in_full};

/// What stands before texts.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The model's default prompt, if it has one.
    Usual,
    /// A text.
    Text,
    /// The model's prompt of a name.
    Named,
    /// The model's prompt for questions, if it has one.
    Query,
    /// The model's prompt for texts that answer questions, if it has one.
    Document,
}

/// A model, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct Encoders {
    pub(crate) model: EncoderModel,
    prompt: Prompt,
    sessions: Sessions,
    waiting: Waiting,
    total: usize,
}

#[wasm_bindgen]
impl Encoders {
    /// The model in the file that `reader` has read. `requantize` as for sentence models; it is for
    /// BERT in blocks of few bits.
    ///
    /// # Errors
    ///
    /// What is wrong with the model; `unknown_format` if the file is not of a format that holds
    /// one.
    #[wasm_bindgen(constructor)]
    pub fn new(reader: Reader, requantize: Option<bool>) -> Result<Self> {
        Ok(Self::of(EncoderModel::open(reader, requantize)?))
    }

    /// The model in a folder whose texts and weights are all there.
    ///
    /// # Errors
    ///
    /// What is wrong with the model.
    #[cfg(feature = "encoder-files")]
    pub fn of_folder(folder: Folder) -> Result<Self> {
        Ok(Self::of(folder.open()?.into()))
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.model.dims()
    }

    /// How many tokens of a text are used unless told otherwise.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.model.max_tokens()
    }

    /// The most tokens of a text that the model can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.model.positions()
    }

    /// The fewest tokens that a text may be cut to.
    #[must_use]
    pub fn least_tokens(&self) -> usize {
        self.model.least_tokens()
    }

    /// The names of the classes of a model that compares two texts and embeds none; nothing of
    /// others.
    #[must_use]
    pub fn labels(&self) -> Option<Vec<String>> {
        self.model.labels()
    }

    /// The names of the prompts that the model has.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.model.prompts()
    }

    /// Puts this before the texts that come.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    pub fn set_prompt(&mut self, before: Before, text: String) -> Result<()> {
        let chosen = self.model.choose(before, text)?;
        if chosen != self.prompt.text {
            self.prompt = self.model.prompt(&chosen)?;
        }
        Ok(())
    }

    /// The token ids of `text` behind the prompt, at most `limit`; [`total`](Self::total) then says
    /// how many there would be.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the limit leaves no room for the special tokens.
    pub fn tokenize(&mut self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let text = self.prompt.before(text)?;
        let found = self.model.tokenize(&text, limit)?;
        self.total = in_full(&found);
        Ok(found.ids)
    }

    /// Adds a text to those that wait; returns how many of its tokens will be used.
    ///
    /// # Errors
    ///
    /// As [`tokenize`](Self::tokenize).
    pub fn add(&mut self, text: &str, limit: usize) -> Result<usize> {
        let ids = self.tokenize(text, limit.min(self.positions()))?;
        Ok(self.waiting.add(&ids))
    }

    /// How many tokens the last text has in full.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Forgets the texts that wait.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// The vectors of the texts that wait, one after the other. `is_precise` keeps activations in
    /// f32 where the model was made to run in integers.
    ///
    /// # Errors
    ///
    /// What the model refuses, or `buffer_too_small` if there is not enough memory.
    pub fn run(&mut self, is_precise: bool) -> Result<Vec<f32>> {
        let waiting = mem::take(&mut self.waiting);
        let plan = precise(self.model.plan(waiting.tokens()), is_precise);
        let mut out = filled(waiting.lengths.len().saturating_mul(self.dims()), 0.0)?;
        self.sessions.with(
            plan,
            |plan| self.model.session_for(plan),
            |session| self.model.embed(session, &waiting, self.prompt.skipped, &mut out),
        )?;
        Ok(out)
    }

    /// What the model says of two texts: the logits of its classes, and behind them the scores.
    ///
    /// # Errors
    ///
    /// `other_model` if the model compares nothing.
    pub fn compare(
        &mut self,
        first: &str,
        second: &str,
        limit: usize,
        is_precise: bool,
    ) -> Result<Vec<f32>> {
        let mut logits = filled(self.model.classes()?, 0.0)?;
        let pair = self.model.tokenize_pair(first, second, limit)?;
        let lengths = [pair.ids.len()];
        let texts = Batch { types: &pair.types, ..Batch::new(&pair.ids, &lengths) };
        let plan = precise(self.model.plan(in_steps(pair.ids.len())), is_precise);
        self.sessions.with(
            plan,
            |plan| self.model.session_for(plan),
            |session| self.model.classify(session, &texts, &mut logits),
        )?;
        self.total = pair.ids.len() + usize::from(pair.truncated);
        let mut scores = logits.clone();
        self.model.score(&mut scores);
        logits.extend(scores);
        Ok(logits)
    }
}

impl Encoders {
    pub(crate) fn of(model: EncoderModel) -> Self {
        Self {
            model,
            prompt: Prompt::default(),
            sessions: Sessions::default(),
            waiting: Waiting::default(),
            total: 0,
        }
    }
}
