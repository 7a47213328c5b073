//! The choice of the next token, and the most tokens.

use nanoembed_core::model::llama;

/// The choice of the next token, and the most tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// 0 always takes the likeliest token; larger is more varied.
    pub temperature: f32,
    /// Consider only so many of the likeliest tokens; 0: all.
    pub top_k: usize,
    /// Consider only the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// The same seed gives the same text.
    pub seed: u64,
    /// The most tokens that are added.
    pub max_tokens: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.7, top_k: 40, top_p: 0.95, seed: 0, max_tokens: 128 }
    }
}

impl Sampling {
    /// Always the likeliest token.
    #[must_use]
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// The same with this temperature.
    #[must_use]
    pub const fn temperature(self, temperature: f32) -> Self {
        Self { temperature, ..self }
    }

    /// The same considering only so many of the likeliest tokens.
    #[must_use]
    pub const fn top_k(self, top_k: usize) -> Self {
        Self { top_k, ..self }
    }

    /// The same considering only the likeliest tokens that together have this probability.
    #[must_use]
    pub const fn top_p(self, top_p: f32) -> Self {
        Self { top_p, ..self }
    }

    /// The same with this seed.
    #[must_use]
    pub const fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with at most so many tokens.
    #[must_use]
    pub const fn max_tokens(self, max_tokens: usize) -> Self {
        Self { max_tokens, ..self }
    }

    pub(super) const fn core(&self) -> llama::Sampling {
        let Self { temperature, top_k, top_p, .. } = *self;
        llama::Sampling { temperature, top_k, top_p }
    }
}
