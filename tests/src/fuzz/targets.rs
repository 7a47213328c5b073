//! The fuzz targets as a table, to run them without cargo-fuzz.

use super::seeds;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Its function, which panics when a guarantee is broken.
    pub run: fn(&[u8]),
    /// Its seeds: names and inputs.
    pub seeds: fn() -> Vec<(String, Vec<u8>)>,
    /// The size limit of its inputs in bytes: inputs that break a reader are small, unless valid
    /// ones are large.
    pub most_bytes: usize,
}

impl Target {
    /// A target whose inputs are small.
    #[must_use]
    pub const fn new(
        name: &'static str,
        run: fn(&[u8]),
        seeds: fn() -> Vec<(String, Vec<u8>)>,
    ) -> Self {
        Self { name, run, seeds, most_bytes: 4096 }
    }

    /// Sets a larger limit.
    #[must_use]
    pub const fn up_to(self, most_bytes: usize) -> Self {
        Self { most_bytes, ..self }
    }
}

/// The core's targets, by name.
pub const TARGETS: &[Target] = &[
    Target::new("blob", super::blob, seeds::blob),
    Target::new("blocks", super::blocks, seeds::blocks),
    Target::new("bpe", super::bpe, seeds::bpe),
    Target::new("causal", super::causal, seeds::causal).up_to(128 << 10),
    Target::new("container", super::container, seeds::container),
    Target::new("decoder", super::decoder, seeds::decoder),
    Target::new("encoder", super::encoder, seeds::encoder).up_to(128 << 10),
    Target::new("finalfusion", super::finalfusion, || seeds::files("finalfusion")),
    Target::new("folder", super::folder, seeds::folder).up_to(8 << 10),
    Target::new("gguf", super::gguf, || seeds::files("gguf")),
    Target::new("json", super::json, seeds::json),
    Target::new("pipeline", super::pipeline, seeds::pipeline).up_to(16 << 10),
    Target::new("sentencepiece", super::sentencepiece, seeds::sentencepiece),
    Target::new("tokenizer", super::tokenizer, seeds::tokenizer),
    Target::new("weights", super::weights, seeds::weights),
];
