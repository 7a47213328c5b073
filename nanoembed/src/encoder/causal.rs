//! Embeddings by a causal model: its hidden states, pooled.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::llama::Activations;
use nanoembed_core::owned::{CausalPooling, Session, TextSession};
use nanoembed_core::token::SpecialTokens;
use rayon::prelude::*;

use super::backend::{Backend, Batch, Length};
use super::options::{EncoderOptions, Pooling};
use crate::error::{Error, Result};
use crate::open::causal::Causal;
use crate::progress::Observer;
use crate::tokenizer::Tokens;

/// Tokens of a text that are used unless more are asked for: keys and values of each cost memory.
const MAX_TOKENS: usize = 512;

/// A causal model that is ready to embed.
pub(super) struct CausalEncoder {
    causal: Causal,
    activations: Activations,
    max_tokens: usize,
    pooling: Pooling,
}

impl CausalEncoder {
    /// Makes the model ready to embed as `options` say; pooling is the file's own unless one is
    /// asked for.
    pub(super) fn new(causal: Causal, options: &EncoderOptions) -> Result<Self> {
        if options.requantize {
            let message = "is for encoders, and this model is a decoder";
            return Err(Error::argument("requantize", message));
        }
        let activations = if options.precise { Activations::Floats } else { Activations::Words };
        let positions = causal.model().config().positions;
        let max_tokens = options.max_tokens.unwrap_or(MAX_TOKENS.min(positions));
        if !(1..=positions).contains(&max_tokens) {
            let message = format!("{max_tokens} is out of range");
            return Err(Error::argument("max_tokens", message)
                .with_hint(format!("this model has {positions} positions: 1 to {positions}")));
        }
        let bytes = causal.model().bytes_for(max_tokens, activations);
        options.limits.check_session(bytes, max_tokens, causal.name())?;
        let pooling = match options.pooling {
            Some(pooling) => pooling,
            None if causal.model().pools_last_token() => Pooling::Last,
            None => Pooling::Mean,
        };
        Ok(Self { causal, activations, max_tokens, pooling })
    }
}

impl Backend for CausalEncoder {
    fn dimensions(&self) -> usize {
        self.causal.model().config().hidden
    }

    fn positions(&self) -> usize {
        self.causal.model().config().positions
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        let tokenizer = &self.causal.model().tokenizer;
        let mut ids =
            tokenizer.encode(text, SpecialTokens::AsTokens, &mut TextSession::default())?;
        let truncated = tokenizer.truncate(&mut ids, self.max_tokens);
        Ok(Tokens { ids, truncated })
    }

    fn embed(
        &self,
        _: Option<&mut Session>,
        text: &str,
        _: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.embed_one(text, out).map(|_| ())
    }

    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        _: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError> {
        let embed = |text: &Cow<'_, str>| {
            let mut vector = vec![0.0; self.dimensions()];
            if observer.is_cancelled() {
                return Ok((vector, Length::default()));
            }
            let length = self.embed_one(text, &mut vector)?;
            observer.advance(1);
            Ok((vector, length))
        };
        let embedded = texts.par_iter().with_max_len(1).map(embed);
        let embedded: Vec<(Vec<f32>, Length)> = embedded.collect::<Result<_, CoreError>>()?;
        let (vectors, lengths): (Vec<_>, Vec<_>) = embedded.into_iter().unzip();
        Ok(Batch { values: vectors.concat(), lengths })
    }

    fn embed_ids(
        &self,
        texts: &[&[u32]],
        _: usize,
        observer: &dyn Observer,
    ) -> Result<Vec<f32>, CoreError> {
        let embed = |ids: &&[u32]| {
            let mut vector = vec![0.0; self.dimensions()];
            if !observer.is_cancelled() {
                self.embed_tokens(ids, &mut vector)?;
                observer.advance(1);
            }
            Ok(vector)
        };
        let vectors = texts.par_iter().with_max_len(1).map(embed);
        Ok(vectors.collect::<Result<Vec<_>, CoreError>>()?.concat())
    }

    fn count_tokens(&self, text: &str) -> Result<usize, CoreError> {
        let tokenizer = &self.causal.model().tokenizer;
        let ids = tokenizer.encode(text, SpecialTokens::AsTokens, &mut TextSession::default())?;
        Ok(ids.len())
    }

    fn has_token(&self, id: u32) -> bool {
        self.causal.model().tokenizer.has_token(id)
    }

    fn token(&self, id: u32) -> Option<String> {
        self.causal.model().tokenizer.token(id).map(Cow::into_owned)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, CoreError> {
        self.causal.model().tokenizer.decode(ids)
    }
}

impl CausalEncoder {
    /// The embedding of `text` into `out`.
    fn embed_one(&self, text: &str, out: &mut [f32]) -> Result<Length, CoreError> {
        let tokens = self.tokenize(text)?;
        self.embed_tokens(&tokens.ids, out)?;
        Ok(Length::from_tokens(&tokens))
    }

    /// The embedding of a text whose token ids are known into `out`, which is zero: a text without
    /// tokens is similar to nothing.
    fn embed_tokens(&self, ids: &[u32], out: &mut [f32]) -> Result<(), CoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let model = self.causal.model();
        let mut session = model.session(ids.len(), self.activations)?;
        let pooling = match self.pooling {
            Pooling::Mean => CausalPooling::Mean,
            Pooling::Last => CausalPooling::Last,
        };
        model.embed(&mut session, ids, pooling, out)
    }
}
