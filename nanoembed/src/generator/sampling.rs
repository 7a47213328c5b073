//! The choice of the next token, and the most tokens.

use std::hash::{BuildHasher, RandomState};

use nanoembed_core::model::llama::{self, Sampler};

use super::penalties::Penalties;
use crate::causal::generation_settings::GenerationSettings;
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
    /// Consider only tokens that have at least this share of the likeliest one's probability; 0: all.
    pub min_p: f32,
    /// Above 1, tokens that are in the prompt or the continuation become less likely, as in
    /// transformers; 1: no change.
    pub repetition_penalty: f32,
    /// Taken from the logits of tokens that are in the continuation, as OpenAI has it; 0: no change.
    pub presence_penalty: f32,
    /// Taken from these logits once for each time that the token is there.
    pub frequency_penalty: f32,
    /// The same seed gives the same text.
    pub seed: u64,
    /// The most tokens that are added.
    pub max_tokens: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.7,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            seed: 0,
            max_tokens: 128,
        }
    }
}

impl Sampling {
    /// The most tokens of an answer, unless its user says how many: memory for them is taken at once.
    pub const ANSWER_TOKENS: usize = 4096;

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

    /// The same considering only tokens that have at least this share of the likeliest one's
    /// probability.
    #[must_use]
    pub const fn min_p(self, min_p: f32) -> Self {
        Self { min_p, ..self }
    }

    /// The same with this penalty for tokens that are in the prompt or the continuation.
    #[must_use]
    pub const fn repetition_penalty(self, repetition_penalty: f32) -> Self {
        Self { repetition_penalty, ..self }
    }

    /// The same with this penalty for tokens that are in the continuation.
    #[must_use]
    pub const fn presence_penalty(self, presence_penalty: f32) -> Self {
        Self { presence_penalty, ..self }
    }

    /// The same with this penalty for each time that a token is in the continuation.
    #[must_use]
    pub const fn frequency_penalty(self, frequency_penalty: f32) -> Self {
        Self { frequency_penalty, ..self }
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

    /// The same but for what `settings` say.
    #[must_use]
    pub fn with(self, settings: &GenerationSettings) -> Self {
        Self {
            temperature: settings.temperature.unwrap_or(self.temperature),
            top_k: settings.top_k.unwrap_or(self.top_k),
            top_p: settings.top_p.unwrap_or(self.top_p),
            min_p: settings.min_p.unwrap_or(self.min_p),
            repetition_penalty: settings.repetition_penalty.unwrap_or(self.repetition_penalty),
            presence_penalty: settings.presence_penalty.unwrap_or(self.presence_penalty),
            frequency_penalty: settings.frequency_penalty.unwrap_or(self.frequency_penalty),
            ..self
        }
    }

    /// The penalties after a prompt; `None` if they change nothing.
    pub(super) fn penalties(&self, prompt: &[u32]) -> Option<Penalties> {
        let Self { repetition_penalty, presence_penalty, frequency_penalty, .. } = *self;
        let given = [repetition_penalty, presence_penalty, frequency_penalty];
        (given != [1.0, 0.0, 0.0]).then(|| Penalties::new(given, prompt))
    }

    /// The sampler; the error names a value that is out of its range.
    pub(super) fn sampler(&self) -> Result<Sampler> {
        let Self { temperature, top_k, top_p, min_p, seed, .. } = *self;
        let refuse = |name, message: &str| Err(Error::argument(name, message));
        if !(temperature.is_finite() && temperature >= 0.0) {
            return refuse("temperature", "is no number from 0 on");
        }
        if !(0.0..=1.0).contains(&top_p) {
            return refuse("top_p", "is no number from 0 to 1");
        }
        if !(0.0..=1.0).contains(&min_p) {
            return refuse("min_p", "is no number from 0 to 1");
        }
        if !(self.repetition_penalty.is_finite() && self.repetition_penalty > 0.0) {
            return refuse("repetition_penalty", "is no number above 0");
        }
        if !self.presence_penalty.is_finite() {
            return refuse("presence_penalty", "is no number");
        }
        if !self.frequency_penalty.is_finite() {
            return refuse("frequency_penalty", "is no number");
        }
        Sampler::new(llama::Sampling { temperature, top_k, top_p, min_p }, seed)
            .map_err(|error| Error::usage(format!("the sampling: {}", error.message())))
    }
}
