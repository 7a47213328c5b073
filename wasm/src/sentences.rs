//! Sentence models: texts in, vectors out.

use alloc::vec::Vec;
use core::mem;

use nanoembed_core::event::Format;
use nanoembed_core::limit::filled;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::Embedder;
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::Reader;
use crate::sessions::{Sessions, precise};
use crate::waiting::Waiting;

/// A sentence model, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct Sentences {
    embedder: Embedder<Vec<u8>>,
    sessions: Sessions,
    waiting: Waiting,
    total: usize,
}

#[wasm_bindgen]
impl Sentences {
    /// The model in the file that `reader` has read. `requantize` says whether its weights are
    /// requantised to a byte each, unless they are so in the file; by default they are if they are
    /// in blocks of few bits, and there is memory for it.
    ///
    /// # Errors
    ///
    /// What is wrong with the model; `unknown_format` if the file is not of a format that holds
    /// one; `buffer_too_small` if there is not enough memory for what was asked for.
    #[wasm_bindgen(constructor)]
    pub fn new(reader: Reader, requantize: Option<bool>) -> Result<Self> {
        let mut embedder = Embedder::open(reader.into_file(&[Format::Embd, Format::Amb])?)?;
        if requantize.unwrap_or_else(|| embedder.plan(1).grouped) {
            let done = embedder.requantize();
            if requantize.is_some() {
                done?;
            }
        }
        Ok(Self { embedder, sessions: Sessions::default(), waiting: Waiting::default(), total: 0 })
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.embedder.config().hidden
    }

    /// How many tokens of a text are used unless told otherwise.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.embedder.config().max_tokens
    }

    /// The most tokens of a text that the model can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.embedder.config().positions
    }

    /// The token ids of `text`, at most `limit`; [`total`](Self::total) then says how many there
    /// would be.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the limit leaves no room for the special tokens.
    pub fn tokenize(&mut self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let tokenized = self.embedder.tokenize(text, Some(limit))?;
        self.total = tokenized.total;
        Ok(tokenized.ids)
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
        let plan = precise(self.embedder.plan(waiting.tokens()), is_precise);
        let mut out = filled(waiting.lengths.len().saturating_mul(self.dims()), 0.0)?;
        self.sessions.with(
            plan,
            |plan| self.embedder.session_for(plan),
            |session| {
                let Waiting { ids, lengths } = &waiting;
                self.embedder.embed(session, &InOrder, ids, lengths, &mut out)
            },
        )?;
        Ok(out)
    }
}
