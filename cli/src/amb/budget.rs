//! Which blocks of adaptive tensors are kept in full precision, for a budget of bits over all of them.
//!
//! A block's sensitivity is the error that its codes add to the layer's output, as a share of the output's power: the squared
//! error of its elements, weighted by the mean squares of the columns' inputs, over the same sum of the tensor's values; less
//! where errors are compensated.

use nanoembed_core::quant::adaptive::block_errors;
use nanoembed_core::tensor::ScaledCodes;

use super::energy::Inputs;
use crate::error::{Failure, Result};

/// How much of its error a layer keeps whose errors are compensated, about.
const COMPENSATED: f64 = 0.3;

/// One tensor of adaptive precision.
pub(super) struct Candidate {
    pub(super) codes: ScaledCodes,
    pub(super) elements: usize,
    /// The sensitivity of each block.
    pub(super) errors: Vec<f32>,
}

impl Candidate {
    /// Measures the blocks of `values`; `energy` are the mean squares of the columns' inputs, or empty.
    pub(super) fn of(codes: ScaledCodes, values: &[f32], inputs: &Inputs) -> Self {
        let energy = inputs.energy.as_slice();
        let mut errors = vec![0.0; values.len().div_ceil(usize::from(codes.block.max(1)))];
        block_errors(&codes, values, energy, &mut errors);
        let weights = energy.iter().copied().cycle().chain(std::iter::repeat(1.0));
        let power: f64 = values
            .iter()
            .zip(weights)
            .map(|(&x, w)| f64::from(x) * f64::from(x) * f64::from(w))
            .sum();
        let share = if inputs.gram.is_empty() { 1.0 } else { COMPENSATED };
        if power > 0.0 {
            #[expect(clippy::cast_possible_truncation, reason = "a measure to sort by")]
            errors.iter_mut().for_each(|error| *error = (f64::from(*error) / power * share) as f32);
        }
        Self { codes, elements: values.len(), errors }
    }
}

/// For each candidate which blocks are kept in full precision, so that all of them have `bits` bits an element on average;
/// `None` keeps the default of a tenth of a bit above the codes alone.
pub(super) fn share_out(candidates: &[Candidate], bits: Option<f64>) -> Result<Vec<Vec<bool>>> {
    let elements: usize = candidates.iter().map(|candidate| candidate.elements).sum();
    let least: u64 = candidates
        .iter()
        .filter_map(|candidate| candidate.codes.data_bytes(candidate.elements as u64, 0))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let least_bits = least as f64 * 8.0 / elements.max(1) as f64;
    let bits = bits.unwrap_or(least_bits + 0.1);
    if bits < least_bits || bits > 16.0 {
        return Err(Failure::usage(format!(
            "--bits {bits} is out of range: codes, scales and mask alone take {least_bits:.3}, full precision 16"
        )));
    }
    let mut blocks: Vec<(f32, usize, usize)> = Vec::new();
    for (tensor, candidate) in candidates.iter().enumerate() {
        blocks.extend(candidate.errors.iter().enumerate().map(|(block, &e)| (e, tensor, block)));
    }
    blocks.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut full: Vec<Vec<bool>> =
        candidates.iter().map(|candidate| vec![false; candidate.errors.len()]).collect();
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let mut left = (bits - least_bits) * elements as f64;
    for (_, tensor, block) in blocks {
        let Some(codes) = candidates.get(tensor).map(|candidate| candidate.codes) else { continue };
        let size = f64::from(codes.block);
        #[expect(clippy::cast_precision_loss, reason = "a few bytes")]
        let scale = codes.scales.bytes() as f64 * 8.0;
        let more = size * 16.0 - size * f64::from(codes.bits.bits()) - scale;
        if more > left {
            break;
        }
        left -= more;
        if let Some(slot) = full.get_mut(tensor).and_then(|blocks| blocks.get_mut(block)) {
            *slot = true;
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use nanoembed_core::tensor::{Arrangement, CodeBits, ScaleType};

    use super::*;

    fn candidate(values: &[f32]) -> Candidate {
        let codes = ScaledCodes {
            bits: CodeBits::Four,
            block: 8,
            scales: ScaleType::F16,
            arrangement: Arrangement::Adaptive,
        };
        Candidate::of(codes, values, &Inputs::default())
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
        let kept: Vec<usize> = (0..16).filter(|&block| full[0][block]).collect();
        assert_eq!(kept, [5], "10 bits more for 8 of 128 elements are 0.625");
        assert!(share_out(&[candidate(&values)], Some(6.0)).is_err());
        let all = share_out(&[candidate(&values)], Some(16.0)).unwrap();
        assert!(all[0].iter().filter(|full| **full).count() >= 15);
    }
}
