//! Rotary positions (Su et al. 2021): pairs of elements are rotated by an angle that grows with the
//! position.
//!
//! Models with an extended context divide the frequency of each pair by an individual divisor. All
//! methods reduce to a [`Rope`], and divisors for each pair where no formula gives them.
//!
//! | method | divisors | factor on cosines and sines |
//! |---|---|---|
//! | linear | one for all, [`Rope::position_divisor`] | none |
//! | Llama 3.1 | [`Llama3`], stored as a tensor | none |
//! | YaRN (Peng et al. 2023) | [`Yarn`] | [`Yarn::attention_factor`] |
//! | LongRoPE (Ding et al. 2024) | two tensors, for short texts and for long ones | [`long_attention_factor`] |

use crate::kernel::root;

/// The elements of a head that are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RopePairs {
    /// Element `i` with `i + head / 2`, as in the models of Hugging Face.
    Halves,
    /// Element `2i` with `2i + 1`, as in Llama's matrices in GGUF files.
    Neighbours,
}

/// The rotary positions of a model's heads.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rope {
    /// The number of leading elements of a head that are rotated, an even number; the others are
    /// unchanged.
    pub dimensions: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// Divisor of positions.
    pub position_divisor: f32,
    /// YaRN's divisors, applied in addition to stored ones.
    pub yarn: Option<Yarn>,
    /// Factor on cosines and sines.
    pub attention_factor: f32,
    /// Longer texts use the divisors for long texts, in models that have them.
    pub original_positions: usize,
    /// The elements that are rotated together.
    pub pairs: RopePairs,
}

impl Rope {
    /// Rotary positions by halves for `dimensions` elements, with frequencies of this base, in
    /// texts of up to `positions` tokens.
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

/// YaRN: pairs that rotate often within the original context keep their frequencies, those that
/// rotate rarely are divided by a factor, and those in between are interpolated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yarn {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// Frequencies are kept up to this pair.
    low: f64,
    /// Frequencies are divided by the whole factor from this pair on.
    high: f64,
}

/// The settings from which [`Yarn::new`] computes the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YarnSettings {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// The length of the original context in tokens.
    pub original_positions: f64,
    /// Pairs that rotate more often within the original context keep their frequencies; usually 32.
    pub beta_fast: f64,
    /// Pairs that rotate less often are divided by the whole factor; usually 1.
    pub beta_slow: f64,
    /// True to round bounds to whole pairs, which is usual.
    pub truncate: bool,
}

impl Yarn {
    /// The divisors for heads with `dimensions` rotated elements and frequencies of `base`; `None`
    /// for invalid settings.
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

    /// The divisor of a pair's frequency.
    #[must_use]
    pub fn divisor(&self, pair: usize) -> f64 {
        #[allow(clippy::cast_precision_loss)] // heads are small
        let ramp = ((pair as f64 - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        1.0 / (ramp / self.factor + (1.0 - ramp))
    }

    /// The default factor on cosines and sines for a context extended by `factor`.
    #[must_use]
    pub fn attention_factor(factor: f64, mscale: f64) -> f64 {
        if factor > 1.0 { 0.1 * mscale * libm::log(factor) + 1.0 } else { 1.0 }
    }
}

/// The divisors of Llama 3.1: none for waves that are short relative to the original context, a
/// factor for long ones, interpolated in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Llama3 {
    /// The factor by which the context was extended.
    pub factor: f64,
    /// Waves of which fewer fit the original context are divided by the factor.
    pub low_frequency_factor: f64,
    /// Waves of which more fit are unchanged.
    pub high_frequency_factor: f64,
    /// The length of the original context in tokens.
    pub original_positions: f64,
}

impl Llama3 {
    /// The divisor of a pair's frequency, for heads with `dimensions` rotated elements.
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

/// The default factor on cosines and sines of LongRoPE.
#[must_use]
pub fn long_attention_factor(factor: f64, original_positions: f64) -> f64 {
    match factor > 1.0 {
        true => root::sqrt_f64(1.0 + libm::log(factor) / libm::log(original_positions)),
        false => 1.0,
    }
}

/// The angle between consecutive positions for a pair, before any division.
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
