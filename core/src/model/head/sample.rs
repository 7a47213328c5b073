//! Sampling of the next token.

use crate::error::{Error, ErrorKind, Result};
use crate::top::{ByRow, Scored, TopK};

/// Sampling parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The divisor of logits; 0 always takes the most likely token.
    pub temperature: f32,
    /// The number of most likely tokens that are considered; 0 for all.
    pub top_k: usize,
    /// The total probability of the most likely tokens that are considered; 1 for all.
    pub top_p: f32,
    /// The probability of the least likely token that is considered, as a share of that of the most
    /// likely one; 0 for all.
    pub min_p: f32,
}

impl Sampling {
    /// Always takes the most likely token.
    pub const GREEDY: Self = Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0 };
}

/// Samples tokens; the same seed and logits give the same tokens.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    state: u64,
}

impl Sampler {
    /// A sampler with the given `seed`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a temperature that is negative or NaN, or a `top_p` or
    /// `min_p` outside 0 … 1.
    pub fn new(sampling: Sampling, seed: u64) -> Result<Self> {
        let is_sound = sampling.temperature >= 0.0
            && sampling.temperature.is_finite()
            && (0.0..=1.0).contains(&sampling.top_p)
            && (0.0..=1.0).contains(&sampling.min_p);
        if is_sound {
            Ok(Self { sampling, state: seed })
        } else {
            Err(Error::without_offset(ErrorKind::InvalidArgument))
        }
    }

    /// The next token for `logits`; `order` is memory for as many tokens as are considered: all, or
    /// `top_k`. NaN is never chosen; returns 0 if there is nothing else.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `order` is too short.
    pub fn next(&mut self, logits: &[f32], order: &mut [Scored]) -> Result<u32> {
        let mut best = (f32::NEG_INFINITY, 0);
        for (id, &logit) in (0_u32..).zip(logits) {
            if logit > best.0 {
                best = (logit, id);
            }
        }
        let Sampling { temperature, top_k, top_p, min_p } = self.sampling;
        if temperature == 0.0 {
            return Ok(best.1);
        }
        let kept = if top_k == 0 { logits.len() } else { top_k.min(logits.len()) };
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let mut top = TopK::new(order.get_mut(..kept).ok_or(too_small)?, &[]);
        for (row, &score) in (0..).zip(logits) {
            top.offer(Scored { score, row }, &ByRow)?;
        }
        let likelihood = |logit: f32| {
            let likelihood = libm::expf((logit - best.0) / temperature);
            if likelihood.is_finite() { likelihood } else { 0.0 }
        };
        // The most likely first; ties go to the lower id.
        let order = top.into_sorted(&ByRow)?;
        let total: f32 = order.iter().map(|token| likelihood(token.score)).sum();
        let (mut sum, mut count) = (0.0, 0);
        for token in order {
            // The most likely token has the likelihood 1.
            let likelihood = likelihood(token.score);
            if count > 0 && (sum >= top_p * total || likelihood < min_p) {
                break;
            }
            sum += likelihood;
            count += 1;
        }
        let mut point = self.random() * sum;
        let order = order.get(..count).unwrap_or_default();
        for token in order {
            point -= likelihood(token.score);
            if point < 0.0 {
                return Ok(token.row);
            }
        }
        Ok(order.last().map_or(best.1, |token| token.row))
    }

    /// SplitMix64, whose upper 24 bits become a number from 0 to 1.
    fn random(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        #[allow(clippy::cast_precision_loss)] // 24 bits
        let number = ((mixed ^ mixed >> 31) >> 40) as f32;
        number / 16_777_216.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_likeliest_and_ignores_nan() {
        let mut sampler = Sampler::new(Sampling::GREEDY, 1).unwrap();
        assert_eq!(sampler.next(&[0.0, 3.0, f32::NAN, 2.0], &mut []), Ok(1));
        assert_eq!(sampler.next(&[f32::NAN], &mut []), Ok(0));
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let sampling = Sampling { temperature: 1.0, ..Sampling::GREEDY };
        let mut sampler = Sampler::new(sampling, 7).unwrap();
        let logits = [libm::logf(0.5), libm::logf(0.3), libm::logf(0.2)];
        let (mut order, mut counts) = ([Scored::default(); 3], [0_u32; 3]);
        for _ in 0..30_000 {
            counts[sampler.next(&logits, &mut order).unwrap() as usize] += 1;
        }
        for (count, expected) in counts.iter().zip([15_000.0, 9_000.0, 6_000.0]) {
            // Five standard deviations.
            assert!((f64::from(*count) - expected).abs() < 430.0, "{counts:?}");
        }
    }

    #[test]
    fn unlikely_tokens_can_be_left_out() {
        let logits = [1.0, 4.0, 2.0, 3.0];
        let mut order = [Scored::default(); 4];
        // At this temperature the likelihoods are e^-1.5, 1, e^-1 and e^-0.5 = 0.61.
        for (top_k, top_p, min_p, allowed) in [
            (2, 1.0, 0.0, [1, 3]),
            (0, 0.7, 0.0, [1, 3]),
            (1, 0.0, 0.0, [1, 1]),
            (0, 1.0, 0.6, [1, 3]),
            (0, 1.0, 0.61, [1, 1]),
            (0, 1.0, 1.0, [1, 1]),
        ] {
            let sampling = Sampling { temperature: 2.0, top_k, top_p, min_p };
            let mut sampler = Sampler::new(sampling, 3).unwrap();
            for _ in 0..200 {
                assert!(allowed.contains(&sampler.next(&logits, &mut order).unwrap()));
            }
        }
    }
}
