//! The allocation of bits over all tensors, for a budget of adaptive precision.
//!
//! A block's sensitivity is the error that its codes add to the layer's output, as a share of the
//! output's power: the squared error of its elements, weighted by the mean squares of the columns'
//! inputs, over the same sum of the tensor's values; less where errors are compensated. First whole
//! tensors get codes of 5 bits instead of 4, those first that gain most a bit; what is left keeps
//! the most sensitive blocks in full precision. Tensors of whose inputs nothing is known have 4
//! bits and full blocks.

use nanoembed_core::quant::adaptive::block_errors;
use nanoembed_core::tensor::{CodeBits, ScaledCodes};
use nanoembed_core::{Error as CoreError, limit};

use super::energy::Inputs;
use crate::error::{Error, Result};

/// The approximate share of its error that a layer keeps after compensation.
const COMPENSATED: f64 = 0.3;

/// One tensor of adaptive precision.
pub(super) struct Candidate {
    elements: u64,
    /// With codes of 4 bits.
    four: Coded,
    /// The tensor in codes of 5 bits, if there are statistics of its inputs.
    five: Option<Coded>,
}

/// A tensor with codes of some width.
struct Coded {
    codes: ScaledCodes,
    /// The sensitivity of each block.
    errors: Vec<f32>,
}

/// The type chosen for a tensor, and its cost.
pub(super) struct Share {
    pub(super) codes: ScaledCodes,
    /// The blocks that are kept in full precision.
    pub(super) full: Vec<bool>,
}

impl Candidate {
    /// Measures the blocks of `values`, to be stored as `codes` of some width.
    pub(super) fn new(
        codes: ScaledCodes,
        values: &[f32],
        inputs: &Inputs,
    ) -> std::result::Result<Self, CoreError> {
        let energy = inputs.energy.as_slice();
        let weights = energy.iter().copied().cycle().chain(std::iter::repeat(1.0));
        let power: f64 = values
            .iter()
            .zip(weights)
            .map(|(&x, w)| f64::from(x) * f64::from(x) * f64::from(w))
            .sum();
        let share = if inputs.gram.is_empty() { 1.0 } else { COMPENSATED };
        let coded = |bits| {
            let codes = ScaledCodes { bits, ..codes };
            let blocks = values.len().div_ceil(usize::from(codes.block.max(1)));
            let mut errors = limit::filled(blocks, 0.0)?;
            block_errors(&codes, values, energy, &mut errors);
            if power > 0.0 {
                #[expect(clippy::cast_possible_truncation, reason = "a measure to sort by")]
                errors.iter_mut().for_each(|error| {
                    *error = (f64::from(*error) / power * share) as f32;
                });
            }
            Ok(Coded { codes, errors })
        };
        let elements = values.len() as u64;
        let five = (!energy.is_empty()).then(|| coded(CodeBits::Five)).transpose()?;
        Ok(Self { elements, four: coded(CodeBits::Four)?, five })
    }
}

impl Coded {
    fn bytes(&self, elements: u64) -> u64 {
        self.codes.data_bytes(elements, 0).unwrap_or(u64::MAX / 2)
    }

    fn error(&self) -> f64 {
        self.errors.iter().map(|&error| f64::from(error)).sum()
    }

    /// Bits that a block needs more as halves.
    fn full_block_bits(&self) -> u64 {
        let block = u64::from(self.codes.block);
        let coded = block * u64::from(self.codes.bits.bits()) + self.codes.scales.bytes() * 8;
        (block * 16).saturating_sub(coded)
    }
}

/// Shares out `bits` bits an element on average; `None` is half a bit above 4-bit codes alone.
pub(super) fn share_out(candidates: &[Candidate], bits: Option<f64>) -> Result<Vec<Share>> {
    let elements: u64 = candidates.iter().map(|candidate| candidate.elements).sum();
    let least: u64 =
        candidates.iter().map(|candidate| candidate.four.bytes(candidate.elements)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let least_bits = least as f64 * 8.0 / elements.max(1) as f64;
    let bits = bits.unwrap_or(least_bits + 0.5);
    if !(least_bits..=16.0).contains(&bits) {
        let message = format!(
            "{bits} is out of range: codes, scales and mask alone take {least_bits:.3}, full precision 16"
        );
        return Err(Error::argument("bits", message));
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 16 bits an element"
    )]
    let mut left = ((bits - least_bits) * elements as f64) as u64;
    let chosen = choose_widths(candidates, &mut left);
    let shares = chosen.and_then(|chosen| keep_blocks(&chosen, left));
    shares.map_err(|error| Error::in_file("the model", error))
}

/// Codes of 5 bits where they gain most, as far as the bits that are `left` go.
fn choose_widths<'c>(
    candidates: &'c [Candidate],
    left: &mut u64,
) -> std::result::Result<Vec<&'c Coded>, CoreError> {
    let mut gains: Vec<(f64, usize, u64, &Coded)> = limit::reserved(candidates.len())?;
    for (index, Candidate { elements, four, five }) in candidates.iter().enumerate() {
        let Some(five) = five else { continue };
        let more = five.bytes(*elements).saturating_sub(four.bytes(*elements)) * 8;
        #[expect(clippy::cast_precision_loss, reason = "a measure to sort by")]
        let gain = (four.error() - five.error()) / more.max(1) as f64;
        gains.push((gain, index, more, five));
    }
    // Tensors of one gain in their order, without memory for a stable sort.
    gains.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<&Coded> =
        limit::exactly(candidates.iter().map(|candidate| &candidate.four))?;
    for (gain, index, more, five) in gains {
        if gain > 0.0 && more <= *left {
            *left -= more;
            chosen[index] = five;
        }
    }
    Ok(chosen)
}

/// The most sensitive blocks in full precision, up to `left` bits.
fn keep_blocks(chosen: &[&Coded], mut left: u64) -> std::result::Result<Vec<Share>, CoreError> {
    let mut blocks: Vec<(f32, usize, usize)> =
        limit::reserved(chosen.iter().map(|coded| coded.errors.len()).sum())?;
    let mut shares: Vec<Share> = limit::reserved(chosen.len())?;
    for (tensor, coded) in chosen.iter().enumerate() {
        blocks.extend(coded.errors.iter().enumerate().map(|(block, &e)| (e, tensor, block)));
        let full = limit::filled(coded.errors.len(), false)?;
        shares.push(Share { codes: coded.codes, full });
    }
    // Blocks of one error in their order, without memory for a stable sort.
    blocks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for (_, tensor, block) in blocks {
        let more = chosen[tensor].full_block_bits();
        if more > left {
            break;
        }
        left -= more;
        shares[tensor].full[block] = true;
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use nanoembed_core::tensor::{Arrangement, ScaleType};

    use super::*;

    fn candidate(values: &[f32]) -> Candidate {
        let codes = ScaledCodes {
            bits: CodeBits::Four,
            block: 8,
            scales: ScaleType::F16,
            arrangement: Arrangement::Adaptive,
        };
        let inputs = Inputs { energy: vec![1.0; 8], gram: Vec::new() };
        Candidate::new(codes, values, &inputs).unwrap()
    }

    #[test]
    fn the_worst_blocks_are_kept_and_the_budget_is_met() {
        // 16 blocks of 8: equal values are exact, those that rise are not.
        let mut values = [1.0_f32; 128];
        for (at, value) in values[40..48].iter_mut().enumerate() {
            *value = 0.37 * at as f32;
        }
        let least = 6.0 + 1.0 / 8.0;
        let full = share_out(&[candidate(&values)], Some(least + 0.7)).unwrap();
        let kept: Vec<usize> = (0..16).filter(|&block| full[0].full[block]).collect();
        assert_eq!(kept, [5], "10 bits more for 8 of 128 elements are 0.625");
        for bits in [6.0, 17.0, f64::NAN] {
            assert!(share_out(&[candidate(&values)], Some(bits)).is_err());
        }
        let all = share_out(&[candidate(&values)], Some(16.0)).unwrap();
        assert!(all[0].full.iter().filter(|full| **full).count() >= 15);
    }

    #[test]
    fn a_small_tensor_gets_wider_codes_before_a_large_one() {
        let noise = |count: usize| -> Vec<f32> {
            (0..count).map(|at| ((at * 7919 % 1000) as f32).sin()).collect()
        };
        let (small, large) = (candidate(&noise(256)), candidate(&noise(2048)));
        let least = 6.0 + 1.0 / 8.0;
        let shares = share_out(&[large, small], Some(least + 0.2)).unwrap();
        assert_eq!(shares[0].codes.bits, CodeBits::Four);
        assert_eq!(shares[1].codes.bits, CodeBits::Five);
    }
}
