//! Models of folders as backends.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{Batch as TokenBatch, Parallel, Plan};
use nanoembed_core::owned::{Session, StaticModel, TransformerModel};
use rayon::prelude::*;

use super::backend::{Backend, Batch, Length};
use super::options::EncoderOptions;
use super::packed::{TokenTexts, Transformer};
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::progress::Observer;
use crate::tokenizer::Tokens;
use crate::tokenizer::scratch::TextScratch;

/// A transformer of any family.
pub(super) struct FolderTransformer {
    model: TransformerModel<ModelWeights<'static>>,
    scratch: TextScratch,
}

impl FolderTransformer {
    pub(super) fn of(model: TransformerModel<ModelWeights<'static>>) -> Self {
        Self { model, scratch: TextScratch::default() }
    }
}

impl Transformer for FolderTransformer {
    fn dimensions(&self) -> usize {
        self.model.encoder().dimensions()
    }

    fn positions(&self) -> usize {
        self.model.encoder().config().positions
    }

    fn usual_tokens(&self) -> usize {
        self.model.max_tokens()
    }

    fn plan(&self, tokens: usize) -> Plan {
        self.model.plan(tokens)
    }

    fn session_for(&self, plan: Plan) -> Result<Session, CoreError> {
        self.model.session_for(plan)
    }

    fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        self.scratch.encode(self.model.tokenizer(), text, limit)
    }

    fn tokens_of_prompt(&self, prompt: &str) -> Result<usize, CoreError> {
        self.scratch.tokens_of_prompt(self.model.tokenizer(), prompt)
    }

    fn embed(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        TokenTexts { ids, lengths, skipped }: TokenTexts<'_>,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        let texts = TokenBatch { ids, types: &[], lengths };
        self.model.embed(session, parallel, &texts, skipped, out)
    }
}

/// More tokens than any text has.
const MOST_TOKENS: usize = 1 << 24;

/// A table of a vector for each token.
pub(super) struct TableEncoder {
    table: StaticModel<ModelWeights<'static>>,
    scratch: TextScratch,
    max_tokens: usize,
}

impl TableEncoder {
    /// Makes the table ready to run as `options` say.
    pub(super) fn of(
        table: StaticModel<ModelWeights<'static>>,
        options: &EncoderOptions,
    ) -> Result<Self> {
        if options.requantize {
            return Err(Error::argument("requantize", "is for transformers, and this is a table"));
        }
        let max_tokens =
            options.max_tokens.or(table.tokenizer().max_tokens()).unwrap_or(MOST_TOKENS);
        if !(1..=MOST_TOKENS).contains(&max_tokens) {
            let message = format!("{max_tokens} is out of range");
            return Err(Error::argument("max_tokens", message)
                .with_hint(format!("a table takes 1 to {MOST_TOKENS} tokens of a text")));
        }
        Ok(Self { table, scratch: TextScratch::default(), max_tokens })
    }
}

impl Backend for TableEncoder {
    fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    fn positions(&self) -> usize {
        MOST_TOKENS
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        self.scratch.encode(self.table.tokenizer(), text, self.max_tokens)
    }

    fn embed(
        &self,
        _: Option<&mut Session>,
        text: &str,
        _: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.table.embed(&self.tokenize(text)?.ids, out)
    }

    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        _: usize,
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
            self.table.embed(&tokens.ids, row)?;
            Ok(Length::of(&tokens))
        });
        let lengths = lengths.collect::<Result<_, CoreError>>()?;
        observer.advance(texts.len() as u64);
        Ok(Batch { values, lengths })
    }
}
