//! Models that continue texts: a file in, token ids in, logits out.

use alloc::vec::Vec;

use super::bpe::BpeTokenizer;
use super::decoder::{CausalSession, Decoder};
use super::open::{Find, OTHER_MODEL};
use crate::error::{Error, ErrorKind, Result};
#[cfg(any(feature = "amb", feature = "gguf"))]
use crate::event::Format;
use crate::event::Mode;
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
#[cfg(feature = "embd")]
use crate::format::embd::Embd;
#[cfg(feature = "gguf")]
use crate::format::gguf::Gguf;
#[cfg(any(feature = "amb", feature = "gguf"))]
use crate::format::sniff;
use crate::model::SliceWeights;
use crate::model::llama::{BpeSource, LlamaConfig, LlamaPlan, Output};
#[cfg(feature = "gguf")]
use crate::model::{GgufModel, gguf_llama_config, gguf_model};
#[cfg(feature = "amb")]
use crate::model::{amb_config_value, amb_llama_config};
#[cfg(feature = "embd")]
use crate::model::{embd_is_decoder, embd_llama_config};
use crate::tensor::TensorHeader;
use crate::token::{EndTokens, SpecialTokens};

/// A decoder of the Llama family with its tokenizer, over an `.amb`, `.weights` or GGUF file whose
/// bytes `B` holds.
///
/// Immutable: several texts may be continued at once, each in a [`CausalSession`] of its own.
#[derive(Clone, Debug)]
pub struct CausalModel<B> {
    file: B,
    decoder: Decoder,
    tokenizer: BpeTokenizer,
}

impl<B: AsRef<[u8]>> CausalModel<B> {
    /// Opens a decoder in an `.amb` or a GGUF file. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::UnsupportedTokenizer`] if its
    /// tokenizer is not byte-level BPE with a pattern that is known; [`ErrorKind::OtherModel`] if
    /// the model is an encoder; [`ErrorKind::UnknownFormat`] for files of other formats.
    #[cfg(any(feature = "amb", feature = "gguf"))]
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let (decoder, tokenizer) = match sniff(bytes) {
            #[cfg(feature = "amb")]
            Some(Format::Amb) => {
                let amb = Amb::parse(bytes, Mode::Lenient)?;
                let find = |name: &str| amb.tensor(name).map(|tensor| *tensor.header());
                let config = amb_llama_config(&amb);
                let config =
                    config.map_err(|error| match amb_config_value(&amb, "model_type") {
                        Some("bert") => OTHER_MODEL,
                        _ => error,
                    })?;
                let decoder = open_decoder(bytes, config, &find)?;
                (decoder, BpeSource::amb(&amb)?)
            }
            #[cfg(feature = "gguf")]
            Some(Format::Gguf) => {
                let gguf = Gguf::parse(bytes, Mode::Lenient)?;
                if gguf_model(&gguf)? != GgufModel::Decoder {
                    return Err(OTHER_MODEL);
                }
                let find = |name: &str| gguf.tensor(name).map(|tensor| *tensor.header());
                let decoder = open_decoder(bytes, gguf_llama_config(&gguf)?, &find)?;
                (decoder, BpeSource::gguf(&gguf)?)
            }
            _ => return Err(Error::new(0, ErrorKind::UnknownFormat)),
        };
        let tokenizer = BpeTokenizer::new(&tokenizer)?;
        Ok(Self { file, decoder, tokenizer })
    }

    /// As [`open`](Self::open), for a `.weights` file: a method of its own, so that programs
    /// without such files leave their reader out.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "embd")]
    pub fn open_weights(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let embd = Embd::parse(bytes, Mode::Lenient)?;
        if !embd_is_decoder(&embd) {
            return Err(OTHER_MODEL);
        }
        let find = |name: &str| embd.tensor(name).map(|tensor| *tensor.header());
        let decoder = open_decoder(bytes, embd_llama_config(&embd)?, &find)?;
        let tokenizer = BpeTokenizer::new(&BpeSource::embd(&embd)?)?;
        Ok(Self { file, decoder, tokenizer })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &LlamaConfig {
        self.decoder.config()
    }

    /// The tokens that end a text.
    #[must_use]
    pub const fn ends(&self) -> &EndTokens {
        &self.tokenizer.ends().end
    }

    /// The token ids of `text`, between the tokens that the model puts around every text if there
    /// are any. `special` says what control tokens become that the text spells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file's bytes have changed since it was opened.
    pub fn tokenize(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        self.tokenizer.encode(self.file.as_ref(), text, special)
    }

    /// How a token is spelled in GPT-2's alphabet, for
    /// [`token::bpe::Decoder`](crate::token::bpe::Decoder).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token.
    pub fn token(&self, id: u32) -> Result<&[u8]> {
        self.tokenizer.token(self.file.as_ref(), id)
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

    /// Takes tokens through the model behind those of the session: see [`Decoder::forward`].
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
        let weights = SliceWeights::new(self.file.as_ref(), |_: &str| None::<TensorHeader<'_>>);
        self.decoder.forward(&weights, session, ids, output)
    }
}

/// The decoder whose tensors `find` knows.
fn open_decoder(bytes: &[u8], config: LlamaConfig, find: Find<'_, '_>) -> Result<Decoder> {
    Decoder::open(&SliceWeights::new(bytes, find), config)
}
