//! Models that continue texts: a file in, token ids in, logits out.

use alloc::vec::Vec;

use super::decoder::{CausalSession, Decoder};
use super::tokenizer::BytePairs;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::model::SliceWeights;
use crate::model::llama::{LlamaConfig, LlamaPlan, Output};
use crate::source::ModelSource;
use crate::tensor::TensorHeader;
use crate::token::{EndTokens, SpecialTokens};

/// A decoder of the Llama family with its tokenizer, over an `.amb`, `.weights` or GGUF file whose
/// bytes `B` holds.
///
/// Immutable: several texts may be continued at once, each in a [`CausalSession`] of its own.
///
/// ```
/// use nanoembed_core::model::llama::{LlamaPlan, Output};
/// use nanoembed_core::owned::CausalModel;
/// use nanoembed_core::token::SpecialTokens;
///
/// # let path = "../tests/data/llama/tiny.gguf";
/// let model = CausalModel::open(std::fs::read(path)?)?;
/// let prompt = model.tokenize("Once upon a time", SpecialTokens::AsText)?;
/// let mut session = model.session(LlamaPlan::new(prompt.len(), prompt.len() + 8))?;
/// let mut logits = vec![0.0; model.config().vocabulary];
/// let mut next = prompt;
/// for _ in 0..8 {
///     model.forward(&mut session, &next, Output::LastLogits(&mut logits))?;
///     let likeliest = (0_u32..).zip(&logits).max_by(|a, b| a.1.total_cmp(b.1));
///     let (id, _) = likeliest.ok_or("an empty vocabulary")?;
///     if model.ends().contains(id) {
///         break;
///     }
///     next = vec![id];
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CausalModel<B> {
    decoder: Decoder,
    tokenizer: BytePairs<B>,
}

impl<B: AsRef<[u8]>> CausalModel<B> {
    /// Opens a decoder in an `.amb`, a `.weights` or a GGUF file, as far as the build has these
    /// formats. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// Errors of the file or the model in it; [`ErrorKind::UnsupportedTokenizer`] if its
    /// tokenizer is not byte-level BPE with a pattern that is known; [`ErrorKind::OtherModel`] if
    /// the model is an encoder; [`ErrorKind::UnknownFormat`] for files of other formats.
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let source = ModelSource::parse(bytes)?;
        let weights = SliceWeights::new(bytes, |name: &str| source.tensor(name));
        let decoder = Decoder::open(&weights, source.causal_config()?)?;
        let tokenizer = BytePairs::new(&source.byte_pairs()?)?;
        Ok(Self { decoder, tokenizer: tokenizer.over(file) })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &LlamaConfig {
        self.decoder.config()
    }

    /// The tokens that end a text.
    #[must_use]
    pub fn ends(&self) -> &EndTokens {
        &self.tokenizer.index().ends.end
    }

    /// The token ids of `text`, between the tokens that the model puts around every text if there
    /// are any. `special` says what control tokens become that the text spells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file's bytes have changed since it was opened.
    pub fn tokenize(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        self.tokenizer.encode(text, special)
    }

    /// How a token is spelled in GPT-2's alphabet, for
    /// [`token::bpe::TokenDecoder`](crate::token::bpe::TokenDecoder).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token.
    pub fn token(&self, id: u32) -> Result<&[u8]> {
        self.tokenizer.token(id)
    }

    /// Memory for one text: see [`Decoder::session`]. The weights lie in memory, whatever the plan
    /// says.
    ///
    /// # Errors
    ///
    /// As [`Decoder::session`].
    pub fn session(&self, plan: LlamaPlan) -> Result<CausalSession> {
        self.decoder.session(LlamaPlan { tile_bytes: 0, ..plan })
    }

    /// Takes tokens through the model after those of the session: see [`Decoder::forward`].
    ///
    /// # Errors
    ///
    /// As [`Decoder::forward`].
    pub fn forward(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<()> {
        let weights = SliceWeights::new(self.tokenizer.file(), |_: &str| None::<TensorHeader<'_>>);
        self.decoder.forward(&weights, session, ids, output)
    }
}
