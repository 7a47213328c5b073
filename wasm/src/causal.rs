//! Models that continue texts: a prompt in, tokens out, one at a time.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::limit::filled;
use nanoembed_core::model::llama::{Activations, LlamaPlan, Output, Sampler, Sampling};
use nanoembed_core::owned::{CausalModel, CausalSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::bpe::TokenDecoder;
use nanoembed_core::top::Scored;
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::Reader;

/// Tokens of a prompt that pass through the layers together; then JavaScript may do something else.
const TOKENS_AT_ONCE: usize = 32;

/// A decoder and its tokenizer.
#[wasm_bindgen]
pub struct Causal {
    model: Rc<CausalModel<Vec<u8>>>,
}

#[wasm_bindgen]
impl Causal {
    /// The model in the file that `reader` has read.
    ///
    /// # Errors
    ///
    /// The fault of the model; `unknown_format` if the file is not of a format that holds one.
    #[wasm_bindgen(constructor)]
    pub fn new(reader: Reader) -> Result<Self> {
        let model = CausalModel::open(reader.into_file(&[Format::Amb, Format::Gguf])?)?;
        Ok(Self { model: Rc::new(model) })
    }

    /// Tokens of the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.model.config().vocabulary
    }

    /// Tokens that a text may have, prompt and continuation together.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.model.config().positions
    }

    /// The token ids of `text`, with the token that begins every text if the model has one.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if the model's tokens are damaged.
    pub fn tokenize(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.model.tokenize(text, SpecialTokens::AsTokens)?)
    }

    /// Begins to continue the text whose tokens are `prompt`, by up to `count` tokens.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a negative temperature or a `top_p` beyond 0 … 1, without a prompt,
    /// or if the text may become longer than the model allows; `buffer_too_small` if there is not
    /// enough memory.
    #[allow(clippy::too_many_arguments, reason = "JavaScript has names for them")]
    pub fn generation(
        &self,
        prompt: Vec<u32>,
        count: usize,
        temperature: f32,
        top_k: usize,
        top_p: f32,
        seed: f64,
        is_precise: bool,
    ) -> Result<Generation> {
        let positions = prompt.len().saturating_add(count);
        if prompt.is_empty() || positions > self.positions() {
            return Err(ErrorKind::InvalidArgument.into());
        }
        let sampling = Sampling { temperature, top_k, top_p, ..Sampling::GREEDY };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a seed")]
        let sampler = Sampler::new(sampling, seed as u64)?;
        let activations = if is_precise { Activations::Floats } else { Activations::Words };
        let plan = LlamaPlan { activations, ..LlamaPlan::new(TOKENS_AT_ONCE, positions) };
        let session = self.model.session(plan)?;
        let vocabulary = self.vocabulary();
        let considered = match top_k {
            _ if temperature == 0.0 => 0,
            0 => vocabulary,
            _ => top_k.min(vocabulary),
        };
        Ok(Generation {
            model: Rc::clone(&self.model),
            session,
            sampler,
            waiting: prompt,
            logits: filled(vocabulary, 0.0)?,
            order: filled(considered, Scored::default())?,
            left: count,
            decoder: TokenDecoder::new(),
            piece: String::new(),
        })
    }
}

/// A text on its way.
#[wasm_bindgen]
pub struct Generation {
    model: Rc<CausalModel<Vec<u8>>>,
    session: CausalSession,
    sampler: Sampler,
    /// Tokens that have not passed through the model: the rest of the prompt, or the last token.
    waiting: Vec<u32>,
    logits: Vec<f32>,
    /// The tokens that are considered.
    order: Vec<Scored>,
    /// How many tokens may still be added.
    left: usize,
    decoder: TokenDecoder,
    piece: String,
}

#[wasm_bindgen]
impl Generation {
    /// Takes some of the tokens that wait through the model; whether none is left, so that
    /// [`step`](Self::step) can choose the next.
    ///
    /// # Errors
    ///
    /// As the model's forward pass.
    pub fn advance(&mut self) -> Result<bool> {
        let count = self.waiting.len().min(TOKENS_AT_ONCE);
        let part: Vec<u32> = self.waiting.drain(..count).collect();
        let is_last = self.waiting.is_empty();
        let output = if is_last { Output::LastLogits(&mut self.logits) } else { Output::Nothing };
        if !part.is_empty() {
            self.model.forward(&mut self.session, &part, output)?;
        }
        Ok(is_last)
    }

    /// Chooses the next token; none at the text's end. [`piece`](Self::piece) then has what it adds
    /// to the text.
    ///
    /// # Errors
    ///
    /// `invalid_utf8` for a token that is none.
    pub fn step(&mut self) -> Result<Option<u32>> {
        self.piece.clear();
        let Self { model, decoder, piece, .. } = self;
        let mut add = |text: &str| {
            piece.push_str(text);
            Ok(())
        };
        let next = match self.left.checked_sub(1) {
            None => None,
            Some(left) => {
                self.left = left;
                let next = self.sampler.next(&self.logits, &mut self.order)?;
                (!model.ends().contains(next)).then_some(next)
            }
        };
        if let Some(next) = next {
            // A vocabulary may be filled up with tokens that stand for nothing.
            if let Ok(token) = model.token(next) {
                decoder.token(token, &mut add)?;
            }
            self.waiting.push(next);
        } else {
            self.left = 0;
        }
        if self.left == 0 {
            decoder.finish(&mut add)?;
        }
        Ok(next)
    }

    /// The whole characters that the last token added to the text; empty while the bytes of a
    /// character are incomplete.
    #[must_use]
    pub fn piece(&self) -> String {
        self.piece.clone()
    }
}
