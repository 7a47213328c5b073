//! Embeddings by a decoder: its hidden states, pooled.

use clap::ValueEnum;
use nanoembed_core::Error;
use nanoembed_core::model::llama::Activations;
use rayon::prelude::*;

use super::Embedding;
use crate::args::EmbedderArgs;
use crate::decoder::model::Decoder;
use crate::error::{Failure, Result};
use crate::model_file::ModelFile;

/// How the hidden states of a decoder become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pooling {
    /// The mean over all tokens
    Mean,
    /// The state behind the last token, which has seen all others
    Last,
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
    /// Opens the model in `file`, to be used as `args` say; pooling is the file's own unless one is
    /// asked for.
    pub(super) fn open(file: &'f ModelFile, args: &EmbedderArgs) -> Result<Self> {
        if args.requantize {
            return Err(Failure::usage(
                "--requantize is for encoders, and this model is a decoder",
            ));
        }
        let activations = if args.precise { Activations::Floats } else { Activations::Words };
        let model = Decoder::open(file)?;
        let positions = model.config().positions;
        let max_tokens = args.model.max_tokens.unwrap_or(MAX_TOKENS.min(positions));
        if !(1..=positions).contains(&max_tokens) {
            return Err(Failure::usage(format!("--max-tokens {max_tokens} is out of range"))
                .hint(format!("this model has {positions} positions: 1 to {positions}")));
        }
        let pooling = match args.pooling {
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
    pub(super) fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, Error> {
        texts.par_iter().with_max_len(1).map(|text| self.embed_text(text)).collect()
    }

    fn embed_text(&self, text: &str) -> Result<Embedding, Error> {
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
