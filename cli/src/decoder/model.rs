//! A decoder that is ready to run, over a file in memory.

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::llama::{
    Activations, Cache, Llama, LlamaConfig, LlamaLayer, LlamaMemory, LlamaPlan, Output,
};
use nanoembed_core::model::{
    Run, SliceWeights, Weights, amb_config_value, amb_llama_config, gguf_architecture,
    gguf_llama_config, gguf_pools_last_token,
};
use nanoembed_core::tensor::TensorHeader;
use nanoembed_core::{Error, ErrorKind};

use super::tokenizer::Tokenizer;

/// Tokens of a prompt that pass through the layers together.
const TOKENS_AT_ONCE: usize = 64;

/// Whether a file has a decoder: an `.amb` or GGUF file that does not say that it is an encoder.
pub(crate) fn is_decoder(bytes: &[u8]) -> bool {
    match sniff(bytes) {
        Some(Format::Amb) => Amb::parse(bytes, Mode::Lenient).is_ok_and(|amb| {
            !matches!(amb_config_value(&amb, "architecture"), None | Some("custom"))
        }),
        Some(Format::Gguf) => Gguf::parse(bytes, Mode::Lenient)
            .is_ok_and(|file| gguf_architecture(&file).is_some_and(|name| name != "bert")),
        _ => false,
    }
}

/// A model over the bytes of its file.
pub(crate) struct Decoder<'f> {
    bytes: &'f [u8],
    llama: Llama<Vec<LlamaLayer>>,
    pub(crate) tokenizer: Tokenizer,
    kernels: Kernels,
    activations: Activations,
    pools_last_token: bool,
}

impl<'f> Decoder<'f> {
    /// Opens an `.amb` or a GGUF file.
    pub(crate) fn open(bytes: &'f [u8], activations: Activations) -> Result<Self, Error> {
        let layers = |config: &LlamaConfig| vec![LlamaLayer::EMPTY; config.layers];
        let mut pools_last_token = false;
        let (llama, tokenizer) = match sniff(bytes) {
            Some(Format::Amb) => {
                let amb = Amb::parse(bytes, Mode::Lenient)?;
                let config = amb_llama_config(&amb)?;
                let find = |name: &str| amb.tensor(name).map(|tensor| *tensor.header());
                let weights = SliceWeights::new(bytes, find);
                (Llama::open(&weights, config, layers(&config))?, Tokenizer::of_amb(&amb)?)
            }
            Some(Format::Gguf) => {
                let file = Gguf::parse(bytes, Mode::Lenient)?;
                let config = gguf_llama_config(&file)?;
                pools_last_token = gguf_pools_last_token(&file);
                let find = |name: &str| file.tensor(name).map(|tensor| *tensor.header());
                let weights = SliceWeights::new(bytes, find);
                (Llama::open(&weights, config, layers(&config))?, Tokenizer::of_gguf(&file)?)
            }
            _ => return Err(Error::new(0, ErrorKind::UnknownFormat)),
        };
        let kernels = kernel::detect();
        Ok(Self { bytes, llama, tokenizer, kernels, activations, pools_last_token })
    }

    pub(crate) const fn config(&self) -> &LlamaConfig {
        self.llama.config()
    }

    /// Whether the model was made for embeddings by its last token's state.
    pub(crate) const fn pools_last_token(&self) -> bool {
        self.pools_last_token
    }

    /// Memory for texts of up to `positions` tokens.
    pub(crate) fn session(&self, positions: usize) -> Result<Session, Error> {
        let config = self.config();
        let overflow = Error::without_offset(ErrorKind::SizeOverflow);
        let cache = Cache::floats_needed(config, positions).ok_or(overflow)?;
        let activations = self.activations;
        let plan = LlamaPlan { activations, ..LlamaPlan::new(TOKENS_AT_ONCE, positions) };
        let needs = LlamaMemory::needs(config, &plan)?;
        Ok(Session {
            cache: vec![0.0; cache],
            floats: vec![0.0; needs.floats],
            bytes: vec![0; needs.bytes],
            plan,
            length: 0,
        })
    }

    /// Takes tokens through the model behind those of the session.
    pub(crate) fn forward(
        &self,
        session: &mut Session,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<(), Error> {
        let (mut cache, mut memory) = session.parts(self.config())?;
        let weights = self.weights();
        let run = Run::new(&weights, &self.kernels);
        self.llama.forward(&run, ids, &mut cache, &mut memory, output)?;
        session.length = cache.len();
        Ok(())
    }

    /// The embedding of a text, into `out`: the state of its last token, or the mean of all; see [`Llama::embed`].
    pub(crate) fn embed(
        &self,
        session: &mut Session,
        ids: &[u32],
        last_token: bool,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let mut states = vec![0.0; ids.len() * self.config().hidden];
        let (mut cache, mut memory) = session.parts(self.config())?;
        let weights = self.weights();
        let run = Run::new(&weights, &self.kernels);
        self.llama.embed(&run, ids, &mut cache, &mut memory, (last_token, &mut states, out))
    }

    /// The tensors were found when the model was opened.
    fn weights(&self) -> impl Weights + Sync + 'f {
        SliceWeights::new(self.bytes, |_: &str| None::<TensorHeader<'_>>)
    }
}

/// Keys and values of the tokens so far, and scratch memory.
pub(crate) struct Session {
    cache: Vec<f32>,
    floats: Vec<f32>,
    bytes: Vec<u8>,
    plan: LlamaPlan,
    length: usize,
}

impl Session {
    fn parts(&mut self, config: &LlamaConfig) -> Result<(Cache<'_>, LlamaMemory<'_>), Error> {
        let Self { cache, floats, bytes, plan, length } = self;
        let cache = Cache::resume(config, plan.positions, *length, cache)?;
        Ok((cache, LlamaMemory::new(config, plan, floats, bytes)?))
    }
}
