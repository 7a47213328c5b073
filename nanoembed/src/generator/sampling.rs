//! The choice of the next token, and the most tokens.

use std::hash::{BuildHasher, RandomState};

use nanoembed_core::model::llama::{self, Sampler};

use crate::error::{Error, Result};

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
    /// A seed that differs each time, and is small enough to be typed.
    #[must_use]
    pub fn random_seed() -> u64 {
        RandomState::new().hash_one(0) & u64::from(u32::MAX)
    }

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

    /// The sampler, unless a probability or the temperature is none.
    pub(super) fn sampler(&self) -> Result<Sampler> {
        let Self { temperature, top_k, top_p, seed, .. } = *self;
        let refuse = |name, message: &str| Err(Error::argument(name, message));
        if !(temperature.is_finite() && temperature >= 0.0) {
            return refuse("temperature", "is no number from 0 on");
        }
        if !(0.0..=1.0).contains(&top_p) {
            return refuse("top_p", "is no number from 0 to 1");
        }
        Sampler::new(llama::Sampling { temperature, top_k, top_p }, seed)
            .map_err(|error| Error::usage(format!("the sampling: {}", error.message())))
    }
}
