//! Models of texts: texts in, vectors or scores out.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::limit::filled;
use nanoembed_core::owned::Prompt;
use wasm_bindgen::prelude::*;

use super::kind::Kind;
use super::prompt_choice::PromptChoice;
use super::text_queue::{TextQueue, full_count};
use super::whole_model::WholeModel;
use crate::failure::Result;
#[cfg(feature = "encoder-files")]
use crate::folder::Folder;
use crate::leaf::{self, Part};
use crate::reader::Reader;

/// An encoder of any kind, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct TextModel {
    pub(super) kind: Kind,
    pub(super) prompt: Option<Part<leaf::Prompts, Prompt>>,
    pub(super) queue: TextQueue,
    pub(super) total: usize,
    #[cfg(feature = "encoder-files")]
    pub(super) used: usize,
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
    pub fn from_folder(folder: Folder) -> Result<Self> {
        let leaf = leaf::Whole::built_in()?;
        let model = WholeModel::from_encoder(folder.open()?);
        Ok(Self::from_kind(Kind::Whole(Part::new(leaf, model))))
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

    /// The token ids of `text` after the prompt, at most `limit`; [`total`](Self::total) then returns
    /// the number without a limit.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if the limit leaves no room for the special tokens.
    pub fn tokenize(&mut self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let text = match &self.prompt {
            Some(prompt) => prompt.before(text)?,
            None => Cow::Borrowed(text),
        };
        let found = self.kind.model_mut().tokenize(&text, limit)?;
        self.total = full_count(&found);
        Ok(found.ids)
    }

    /// Adds a text to those that wait; returns the number of its tokens that are used.
    ///
    /// # Errors
    ///
    /// As [`tokenize`](Self::tokenize).
    pub fn add(&mut self, text: &str, limit: usize) -> Result<usize> {
        let ids = self.tokenize(text, limit.min(self.positions()))?;
        Ok(self.queue.add(&ids))
    }

    /// The number of tokens of the last text in full.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Forgets the texts that wait.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// The vectors of the texts that wait, one after the other. `is_precise` keeps activations in
    /// f32 where the model was made to run in integers.
    ///
    /// # Errors
    ///
    /// Any error of the model; `buffer_too_small` if there is not enough memory.
    pub fn run(&mut self, is_precise: bool) -> Result<Vec<f32>> {
        let queue = mem::take(&mut self.queue);
        let mut out = filled(queue.lengths.len().saturating_mul(self.dims()), 0.0)?;
        let skipped = self.prompt.as_ref().map_or(0, |prompt| prompt.skipped);
        self.kind.model_mut().embed(&queue, skipped, is_precise, &mut out)?;
        Ok(out)
    }
}

/// Prompts, and the comparison of texts.
#[cfg(feature = "encoders")]
#[wasm_bindgen]
impl TextModel {
    /// The fewest tokens that a text may be cut to.
    #[must_use]
    pub fn least_tokens(&self) -> usize {
        self.kind.prompted().least_tokens()
    }

    /// The names of the classes of a model that compares two texts and embeds none; nothing of
    /// others.
    #[must_use]
    pub fn labels(&self) -> Option<Vec<String>> {
        self.kind.prompted().labels()
    }

    /// The names of the prompts that the model has.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.kind.prompted().prompts()
    }

    /// Puts a prompt before all texts from now on.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    pub fn set_prompt(&mut self, choice: PromptChoice, text: String) -> Result<()> {
        let leaf = leaf::Prompts::built_in()?;
        let model = self.kind.prompted_mut();
        let chosen = model.choose(choice, text)?;
        if self.prompt.as_ref().map_or("", |prompt| &prompt.text) != chosen {
            self.prompt = Some(Part::new(leaf, model.prompt(&chosen)?));
        }
        Ok(())
    }

    /// The logits of the classes of two texts, followed by the scores.
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
        let (found, total) =
            self.kind.prompted_mut().compare((first, second), limit, is_precise)?;
        self.total = total;
        Ok(found)
    }
}

impl TextModel {
    pub(crate) fn from_kind(kind: Kind) -> Self {
        Self {
            kind,
            prompt: None,
            queue: TextQueue::default(),
            total: 0,
            #[cfg(feature = "encoder-files")]
            used: 0,
        }
    }

    #[cfg(feature = "shared")]
    pub(crate) const fn kind(&self) -> &Kind {
        &self.kind
    }
}
