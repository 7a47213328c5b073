//! Decoders of the Llama family from `.amb` and GGUF files, ready to run.

use nanoembed_core::Error;
use nanoembed_core::describe::gguf::gguf_llama_config;
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::llama::{
    Activations, Cache, Llama, LlamaConfig, LlamaLayer, LlamaMemory, LlamaPlan, Output,
};
use nanoembed_core::model::{Run, SliceWeights, Weights};
use nanoembed_core::source::amb_llama_config;
use nanoembed_core::tensor::TensorHeader;

/// A model over the bytes of its file, with memory for one text.
#[derive(Debug)]
pub struct Decoder<'f> {
    bytes: &'f [u8],
    /// The model.
    pub llama: Llama<Vec<LlamaLayer>>,
    /// The kernels with which it runs.
    pub kernels: Kernels,
    plan: LlamaPlan,
    cache: Vec<f32>,
    length: usize,
    floats: Vec<f32>,
    scratch: Vec<u8>,
}

impl<'f> Decoder<'f> {
    /// Opens an `.amb` or a GGUF file for texts of up to `positions` tokens, `tokens` of them at a
    /// time.
    ///
    /// # Panics
    ///
    /// If the file is neither, or not a decoder.
    #[must_use]
    pub fn open(
        bytes: &'f [u8],
        (tokens, positions): (usize, usize),
        activations: Activations,
    ) -> Self {
        let llama = match sniff(bytes) {
            Some(Format::Amb) => open_amb(bytes),
            Some(Format::Gguf) => open_gguf(bytes),
            other => panic!("{other:?} is no decoder"),
        };
        let llama = llama.expect("a decoder");
        let plan = LlamaPlan { activations, ..LlamaPlan::new(tokens, positions) };
        let needs = LlamaMemory::needs(llama.config(), &plan).expect("a plan");
        let cache = Cache::floats_needed(llama.config(), positions).expect("positions");
        Self {
            bytes,
            llama,
            kernels: kernel::detect(),
            plan,
            cache: vec![0.0; cache],
            length: 0,
            floats: vec![0.0; needs.floats],
            scratch: vec![0; needs.bytes],
        }
    }

    /// Forgets the text.
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Runs the model on tokens that continue the text.
    ///
    /// # Panics
    ///
    /// If the model rejects them.
    pub fn forward(&mut self, ids: &[u32], output: Output<'_>) {
        let config = *self.llama.config();
        let positions = self.plan.positions;
        let mut cache =
            Cache::resume(&config, positions, self.length, &mut self.cache).expect("a cache");
        let mut memory = LlamaMemory::new(&config, &self.plan, &mut self.floats, &mut self.scratch)
            .expect("memory");
        let weights = SliceWeights::new(self.bytes, |_: &str| None::<TensorHeader<'_>>);
        let run = Run::new(&weights, &self.kernels);
        self.llama.forward(&run, ids, &mut cache, &mut memory, output).expect("a pass");
        self.length = cache.len();
    }
}

fn open(weights: &impl Weights, config: LlamaConfig) -> Result<Llama<Vec<LlamaLayer>>, Error> {
    Llama::open(weights, config, vec![LlamaLayer::EMPTY; config.layers])
}

fn open_amb(bytes: &[u8]) -> Result<Llama<Vec<LlamaLayer>>, Error> {
    let amb = Amb::parse(bytes, Mode::Lenient)?;
    let config = amb_llama_config(&amb)?;
    let find = |name: &str| amb.tensor(name).map(|tensor| *tensor.header());
    open(&SliceWeights::new(bytes, find), config)
}

fn open_gguf(bytes: &[u8]) -> Result<Llama<Vec<LlamaLayer>>, Error> {
    let gguf = Gguf::parse(bytes, Mode::Lenient)?;
    let config = gguf_llama_config(&gguf)?;
    let find = |name: &str| gguf.tensor(name).map(|tensor| *tensor.header());
    open(&SliceWeights::new(bytes, find), config)
}
