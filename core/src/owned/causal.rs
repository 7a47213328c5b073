//! Models that continue texts: a file in, token ids in, logits out.

use alloc::vec;
use alloc::vec::Vec;

use super::bpe::BpeTokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Format, Mode};
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
#[cfg(feature = "gguf")]
use crate::format::gguf::Gguf;
use crate::format::sniff;
use crate::kernel::{self, Kernels};
#[cfg(feature = "amb")]
use crate::model::amb_llama_config;
#[cfg(feature = "gguf")]
use crate::model::gguf_llama_config;
use crate::model::llama::{
    BpeSource, Cache, Llama, LlamaConfig, LlamaLayer, LlamaMemory, LlamaPlan, Output,
};
use crate::model::{Run, SliceWeights};
use crate::tensor::TensorHeader;

/// A decoder of the Llama family with its tokenizer, over an `.amb` or a GGUF file whose bytes `B` holds.
///
/// Immutable: several texts may be continued at once, each in a [`CausalSession`] of its own.
#[derive(Clone, Debug)]
pub struct CausalModel<B> {
    file: B,
    llama: Llama<Vec<LlamaLayer>>,
    kernels: Kernels,
    tokenizer: BpeTokenizer,
}

impl<B: AsRef<[u8]>> CausalModel<B> {
    /// Opens a decoder. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::UnsupportedVersion`] if its tokenizer is not
    /// byte-level BPE with a pattern that is known; [`ErrorKind::UnknownFormat`] if the format holds no decoders.
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let layers = |config: &LlamaConfig| vec![LlamaLayer::EMPTY; config.layers];
        let (llama, tokenizer) = match sniff(bytes) {
            #[cfg(feature = "amb")]
            Some(Format::Amb) => {
                let amb = Amb::parse(bytes, Mode::Lenient)?;
                let config = amb_llama_config(&amb)?;
                let find = |name: &str| amb.tensor(name).map(|tensor| *tensor.header());
                let weights = SliceWeights::new(bytes, find);
                let llama = Llama::open(&weights, config, layers(&config))?;
                (llama, BpeTokenizer::new(&BpeSource::amb(&amb)?)?)
            }
            #[cfg(feature = "gguf")]
            Some(Format::Gguf) => {
                let gguf = Gguf::parse(bytes, Mode::Lenient)?;
                let config = gguf_llama_config(&gguf)?;
                let find = |name: &str| gguf.tensor(name).map(|tensor| *tensor.header());
                let weights = SliceWeights::new(bytes, find);
                let llama = Llama::open(&weights, config, layers(&config))?;
                (llama, BpeTokenizer::new(&BpeSource::gguf(&gguf)?)?)
            }
            _ => return Err(Error::new(0, ErrorKind::UnknownFormat)),
        };
        Ok(Self { file, llama, kernels: kernel::detect(), tokenizer })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &LlamaConfig {
        self.llama.config()
    }

    /// The token that ends a text.
    #[must_use]
    pub const fn end(&self) -> Option<u32> {
        self.tokenizer.end
    }

    /// The token ids of `text`, behind the token that begins every text if the model has one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file's bytes have changed since it was opened.
    pub fn tokenize(&self, text: &str) -> Result<Vec<u32>> {
        self.tokenizer.encode(self.file.as_ref(), text)
    }

    /// How a token is spelled in GPT-2's alphabet, for [`token::bpe::Decoder`](crate::token::bpe::Decoder).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token.
    pub fn token(&self, id: u32) -> Result<&[u8]> {
        self.tokenizer.token(self.file.as_ref(), id)
    }

    /// Memory for one text: keys and values of as many tokens as the plan has positions, and scratch.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan has no tokens; [`ErrorKind::BufferTooSmall`] if there is not as much
    /// memory.
    pub fn session(&self, plan: LlamaPlan) -> Result<CausalSession> {
        let plan = LlamaPlan { tile_bytes: 0, ..plan };
        let config = self.config();
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let cache = Cache::floats_needed(config, plan.positions).ok_or(too_small)?;
        let needs = LlamaMemory::needs(config, &plan)?;
        Ok(CausalSession {
            plan,
            cache: zeros(cache).ok_or(too_small)?,
            floats: zeros(needs.floats).ok_or(too_small)?,
            bytes: zeros(needs.bytes).ok_or(too_small)?,
            length: 0,
        })
    }

    /// Takes tokens through the model behind those of the session: see [`Llama::forward`].
    ///
    /// # Errors
    ///
    /// As [`Llama::forward`].
    pub fn forward(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<()> {
        let config = self.config();
        let CausalSession { plan, cache, floats, bytes, length } = session;
        let mut cache = Cache::resume(config, plan.positions, *length, cache)?;
        let mut memory = LlamaMemory::new(config, plan, floats, bytes)?;
        let weights = SliceWeights::new(self.file.as_ref(), |_: &str| None::<TensorHeader<'_>>);
        let run = Run::new(&weights, &self.kernels);
        self.llama.forward(&run, ids, &mut cache, &mut memory, output)?;
        *length = cache.len();
        Ok(())
    }
}

/// The tokens of one text so far, as keys and values, and scratch memory.
#[derive(Clone, Debug)]
pub struct CausalSession {
    plan: LlamaPlan,
    cache: Vec<f32>,
    floats: Vec<f32>,
    bytes: Vec<u8>,
    length: usize,
}

impl CausalSession {
    /// Forgets the text.
    pub const fn clear(&mut self) {
        self.length = 0;
    }
}

/// Zeros, or `None` if there is not as much memory.
fn zeros<T: Clone + Default>(count: usize) -> Option<Vec<T>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(count).ok()?;
    memory.resize(count, T::default());
    Some(memory)
}
