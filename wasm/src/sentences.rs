//! Sentence models: texts in, vectors out.

use alloc::vec::Vec;

use nanoembed_core::event::Format;
use nanoembed_core::limit::filled;
use nanoembed_core::model::{InOrder, Plan};
use nanoembed_core::owned::{Embedder, Session};
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::Reader;
use crate::sessions::{MAX_SESSIONS, TOKEN_STEP};

/// A sentence model, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct Sentences {
    embedder: Embedder<Vec<u8>>,
    sessions: Vec<(Plan, Session)>,
    ids: Vec<u32>,
    lengths: Vec<usize>,
    total: usize,
}

#[wasm_bindgen]
impl Sentences {
    /// The model in the file that `reader` has read. `requantize` says whether its weights are
    /// requantised to a byte each, unless they are so in the file; by default they are if they are in
    /// blocks of few bits, and there is memory for it.
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
        Ok(Self { embedder, sessions: Vec::new(), ids: Vec::new(), lengths: Vec::new(), total: 0 })
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
        let limit = limit.min(self.positions());
        let ids = self.tokenize(text, limit)?;
        self.ids.extend_from_slice(&ids);
        self.lengths.push(ids.len());
        Ok(ids.len())
    }

    /// How many tokens the last text has in full.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Forgets the texts that wait.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.lengths.clear();
    }

    /// The vectors of the texts that wait, one after the other. `is_precise` keeps activations in
    /// f32 where the model was made to run in integers.
    ///
    /// # Errors
    ///
    /// What the model refuses, or `buffer_too_small` if there is not enough memory.
    pub fn run(&mut self, is_precise: bool) -> Result<Vec<f32>> {
        let result = self.embed(is_precise);
        self.clear();
        result
    }

    fn embed(&mut self, is_precise: bool) -> Result<Vec<f32>> {
        // Texts that fit together are computed together.
        let longest = self.lengths.iter().copied().max().unwrap_or(1);
        let all = self.ids.len().clamp(1, longest.max(4 * TOKEN_STEP));
        let tokens = all.next_multiple_of(TOKEN_STEP);
        let plan = Plan { quantized: !is_precise, ..Plan::new(tokens) };
        let known = self.sessions.iter().position(|(known, _)| *known == plan);
        let (_, mut session) = match known {
            Some(known) => self.sessions.swap_remove(known),
            None if is_precise => (plan, self.embedder.session_for(plan)?),
            // The model knows whether it was made to run in integers.
            None => (plan, self.embedder.session(tokens, 1)?),
        };
        let mut out = filled(self.lengths.len().saturating_mul(self.dims()), 0.0)?;
        let result =
            self.embedder.embed(&mut session, &InOrder, &self.ids, &self.lengths, &mut out);
        if self.sessions.len() == MAX_SESSIONS {
            self.sessions.remove(0);
        }
        self.sessions.push((plan, session));
        result?;
        Ok(out)
    }
}
