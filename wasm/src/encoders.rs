//! Models of all families that embed texts or compare two.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::event::Format;
use nanoembed_core::limit::filled;
use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{AnyEncoder, PipelineSession, Prompt};
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use crate::failure::{Failure, Result};
#[cfg(feature = "encoder-files")]
use crate::folder::Folder;
use crate::reader::Reader;
use crate::requantize;
use crate::sessions::{Sessions, in_steps, precise};
use crate::waiting::{Waiting, in_full};

/// The formats of files that hold one.
const FORMATS: &[Format] = &[
    #[cfg(feature = "encoder-files")]
    Format::Embd,
    #[cfg(feature = "encoder-files")]
    Format::Amb,
    #[cfg(feature = "encoder-gguf")]
    Format::Gguf,
];

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
    /// The model's prompt for questions, or else the default.
    Query,
    /// The model's prompt for texts that answer questions, or else the default.
    Document,
}

/// A model, and the texts that wait to be embedded.
#[wasm_bindgen]
pub struct Encoders {
    model: AnyEncoder<Vec<u8>>,
    prompt: Prompt,
    tokens: PipelineSession,
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
        let file = reader.into_file(FORMATS)?;
        let mut model = AnyEncoder::open(file)?;
        let is_grouped = model.plan(1).grouped;
        requantize::if_wanted(requantize, is_grouped, || model.requantize())?;
        Ok(Self::of(model))
    }

    /// The model in a folder whose texts and weights are all there.
    ///
    /// # Errors
    ///
    /// What is wrong with the model.
    #[cfg(feature = "encoder-files")]
    pub fn of_folder(folder: Folder) -> Result<Self> {
        Ok(Self::of(folder.open()?))
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.model.dimensions()
    }

    /// How many tokens of a text are used unless told otherwise.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.model.usual_tokens()
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
        let classes = self.model.classes().filter(|_| self.model.compares());
        classes.map(|classes| classes.labels().to_vec())
    }

    /// The names of the prompts that the model has.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.model.prompts().by_name.keys().cloned().collect()
    }

    /// Puts this before the texts that come.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    pub fn set_prompt(&mut self, before: Before, text: String) -> Result<()> {
        let (role, wanted) = match before {
            Before::Usual => (Prefix::Usual, Prefix::Usual),
            Before::Text => (Prefix::Usual, Prefix::Text(text)),
            Before::Named => (Prefix::Usual, Prefix::Named(text)),
            Before::Query => (Prefix::Query, Prefix::Usual),
            Before::Document => (Prefix::Document, Prefix::Usual),
        };
        let prompts = self.model.prompts();
        let chosen = prompts.choose_for(&role, &wanted).map_err(|missing| {
            let names: Vec<&str> = prompts.by_name.keys().map(String::as_str).collect();
            let known = match &names[..] {
                [] => String::from("it has none"),
                names => format!("it has {}", names.join(", ")),
            };
            Failure::explained(
                Error::without_offset(ErrorKind::InvalidArgument),
                format!("the model has {missing}; {known}"),
            )
        })?;
        if chosen != self.prompt.text {
            self.prompt = self.model.prompt(chosen, &mut self.tokens)?;
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
        let text = self.prompt.before(text);
        let found = self.model.encode(&text, limit, &mut self.tokens)?;
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
            |session| {
                let Waiting { ids, lengths } = &waiting;
                let skipped = self.prompt.skipped;
                self.model.embed(session, &InOrder, ids, lengths, skipped, &mut out)
            },
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
        let classes = self.model.classes().ok_or(ErrorKind::OtherModel)?;
        let mut logits = filled(classes.labels().len(), 0.0)?;
        let pair = self.model.encode_pair(first, second, limit, &mut self.tokens)?;
        let lengths = [pair.ids.len()];
        let texts = Batch { ids: &pair.ids, types: &pair.types, lengths: &lengths };
        let plan = precise(self.model.plan(in_steps(pair.ids.len())), is_precise);
        self.sessions.with(
            plan,
            |plan| self.model.session_for(plan),
            |session| self.model.classify(session, &InOrder, &texts, &mut logits),
        )?;
        self.total = pair.ids.len() + usize::from(pair.truncated);
        let mut scores = logits.clone();
        if let Some(classes) = self.model.classes() {
            classes.score(&mut scores);
        }
        logits.extend(scores);
        Ok(logits)
    }
}

impl Encoders {
    fn of(model: AnyEncoder<Vec<u8>>) -> Self {
        Self {
            model,
            prompt: Prompt::default(),
            tokens: PipelineSession::default(),
            sessions: Sessions::default(),
            waiting: Waiting::default(),
            total: 0,
        }
    }
}
