//! Embeddings by a decoder: its hidden states, pooled.

use crate::choice::choices;
use nanoembed_core::Error as CoreError;
use nanoembed_core::model::llama::Activations;
use rayon::prelude::*;

use super::{EmbedderOptions, Embedding};
use crate::causal::model::Decoder;
use crate::error::{Error, Result};
use crate::open::model_file::ModelFile;

choices! {
    /// How the hidden states of a decoder become one vector.
    pub enum Pooling {
        /// The mean over all tokens
        Mean = "mean",
        /// The state behind the last token, which has seen all others
        Last = "last",
    }
}

/// Tokens of a text that are used unless more are asked for: keys and values of each cost memory.
const MAX_TOKENS: usize = 512;

/// A decoder that is ready to embed.
pub(super) struct DecoderEmbedder<'f> {
    model: Decoder<'f>,
    activations: Activations,
    max_tokens: usize,
    pooling: Pooling,
}

impl<'f> DecoderEmbedder<'f> {
    /// Opens the model in `file`, to be used as `options` say; pooling is the file's own unless one is
    /// asked for.
    pub(super) fn open(file: &'f ModelFile, options: &EmbedderOptions<'_>) -> Result<Self> {
        if options.requantize {
            return Err(Error::usage("--requantize is for encoders, and this model is a decoder"));
        }
        let activations = if options.precise { Activations::Floats } else { Activations::Words };
        let model = Decoder::open(file)?;
        let positions = model.config().positions;
        let max_tokens = options.max_tokens.unwrap_or(MAX_TOKENS.min(positions));
        if !(1..=positions).contains(&max_tokens) {
            return Err(Error::usage(format!("--max-tokens {max_tokens} is out of range"))
                .with_hint(format!("this model has {positions} positions: 1 to {positions}")));
        }
        let pooling = match options.pooling {
            Some(pooling) => pooling,
            None if model.pools_last_token() => Pooling::Last,
            None => Pooling::Mean,
        };
        Ok(Self { model, activations, max_tokens, pooling })
    }

    pub(super) const fn width(&self) -> usize {
        self.model.config().hidden
    }

    pub(super) const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    pub(super) const fn positions(&self) -> usize {
        self.model.config().positions
    }

    /// The embeddings of `texts`, in their order, a thread for each.
    pub(super) fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, CoreError> {
        texts.par_iter().with_max_len(1).map(|text| self.embed_text(text)).collect()
    }

    fn embed_text(&self, text: &str) -> Result<Embedding, CoreError> {
        let mut ids = self.model.tokenizer.encode(text)?;
        let truncated = self.model.tokenizer.truncate(&mut ids, self.max_tokens);
        let tokens = ids.len();
        let mut vector = vec![0.0; self.width()];
        // A text without tokens is similar to nothing.
        if tokens > 0 {
            let mut session = self.model.session(tokens, self.activations)?;
            self.model.embed(&mut session, &ids, self.pooling == Pooling::Last, &mut vector)?;
        }
        Ok(Embedding { tokens, truncated, vector })
    }
}
