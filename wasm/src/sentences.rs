//! Sentence models: texts in, vectors out.

use alloc::vec::Vec;
use core::mem;

use nanoembed_core::limit::filled;
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::Reader;
use crate::sentence_model::SentenceModel;
use crate::waiting::{Waiting, in_full};

/// A sentence model, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct Sentences {
    pub(crate) model: SentenceModel,
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
        Ok(Self::from_model(SentenceModel::open(reader, requantize)?))
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

    /// The token ids of `text`, at most `limit`; [`total`](Self::total) then says how many there
    /// would be.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the limit leaves no room for the special tokens.
    pub fn tokenize(&mut self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let tokenized = self.model.tokenize(text, limit)?;
        self.total = in_full(&tokenized);
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
        let mut out = filled(waiting.lengths.len().saturating_mul(self.dims()), 0.0)?;
        self.model.embed(&waiting, is_precise, &mut out)?;
        Ok(out)
    }
}

impl Sentences {
    pub(crate) fn from_model(model: SentenceModel) -> Self {
        Self { model, waiting: Waiting::default(), total: 0 }
    }
}
