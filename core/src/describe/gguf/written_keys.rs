//! Writes the keys of a transformer's [`Config`].

use super::GgufArchitecture;
use super::key::Key;
use crate::model::{Activation, Config, FeedForward, Mask, Mixture, NormKind, Window};

/// A value of layers with a window, and one of those without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByLayer<T> {
    layers: usize,
    window: Option<Window>,
    local: T,
    global: T,
}

impl<T: Copy> ByLayer<T> {
    const fn new(config: &Config, local: T, global: T) -> Self {
        let Config { layers, attention, .. } = config;
        Self { layers: *layers, window: attention.window, local, global }
    }

    /// The value of each layer.
    pub fn values(self) -> impl ExactSizeIterator<Item = T> {
        let has_window = move |layer| self.window.is_some_and(|window| window.is_in(layer));
        (0..self.layers).map(move |layer| if has_window(layer) { self.local } else { self.global })
    }
}

/// A value to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "these are types of GGUF")]
pub enum GgufValue {
    Size(usize),
    Float(f32),
    Truth(bool),
    Text(&'static str),
    Sizes(ByLayer<usize>),
    Truths(ByLayer<bool>),
}

use GgufValue::{Float, Size, Sizes, Text, Truth, Truths};

/// Receives keys and their values.
pub type PutKey<'p> = &'p mut dyn FnMut(Key, GgufValue);

/// Calls `put` with the keys of an encoder's transformer.
pub fn gguf_encoder_keys(architecture: GgufArchitecture, config: &Config, put: PutKey<'_>) {
    sizes(config, put);
    if architecture == GgufArchitecture::GemmaEmbedding2 {
        kinds_of_layers(config, put);
    } else {
        if config.heads.key_value != config.heads.query {
            put(Key::HeadCountKv, Size(config.heads.key_value));
        }
        if config.heads.width() != config.hidden {
            head_lengths(config, put);
        }
    }
    put(epsilon(config), Float(config.epsilon));
    if config.attention.mask != Mask::Causal {
        put(Key::Causal, Truth(false));
    }
    if let Some(relative) = config.buckets() {
        put(Key::RelativeBuckets, Size(relative.buckets));
    }
    if let Some(rotary) = config.rotary {
        put(Key::RopeBase, Float(rotary.global.base));
        if config.attention.window.is_some() {
            put(Key::RopeLocalBase, Float(rotary.local.base));
        }
    }
    if let Some(window) = config.attention.window {
        // Half of it is on each side.
        put(Key::SlidingWindow, Size(window.reach.saturating_mul(2)));
        if let Some(pattern) = window_pattern(architecture, config) {
            put(Key::SlidingWindowPattern, Size(pattern));
        }
    }
    match config.feed_forward {
        // llama.cpp always computes GELU by this approximation.
        FeedForward::Plain(Activation::GeluTanh) => put(Key::OwnActivation, Text("gelu_new")),
        FeedForward::Gated(Activation::Silu) if architecture == GgufArchitecture::ModernBert => {
            put(Key::HiddenActivation, Text("silu"));
        }
        FeedForward::Mixed(Mixture { experts, used, every, .. }) => {
            put(Key::Experts, Size(experts));
            put(Key::ExpertsUsed, Size(used));
            put(Key::ExpertsEvery, Size(every));
        }
        _ => {}
    }
}

/// The keys of EmbeddingGemma 2, in which heads of layers with a window may differ from others.
fn kinds_of_layers(config: &Config, put: PutKey<'_>) {
    let (local, global) = (config.heads_of(true), config.heads_of(false));
    let key_heads = ByLayer::new(config, local.key_value, global.key_value);
    put(Key::HeadCountKv, Sizes(key_heads));
    for (key, size) in [
        (Key::KeyLength, global.size),
        (Key::ValueLength, global.size),
        (Key::RopeDimensions, global.size),
        (Key::LocalKeyLength, local.size),
        (Key::LocalValueLength, local.size),
        (Key::LocalRopeDimensions, local.size),
        (Key::PerLayerLength, config.per_layer.unwrap_or(0)),
        (Key::OutputLength, config.final_projection.unwrap_or(0)),
    ] {
        put(key, Size(size));
    }
    put(Key::SlidingWindowPattern, Truths(ByLayer::new(config, true, false)));
}

/// The period of an encoder's layers without a window: the first of each period in ModernBERT, the
/// last in Gemma. 0 if all layers have a window; `None` if no number expresses it.
#[must_use]
pub fn window_pattern(architecture: GgufArchitecture, config: &Config) -> Option<usize> {
    let window = config.attention.window?;
    let is_first = match architecture {
        GgufArchitecture::ModernBert => true,
        GgufArchitecture::GemmaEmbedding => false,
        _ => return None,
    };
    let has_window = |pattern: usize, layer: usize| match layer.checked_rem(pattern) {
        None => true,
        Some(turn) if is_first => turn != 0,
        Some(turn) => turn.saturating_add(1) != pattern,
    };
    let fits = |pattern: &usize| {
        (0..config.layers).all(|layer| has_window(*pattern, layer) == window.is_in(layer))
    };
    (0..=config.layers.saturating_add(1)).find(fits)
}

/// Calls `put` with the sizes of a decoder. Its windows and rotary positions are written
/// separately.
pub fn gguf_decoder_keys(config: &Config, put: PutKey<'_>) {
    sizes(config, put);
    put(Key::HeadCountKv, Size(config.heads.key_value));
    put(epsilon(config), Float(config.epsilon));
    head_lengths(config, put);
    put(Key::VocabularySize, Size(config.vocabulary));
}

fn sizes(config: &Config, put: PutKey<'_>) {
    for (key, size) in [
        (Key::BlockCount, config.layers),
        (Key::ContextLength, config.positions),
        (Key::EmbeddingLength, config.hidden),
        (Key::FeedForwardLength, config.intermediate),
        (Key::HeadCount, config.heads.query),
    ] {
        put(key, Size(size));
    }
}

fn head_lengths(config: &Config, put: PutKey<'_>) {
    put(Key::KeyLength, Size(config.heads.size));
    put(Key::ValueLength, Size(config.heads.size));
}

const fn epsilon(config: &Config) -> Key {
    match config.norm {
        NormKind::Layer => Key::LayerNormEpsilon,
        NormKind::Rms { .. } => Key::RmsNormEpsilon,
    }
}
