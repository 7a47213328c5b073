//! The fuzz targets as a table, for those that run them otherwise than cargo-fuzz.

use super::seeds;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// What it calls; panics when a promise is broken.
    pub run: fn(&[u8]),
    /// What it starts from: inputs and their names.
    pub seeds: fn() -> Vec<(String, Vec<u8>)>,
}

/// All of them, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "blob", run: super::blob, seeds: seeds::blob },
    Target { name: "blocks", run: super::blocks, seeds: seeds::blocks },
    Target { name: "bpe", run: super::bpe, seeds: seeds::bpe },
    Target { name: "container", run: super::container, seeds: seeds::container },
    Target { name: "decoder", run: super::decoder, seeds: seeds::decoder },
    Target { name: "finalfusion", run: super::finalfusion, seeds: || seeds::files("finalfusion") },
    Target { name: "gguf", run: super::gguf, seeds: || seeds::files("gguf") },
    Target { name: "json", run: super::json, seeds: seeds::json },
    Target { name: "sentencepiece", run: super::sentencepiece, seeds: seeds::sentencepiece },
    Target { name: "tokenizer", run: super::tokenizer, seeds: seeds::tokenizer },
    Target { name: "weights", run: super::weights, seeds: seeds::weights },
];
