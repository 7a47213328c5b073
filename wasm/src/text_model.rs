//! Models of texts: texts in, vectors or scores out.

#[cfg(feature = "encoders")]
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::limit::filled;
#[cfg(feature = "encoders")]
use nanoembed_core::owned::Prompt;
use wasm_bindgen::prelude::*;

#[cfg(feature = "encoders")]
use crate::before::Before;
use crate::failure::Result;
#[cfg(feature = "encoder-files")]
use crate::folder::Folder;
use crate::kind::Kind;
use crate::reader::Reader;
use crate::waiting::{Waiting, in_full};
#[cfg(feature = "encoder-files")]
use crate::whole_model::WholeModel;

/// An encoder of any kind, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct TextModel {
    kind: Kind,
    #[cfg(feature = "encoders")]
    prompt: Prompt,
    waiting: Waiting,
    total: usize,
}

#[wasm_bindgen]
impl TextModel {
    /// The model in the file that `reader` has read. `requantize` says whether its weights are
    /// requantised to a byte each, unless they are so in the file; by default they are if they are
    /// BERT's in blocks of few bits, and there is memory for it.
    ///
    /// # Errors
    ///
    /// Any fault of the model; `unknown_format` if the file is not of a format that holds one;
    /// `buffer_too_small` if there is not enough memory for what was asked for.
    #[wasm_bindgen(constructor)]
    pub fn new(reader: Reader, requantize: Option<bool>) -> Result<Self> {
        Ok(Self::from_kind(Kind::open(reader, requantize)?))
    }

    /// The model in a folder whose texts and weights are all there.
    ///
    /// # Errors
    ///
    /// Any fault of the model.
    #[cfg(feature = "encoder-files")]
    pub fn of_folder(folder: Folder) -> Result<Self> {
        Ok(Self::from_kind(Kind::Whole(WholeModel::from_encoder(folder.open()?))))
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.kind.model().dims()
    }

    /// The number of tokens of a text that are used by default.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.kind.model().max_tokens()
    }

    /// The most tokens of a text that the model can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.kind.model().positions()
    }

    /// The fewest tokens that a text may be cut to.
    #[cfg(feature = "encoders")]
    #[must_use]
    pub fn least_tokens(&self) -> usize {
        self.kind.model().least_tokens()
    }

    /// The names of the classes of a model that compares two texts and embeds none; nothing of
    /// others.
    #[cfg(feature = "encoders")]
    #[must_use]
    pub fn labels(&self) -> Option<Vec<String>> {
        self.kind.model().labels()
    }

    /// The names of the prompts that the model has.
    #[cfg(feature = "encoders")]
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.kind.model().prompts()
    }

    /// Puts a prompt before the texts that come.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    #[cfg(feature = "encoders")]
    pub fn set_prompt(&mut self, before: Before, text: String) -> Result<()> {
        let model = self.kind.model_mut();
        let chosen = model.choose(before, text)?;
        if chosen != self.prompt.text {
            self.prompt = model.prompt(&chosen)?;
        }
        Ok(())
    }

    /// The token ids of `text` after the prompt, at most `limit`; [`total`](Self::total) then returns
    /// the number without a limit.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the limit leaves no room for the special tokens.
    pub fn tokenize(&mut self, text: &str, limit: usize) -> Result<Vec<u32>> {
        #[cfg(feature = "encoders")]
        let text = &*self.prompt.before(text)?;
        let found = self.kind.model_mut().tokenize(text, limit)?;
        self.total = in_full(&found);
        Ok(found.ids)
    }

    /// Adds a text to those that wait; returns the number of its tokens that are used.
    ///
    /// # Errors
    ///
    /// As [`tokenize`](Self::tokenize).
    pub fn add(&mut self, text: &str, limit: usize) -> Result<usize> {
        let ids = self.tokenize(text, limit.min(self.positions()))?;
        Ok(self.waiting.add(&ids))
    }

    /// The number of tokens of the last text in full.
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
    /// Any error of the model; `buffer_too_small` if there is not enough memory.
    pub fn run(&mut self, is_precise: bool) -> Result<Vec<f32>> {
        let waiting = mem::take(&mut self.waiting);
        let mut out = filled(waiting.lengths.len().saturating_mul(self.dims()), 0.0)?;
        #[cfg(feature = "encoders")]
        let skipped = self.prompt.skipped;
        #[cfg(not(feature = "encoders"))]
        let skipped = 0;
        self.kind.model_mut().embed(&waiting, skipped, is_precise, &mut out)?;
        Ok(out)
    }

    /// The logits of the classes of two texts, followed by the scores.
    ///
    /// # Errors
    ///
    /// `other_model` if the model compares nothing.
    #[cfg(feature = "encoders")]
    pub fn compare(
        &mut self,
        first: &str,
        second: &str,
        limit: usize,
        is_precise: bool,
    ) -> Result<Vec<f32>> {
        let (found, total) = self.kind.model_mut().compare((first, second), limit, is_precise)?;
        self.total = total;
        Ok(found)
    }
}

impl TextModel {
    pub(crate) fn from_kind(kind: Kind) -> Self {
        Self {
            kind,
            #[cfg(feature = "encoders")]
            prompt: Prompt::default(),
            waiting: Waiting::default(),
            total: 0,
        }
    }

    #[cfg(feature = "shared")]
    pub(crate) const fn kind(&self) -> &Kind {
        &self.kind
    }
}
