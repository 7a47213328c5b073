//! The pooling modes of sentence-transformers, which reduce the vectors of a text's tokens to one;
//! several modes are concatenated.

use crate::kernel;
use crate::kernel::pieces::copy;
use crate::kernel::root;

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolingMode {
    /// The vector of the first token.
    First,
    /// The maximum of each element.
    Max,
    /// The mean.
    Mean,
    /// The sum divided by the square root of the number of tokens.
    MeanByRoot,
    /// The mean weighted by position, from 1 on.
    WeightedMean,
    /// The vector of the last token.
    Last,
}

impl PoolingMode {
    /// All modes, in the order in which the switches of older configurations concatenate them.
    pub const ALL: [Self; 6] =
        [Self::First, Self::Max, Self::Mean, Self::MeanByRoot, Self::WeightedMean, Self::Last];

    /// Pools `states` (`[tokens, out.len()]`) without the first `skipped` tokens. If no token is
    /// left, the vector is zeros, except that [`First`](Self::First) takes the text's first token.
    pub(super) fn pool(self, states: &[f32], skipped: usize, out: &mut [f32]) {
        out.fill(0.0);
        let tokens = states.chunks_exact(out.len().max(1));
        let count = tokens.len().saturating_sub(skipped);
        let mut kept = tokens.clone().skip(skipped);
        match self {
            Self::First => {
                let first = kept.next().or_else(|| tokens.clone().next());
                first.into_iter().for_each(|token| copy(out, token));
            }
            Self::Last => kept.last().into_iter().for_each(|token| copy(out, token)),
            Self::Max => {
                kept.next().into_iter().for_each(|token| copy(out, token));
                kept.for_each(|token| larger_of_each(out, token));
            }
            Self::Mean => {
                kept.for_each(|token| kernel::add(out, token));
                kernel::scale(out, 1.0 / float(count));
            }
            Self::MeanByRoot => {
                kept.for_each(|token| kernel::add(out, token));
                kernel::scale(out, 1.0 / root::sqrt_f32(float(count)));
            }
            Self::WeightedMean => {
                let mut sum = 0.0;
                for (place, token) in (skipped + 1..).zip(kept) {
                    let weight = float(place);
                    out.iter_mut().zip(token).for_each(|(out, x)| *out += x * weight);
                    sum += weight;
                }
                kernel::scale(out, 1.0 / f32::max(sum, 1.0));
            }
        }
    }
}

fn larger_of_each(out: &mut [f32], token: &[f32]) {
    out.iter_mut().zip(token).for_each(|(out, x)| *out = out.max(*x));
}

/// `count` as f32, at least 1.
#[allow(clippy::cast_precision_loss)] // texts have fewer than 2²⁴ tokens
const fn float(count: usize) -> f32 {
    if count == 0 { 1.0 } else { count as f32 }
}

/// Pooling modes, whose vectors are concatenated in the order in which they were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PoolingModes {
    /// [`BITS`](Self::BITS) bits per mode, the first one lowest: its index in [`PoolingMode::ALL`]
    /// plus 1.
    codes: u32,
}

impl PoolingModes {
    /// No mode.
    pub const NONE: Self = Self { codes: 0 };
    /// The largest number of modes.
    pub const MOST: usize = (u32::BITS / Self::BITS) as usize;

    const BITS: u32 = 4;

    /// Appends a mode; no effect if there are already [`MOST`](Self::MOST).
    #[must_use]
    pub const fn with(self, mode: PoolingMode) -> Self {
        let code = (mode as u32 + 1).checked_shl(self.count() as u32 * Self::BITS);
        match code {
            Some(code) => Self { codes: self.codes | code },
            None => self,
        }
    }

    /// The modes in order.
    pub fn iter(self) -> impl Iterator<Item = PoolingMode> {
        (0..Self::MOST).map_while(move |place| {
            let code = self.codes >> (place as u32 * Self::BITS) & ((1 << Self::BITS) - 1);
            PoolingMode::ALL.get((code as usize).checked_sub(1)?).copied()
        })
    }

    /// The number of modes.
    #[must_use]
    pub const fn count(self) -> usize {
        (u32::BITS - self.codes.leading_zeros()).div_ceil(Self::BITS) as usize
    }

    /// Returns true if a linear layer may follow the pooling as well as precede it: for a single
    /// mode other than the maximum.
    #[must_use]
    pub fn is_linear(self) -> bool {
        self.count() == 1 && self != PoolingMode::Max.into()
    }

    /// Pools the states of a text's tokens (`[tokens, width]`) into `out`, `width` elements for
    /// each mode. The first `skipped` tokens, those of a prompt, are left out.
    pub fn pool(self, states: &[f32], width: usize, skipped: usize, out: &mut [f32]) {
        for (mode, out) in self.iter().zip(out.chunks_exact_mut(width.max(1))) {
            mode.pool(states, skipped, out);
        }
    }
}

impl FromIterator<PoolingMode> for PoolingModes {
    fn from_iter<I: IntoIterator<Item = PoolingMode>>(modes: I) -> Self {
        modes.into_iter().fold(Self::NONE, Self::with)
    }
}

impl From<PoolingMode> for PoolingModes {
    fn from(mode: PoolingMode) -> Self {
        Self::NONE.with(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [f32; 6] = [1.0, -8.0, 3.0, -2.0, 2.0, -4.0];

    fn pooled(mode: PoolingMode, skipped: usize) -> [f32; 2] {
        let mut out = [f32::NAN; 2];
        PoolingModes::from(mode).pool(&STATES, 2, skipped, &mut out);
        out
    }

    #[test]
    fn each_way_pools_as_its_name_says() {
        let root = root::sqrt_f32(3.0);
        let expected = [
            [1.0, -8.0],
            [3.0, -2.0],
            [2.0, -14.0 / 3.0],
            [6.0 / root, -14.0 / root],
            [13.0 / 6.0, -24.0 / 6.0],
            [2.0, -4.0],
        ];
        for (mode, expected) in PoolingMode::ALL.into_iter().zip(expected) {
            let found = pooled(mode, 0);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{mode:?}");
        }
    }

    #[test]
    fn tokens_of_a_prompt_do_not_count() {
        let expected = [[2.0, -4.0]; 6];
        assert_eq!(PoolingMode::ALL.map(|mode| pooled(mode, 2)), expected);
        assert_eq!(pooled(PoolingMode::First, 3), [1.0, -8.0]);
        for mode in &PoolingMode::ALL[1..] {
            assert_eq!(pooled(*mode, 3), [0.0; 2], "{mode:?}");
        }
    }

    #[test]
    fn vectors_stand_side_by_side_in_the_order_in_which_they_were_added() {
        let modes = PoolingModes::from(PoolingMode::Last).with(PoolingMode::First);
        let mut out = [0.0; 4];
        modes.pool(&STATES, 2, 0, &mut out);
        assert_eq!((modes.count(), out), (2, [2.0, -4.0, 1.0, -8.0]));
        let most = PoolingMode::ALL.into_iter().cycle().take(PoolingModes::MOST);
        let full: PoolingModes = most.clone().collect();
        assert!(full.iter().eq(most) && full.with(PoolingMode::Max) == full);
    }
}
