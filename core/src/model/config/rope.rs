//! Rotary positions (Su et al. 2021): pairs of elements are turned by an angle that grows with the
//! position.
//!
//! Models whose context was extended divide the frequency of each pair by a number of its own. All
//! ways to choose them come down to the same: a [`Rope`], and divisors for each pair where a
//! formula does not say them.
//!
//! | way | divisors | factor on cosines and sines |
//! |---|---|---|
//! | linear | one for all, [`Rope::position_divisor`] | none |
//! | Llama 3.1 | [`Llama3`], stored as a tensor | none |
//! | YaRN (Peng et al. 2023) | [`Yarn`] | [`Yarn::attention_factor`] |
//! | LongRoPE (Ding et al. 2024) | two tensors, for short texts and for long ones | [`long_attention_factor`] |

use crate::kernel::root;

/// Which elements of a head are turned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RopePairs {
    /// Element `i` with `i + head / 2`, as the models of Hugging Face.
    Halves,
    /// Element `2i` with `2i + 1`, as Llama's matrices in GGUF files.
    Neighbours,
}

/// How positions turn the heads of a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rope {
    /// Elements of a head that are turned, from its first on, an even number; the others stay as
    /// they are.
    pub dimensions: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// By what positions are divided.
    pub position_divisor: f32,
    /// YaRN's divisors beside those that are stored.
    pub yarn: Option<Yarn>,
    /// What cosines and sines are multiplied with.
    pub attention_factor: f32,
    /// Texts of more tokens take the divisors for long texts, in models that have such.
    pub original_positions: usize,
    /// Which elements are turned together.
    pub pairs: RopePairs,
}

impl Rope {
    /// How heads are turned in halves, so many of their elements, by frequencies of this base, in
    /// texts of so many tokens.
    #[must_use]
    pub const fn new(dimensions: usize, base: f32, positions: usize) -> Self {
        Self {
            dimensions,
            base,
            position_divisor: 1.0,
            yarn: None,
            attention_factor: 1.0,
            original_positions: positions,
            pairs: RopePairs::Halves,
        }
    }
}

/// YaRN: pairs that turn often within the original context keep their frequencies, those that turn
/// seldom are divided by a factor, and those between are divided by something between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yarn {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// Up to this pair frequencies are kept.
    low: f64,
    /// From this pair on they are divided by the factor.
    high: f64,
}

/// What [`Yarn::new`] makes the bounds from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YarnSettings {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// The tokens of the context before that.
    pub original_positions: f64,
    /// Pairs that turn more often within that context keep their frequencies; 32 as a rule.
    pub beta_fast: f64,
    /// Pairs that turn less often are divided by the whole factor; 1 as a rule.
    pub beta_slow: f64,
    /// Whether bounds are rounded to whole pairs; they are as a rule.
    pub truncate: bool,
}

impl Yarn {
    /// The divisors for heads of which so many elements are turned, with the frequencies of `base`;
    /// `None` if the settings make no sense.
    #[must_use]
    pub fn new(settings: &YarnSettings, dimensions: usize, base: f32) -> Option<Self> {
        let YarnSettings { factor, original_positions, beta_fast, beta_slow, truncate } = *settings;
        #[allow(clippy::cast_precision_loss)] // heads are small
        let dimensions = dimensions as f64;
        let pair_of = |turns: f64| {
            let ratio = libm::log(original_positions / (turns * core::f64::consts::TAU));
            dimensions * ratio / (2.0 * libm::log(f64::from(base)))
        };
        let (mut low, mut high) = (pair_of(beta_fast), pair_of(beta_slow));
        if truncate {
            (low, high) = (libm::floor(low), libm::ceil(high));
        }
        let (low, mut high) = (low.max(0.0), high.min(dimensions - 1.0));
        if low == high {
            high += 0.001;
        }
        let positive = factor.is_finite() && factor > 0.0;
        (positive && low.is_finite() && high.is_finite() && low < high).then_some(Self {
            factor,
            low,
            high,
        })
    }

    /// By what the frequency of a pair is divided.
    #[must_use]
    pub fn divisor(&self, pair: usize) -> f64 {
        #[allow(clippy::cast_precision_loss)] // heads are small
        let ramp = ((pair as f64 - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        1.0 / (ramp / self.factor + (1.0 - ramp))
    }

    /// The factor on cosines and sines that belongs to a context extended by `factor`, unless the
    /// model has another.
    #[must_use]
    pub fn attention_factor(factor: f64, mscale: f64) -> f64 {
        if factor > 1.0 { 0.1 * mscale * libm::log(factor) + 1.0 } else { 1.0 }
    }
}

/// The divisors of Llama 3.1: none where a wave is short against the context that the model was
/// trained for, a factor where it is long, and something between elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Llama3 {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// Waves of which fewer fit the original context are divided by the factor.
    pub low_frequency_factor: f64,
    /// Waves of which more fit stay.
    pub high_frequency_factor: f64,
    /// The tokens of the original context.
    pub original_positions: f64,
}

impl Llama3 {
    /// By what the frequency of a pair is divided, of heads of which so many elements are turned.
    #[must_use]
    pub fn divisor(&self, pair: usize, dimensions: usize, base: f32) -> f64 {
        let (low, high) = (self.low_frequency_factor, self.high_frequency_factor);
        let wave = core::f64::consts::TAU / frequency(pair, dimensions, base);
        let turns = self.original_positions / wave;
        let smooth = (turns - low) / (high - low);
        if turns > high {
            1.0
        } else if turns < low {
            self.factor
        } else {
            1.0 / ((1.0 - smooth) / self.factor + smooth)
        }
    }
}

/// The factor on cosines and sines of LongRoPE, unless the model has another.
#[must_use]
pub fn long_attention_factor(factor: f64, original_positions: f64) -> f64 {
    match factor > 1.0 {
        true => root::sqrt_f64(1.0 + libm::log(factor) / libm::log(original_positions)),
        false => 1.0,
    }
}

/// The angle between two positions for a pair, before it is divided by anything.
pub(in crate::model) fn frequency(pair: usize, dimensions: usize, base: f32) -> f64 {
    #[allow(clippy::cast_precision_loss)] // heads are small
    let exponent = -2.0 * pair as f64 / dimensions as f64;
    libm::pow(f64::from(base), exponent)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    const YARN_8: [f64; 4] = [1.0, 1.6, 4.0, 4.0];
    const YARN_8_OTHER: [f64; 4] = [1.0, 1.652_031_989_498_816_7, 2.5, 2.5];

    /// Values of `_compute_yarn_parameters` in transformers 5.
    #[test]
    fn yarn_divides_as_transformers_does() {
        let usual = YarnSettings {
            factor: 4.0,
            original_positions: 64.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: true,
        };
        let divisors = |settings: &YarnSettings, dimensions| -> Vec<f64> {
            let yarn = Yarn::new(settings, dimensions, 10_000.0).unwrap();
            (0..dimensions / 2).map(|pair| yarn.divisor(pair)).collect()
        };
        near(&divisors(&usual, 8), &YARN_8);
        let other =
            YarnSettings { beta_fast: 4.0, beta_slow: 0.5, truncate: false, factor: 2.5, ..usual };
        near(&divisors(&other, 8), &YARN_8_OTHER);
        assert!((Yarn::attention_factor(4.0, 1.0) - 1.138_629_436_111_989).abs() < 1e-12);
        assert_eq!(Yarn::new(&YarnSettings { original_positions: 0.0, ..usual }, 8, 1e4), None);
        assert_eq!(Yarn::new(&YarnSettings { factor: f64::NAN, ..usual }, 8, 1e4), None);
    }
}
