//! A mixture of experts: a router chooses some of several feed-forward layers for each token.
//!
//! | tensor | shape | |
//! |---|---|---|
//! | `router` | `[experts, hidden]` | p = softmax(router · x) |
//! | up | `[experts · inner, hidden]` | |
//! | down | `[experts · hidden, inner]` | Σ p_e · down_e(activation(up_e(x))) over the best few, not normalised |
//! | `bias` | `[hidden]` | added to the sum |
//!
//! Tokens are grouped by expert, so that the weights of each chosen expert are read once for all
//! tokens that chose it, and those of others not at all.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::{copy, pieces, pieces_mut};
use crate::model::config::Mixture;
use crate::model::linear::Linear;
use crate::model::weights::Matrix;

/// The tensors of a mixture beside its experts' layers; empty if a layer has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Experts {
    pub(in crate::model) router: Linear,
    pub(in crate::model) bias: Matrix,
}

impl Experts {
    pub(in crate::model) const EMPTY: Self = Self { router: Linear::EMPTY, bias: Matrix::EMPTY };
}

/// A part of a mixture that is applied to rows of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Part {
    Router,
    /// An expert's first layer, with the activation.
    Up(usize),
    /// An expert's second layer.
    Down(usize),
}

/// Applies a part of a mixture to rows.
pub(in crate::model) type Apply<'a> = &'a mut dyn FnMut(Part, &[f32], &mut [f32]) -> Result<()>;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// The floats of [`mix`] for a token, beside those of its inner vector.
pub(in crate::model) const fn floats(mixture: &Mixture, hidden: usize) -> usize {
    mixture.experts.saturating_add(hidden)
}

/// Adds the mixture of `x`, rows of `hidden` elements, to `sum`. The scratch memory has
/// [`floats`] and `inner` more for each token.
pub(in crate::model) fn mix(
    mixture: &Mixture,
    [hidden, inner]: [usize; 2],
    (x, sum): (&[f32], &mut [f32]),
    mut scratch: &mut [f32],
    apply: Apply<'_>,
) -> Result<()> {
    let tokens = x.len() / hidden.max(1);
    let shares = scratch.split_off_mut(..tokens * mixture.experts).ok_or(TOO_SMALL)?;
    let chosen = scratch.split_off_mut(..tokens * hidden).ok_or(TOO_SMALL)?;
    apply(Part::Router, x, shares)?;
    check_finite(shares)?;
    pieces_mut(shares, mixture.experts).for_each(|shares| choose(shares, mixture.used));
    for expert in 0..mixture.experts {
        let share = |shares: &[f32]| shares.get(expert).copied().filter(|share| *share > 0.0);
        let all = || pieces(shares, mixture.experts).map(share);
        let own = || all().zip(pieces(x, hidden)).filter(|(share, _)| share.is_some());
        // A single token would take another path through some kernels, with different bits.
        let least = if tokens > 1 { 2 } else { 1 };
        let count = match own().count() {
            0 => continue,
            count => count.max(least),
        };
        let rows = own().chain(own()).map(|(_, x)| x);
        for (row, x) in pieces_mut(chosen, hidden).zip(rows).take(count) {
            copy(row, x);
        }
        let rows = chosen.get_mut(..count * hidden).ok_or(TOO_SMALL)?;
        let wide = scratch.get_mut(..count * inner).ok_or(TOO_SMALL)?;
        apply(Part::Up(expert), rows, wide)?;
        apply(Part::Down(expert), wide, rows)?;
        let mut outputs = pieces(rows, hidden);
        for (share, sum) in all().zip(pieces_mut(sum, hidden)) {
            let Some(share) = share else { continue };
            let output = outputs.next().unwrap_or_default();
            sum.iter_mut().zip(output).for_each(|(sum, output)| *sum += share * output);
        }
    }
    Ok(())
}

/// Converts the router's logits for a token to the probabilities of the `used` most probable
/// experts, and 0 for the others.
fn choose(shares: &mut [f32], used: usize) {
    let most = shares.iter().copied().fold(f32::MIN, f32::max);
    shares.iter_mut().for_each(|share| *share = libm::expf(*share - most));
    let sum: f32 = shares.iter().sum();
    // Chosen experts are negative until all are.
    for _ in 0..used {
        let mut best: Option<&mut f32> = None;
        for share in shares.iter_mut().filter(|share| **share > 0.0) {
            if best.as_ref().is_none_or(|best| *share > **best) {
                best = Some(share);
            }
        }
        if let Some(best) = best {
            *best = -*best;
        }
    }
    shares.iter_mut().for_each(|share| *share = if *share < 0.0 { -*share / sum } else { 0.0 });
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::model::config::Activation;

    #[test]
    fn the_most_probable_experts_keep_their_probabilities() {
        let logits = [1.0_f32, -2.0, 3.0, 1.0, -200.0];
        let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        for used in 0..=logits.len() {
            let mut shares = logits;
            choose(&mut shares, used);
            // Of equal ones the first is chosen.
            let order = [2, 0, 3, 1, 4];
            for (place, expert) in order.into_iter().enumerate() {
                let exact = f64::from(logits[expert]).exp() / sum;
                let expected = if place < used { exact } else { 0.0 };
                assert!((f64::from(shares[expert]) - expected).abs() < 1e-7, "{used} {expert}");
            }
        }
    }

    /// Each chosen expert's layers are applied once, to the tokens that chose it.
    #[test]
    fn experts_are_applied_to_the_tokens_that_chose_them() {
        let mixture = Mixture { activation: Activation::Gelu, experts: 4, used: 2, every: 2 };
        // Experts for each token; nobody chooses the last.
        let logits = [[9.0, 8.0, 0.0, 0.0], [8.0, 9.0, 0.0, 0.0], [9.0, 0.0, 8.0, 0.0]].concat();
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let (mut sum, mut applied) = ([0.5; 6], Vec::new());
        let mut scratch = [f32::NAN; 3 * (4 + 2 + 1)];
        mix(&mixture, [2, 1], (&x, &mut sum), &mut scratch, &mut |part, x, out| {
            applied.push((part, x.len()));
            match part {
                Part::Router => out.copy_from_slice(&logits),
                Part::Up(_) => out.iter_mut().zip(x.chunks(2)).for_each(|(out, x)| *out = x[0]),
                Part::Down(expert) => {
                    for (out, x) in out.chunks_mut(2).zip(x) {
                        out.copy_from_slice(&[*x, [1.0, 10.0, 100.0][expert]]);
                    }
                }
            }
            Ok(())
        })
        .unwrap();
        let both = [(Part::Up(2), 4), (Part::Down(2), 2)];
        let expected = [(Part::Router, 6), (Part::Up(0), 6), (Part::Down(0), 3)];
        let expected = [&expected[..], &[(Part::Up(1), 4), (Part::Down(1), 2)], &both].concat();
        assert_eq!(applied, expected);
        let total = 1_f32.exp() + 1.0 + 2.0 * (-8_f32).exp();
        let (first, second) = (1_f32.exp() / total, 1.0 / total);
        let kept = first + second;
        let expected = [
            0.5 + kept,
            0.5 + first + 10.0 * second,
            0.5 + 3.0 * kept,
            0.5 + second + 10.0 * first,
            0.5 + 5.0 * kept,
            0.5 + first + 100.0 * second,
        ];
        for (found, expected) in sum.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn logits_that_are_not_finite_are_an_error() {
        let mixture = Mixture { activation: Activation::Gelu, experts: 2, used: 1, every: 2 };
        let mut scratch = [0.0; 4];
        let error = mix(&mixture, [1, 1], (&[1.0], &mut [0.0]), &mut scratch, &mut |_, _, out| {
            out.fill(f32::NAN);
            Ok(())
        });
        assert_eq!(error.map_err(|error| error.kind()), Err(ErrorKind::NotFinite));
    }
}
