//! Embeddings by a table of a vector for each token: every text on its own.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::{Prompt, Session};
use rayon::prelude::*;

use super::backend::{Backend, Batch, Length};
use super::options::EncoderOptions;
use super::packed::Model;
use crate::error::{Error, Result};
use crate::progress::Observer;
use crate::tokenizer::Tokens;

/// A table that is ready to run.
pub(super) struct TableEncoder {
    model: Model,
    max_tokens: usize,
}

impl TableEncoder {
    /// Makes the table ready to run as `options` say.
    pub(super) fn of(model: Model, options: &EncoderOptions) -> Result<Self> {
        if options.requantize {
            return Err(Error::argument("requantize", "is for transformers, and this is a table"));
        }
        let most = model.encoder.positions();
        let max_tokens = options.max_tokens.unwrap_or(model.encoder.usual_tokens());
        if !(1..=most).contains(&max_tokens) {
            let message = format!("{max_tokens} is out of range");
            return Err(Error::argument("max_tokens", message)
                .with_hint(format!("a table takes 1 to {most} tokens of a text")));
        }
        Ok(Self { model, max_tokens })
    }

    fn embed_tokens(&self, ids: &[u32], skipped: usize, out: &mut [f32]) -> Result<(), CoreError> {
        let encoder = &self.model.encoder;
        let mut session = encoder.session_for(encoder.plan(ids.len()))?;
        encoder.embed(&mut session, &InOrder, ids, &[ids.len()], skipped, out)
    }
}

impl Backend for TableEncoder {
    fn dimensions(&self) -> usize {
        self.model.encoder.dimensions()
    }

    fn positions(&self) -> usize {
        self.model.encoder.positions()
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        self.model.encode(text, self.max_tokens)
    }

    fn prompt(&self, prompt: &str) -> Result<Prompt, CoreError> {
        self.model.prompt(prompt)
    }

    fn embed(
        &self,
        _: Option<&mut Session>,
        text: &str,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.embed_tokens(&self.tokenize(text)?.ids, skipped, out)
    }

    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError> {
        let width = self.dimensions();
        let mut values = vec![0.0; texts.len() * width];
        let rows = values.par_chunks_exact_mut(width.max(1)).with_min_len(16);
        let lengths = rows.zip(texts).map(|(row, text)| {
            if observer.is_cancelled() {
                return Ok(Length::default());
            }
            let tokens = self.tokenize(text)?;
            self.embed_tokens(&tokens.ids, skipped, row)?;
            Ok(Length::of(&tokens))
        });
        let lengths = lengths.collect::<Result<_, CoreError>>()?;
        observer.advance(texts.len() as u64);
        Ok(Batch { values, lengths })
    }
}
