//! Quantisation with error feedback (GPTQ, Frantar et al. 2022): the error that rounding one column
//! makes is compensated in the columns to come, as far as the inputs of both go together.
//!
//! With H = XᵀX over the inputs X and U the upper Cholesky factor of H⁻¹, a row w is rounded from
//! the left to the right; after column j with the error e, every later column k becomes wₖ − e ·
//! Uⱼₖ / Uⱼⱼ.

use nanoembed_core::quant::ColumnWeights;
use nanoembed_core::quant::amb_block::{fit, round_to};
use nanoembed_core::tensor::ScaledCodes;
use nanoembed_core::{Error as CoreError, limit};
use rayon::prelude::*;

use crate::parallel;

/// The share of its mean that is added to the diagonal of H: with few texts, H is uncertain.
const DAMPING: f64 = 0.003;

/// The upper Cholesky factor of the inverse of H, `[cols, cols]`.
pub(super) struct Feedback {
    factor: Vec<f32>,
    cols: usize,
}

impl Feedback {
    /// From `gram` = XᵀX; `None` if it is empty or has no inverse.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`](nanoembed_core::ErrorKind::NoMemory): matrices of `cols` × `cols`
    /// are made.
    pub(super) fn new(gram: &[f32], cols: usize) -> Result<Option<Self>, CoreError> {
        if cols == 0 || gram.len() != cols * cols {
            return Ok(None);
        }
        let mut h = limit::reserved(gram.len())?;
        h.extend(gram.iter().map(|&x| f64::from(x)));
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = (0..cols).map(|i| h[i * cols + i]).sum::<f64>() / cols as f64;
        for i in 0..cols {
            h[i * cols + i] += mean * DAMPING + 1e-12;
        }
        // With the order of rows and columns turned round, the lower factor of H gives the upper
        // one of H⁻¹.
        h.reverse();
        if cholesky(&mut h, cols).is_none() {
            return Ok(None);
        }
        let inverse = invert_lower(&h, cols)?;
        let mut factor = limit::reserved(inverse.len())?;
        #[expect(clippy::cast_possible_truncation, reason = "a correction")]
        factor.extend(inverse.iter().rev().map(|&x| x as f32));
        Ok(Some(Self { factor, cols }))
    }

    /// Rounds `values`, rows of `cols`, in place to what codes will stand for, and gives the scale
    /// of each block. Blocks of which `is_full` holds keep their values (but take part in the
    /// compensation), rounded to halves.
    ///
    /// Rows must be whole blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(super) fn round(
        &self,
        codes: &ScaledCodes,
        values: &mut [f32],
        is_full: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Vec<f32>, CoreError> {
        let block = usize::from(codes.block);
        let blocks = self.cols / block;
        let mut scales = limit::filled(values.len() / block, 0.0)?;
        // An error in column j costs as much as the inverse of U's diagonal, squared.
        let costs = (0..self.cols).map(|j| 1.0 / self.factor[j * self.cols + j].powi(2));
        let costs: Vec<f32> = limit::exactly(costs)?;
        let rows = values.chunks_exact_mut(self.cols).zip(scales.chunks_exact_mut(blocks));
        parallel::try_each(rows.enumerate(), &|(row, (values, scales))| {
            for (index, scale) in scales.iter_mut().enumerate() {
                let (start, full) = (index * block, is_full(row * blocks + index));
                let weights = ColumnWeights::new(&costs[start..start + block], 0);
                *scale =
                    fit(&values[start..start + block], weights, codes.bits, codes.scales).scale;
                for j in start..start + block {
                    let rounded = match full {
                        true => half::f16::from_f32(values[j]).to_f32(),
                        false => round_to(values[j], *scale, codes.bits),
                    };
                    let line = &self.factor[j * self.cols..(j + 1) * self.cols];
                    let error = (values[j] - rounded) / line[j];
                    values[j] = rounded;
                    for (value, factor) in values[j + 1..].iter_mut().zip(&line[j + 1..]) {
                        *value -= error * factor;
                    }
                }
            }
            Ok(())
        })?;
        Ok(scales)
    }
}

/// The lower Cholesky factor, in place of the lower half; the upper half becomes 0. `None` if `a`
/// is not positive definite.
fn cholesky(a: &mut [f64], n: usize) -> Option<()> {
    for j in 0..n {
        let (before, rest) = a.split_at_mut(j * n);
        let (line, below) = rest.split_at_mut(n);
        let _ = before;
        let pivot = line[j] - line[..j].iter().map(|x| x * x).sum::<f64>();
        if pivot <= 0.0 || !pivot.is_finite() {
            return None;
        }
        line[j] = pivot.sqrt();
        let diagonal = line[j];
        let line = &line[..j];
        below.par_chunks_exact_mut(n).for_each(|row| {
            let (head, tail) = row.split_at_mut(j);
            let sum: f64 = head.iter().zip(line).map(|(a, b)| a * b).sum();
            tail[0] = (tail[0] - sum) / diagonal;
        });
        a[j * n + j + 1..(j + 1) * n].fill(0.0);
    }
    Some(())
}

/// The inverse of a lower triangular matrix.
fn invert_lower(l: &[f64], n: usize) -> Result<Vec<f64>, CoreError> {
    // Column c of the inverse solves L x = e_c; kept as rows of the transpose, so that threads
    // share nothing.
    let mut columns = limit::filled(n * n, 0.0)?;
    parallel::try_each(columns.chunks_exact_mut(n).enumerate(), &|(c, x)| {
        x[c] = 1.0 / l[c * n + c];
        for i in c + 1..n {
            let sum: f64 = l[i * n + c..i * n + i].iter().zip(&x[c..i]).map(|(a, b)| a * b).sum();
            x[i] = -sum / l[i * n + i];
        }
        Ok(())
    })?;
    let mut inverse = limit::filled(n * n, 0.0)?;
    for (c, column) in columns.chunks_exact(n).enumerate() {
        for (i, x) in column.iter().enumerate() {
            inverse[i * n + c] = *x;
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use nanoembed_core::tensor::{Arrangement, CodeBits, ScaleType};

    use super::*;

    fn random(state: &mut u32) -> f32 {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(*state >> 8) / f64::from(1 << 24)) as f32 - 0.5
    }

    #[test]
    fn the_factor_is_that_of_the_inverse() {
        let n = 24;
        let mut state = 1;
        let x: Vec<f32> = (0..60 * n).map(|_| random(&mut state)).collect();
        let mut gram = vec![0.0_f32; n * n];
        for row in x.chunks(n) {
            for i in 0..n {
                for j in 0..n {
                    gram[i * n + j] += row[i] * row[j];
                }
            }
        }
        let feedback = Feedback::new(&gram, n).unwrap().unwrap();
        let mean = (0..n).map(|i| gram[i * n + i]).sum::<f32>() / n as f32;
        // UᵀU · (H + damping) is the identity.
        for i in 0..n {
            for j in 0..n {
                let product = |a: usize, b: usize| -> f32 {
                    (0..n).map(|k| feedback.factor[k * n + a] * feedback.factor[k * n + b]).sum()
                };
                let damped = |a: usize, b: usize| {
                    gram[a * n + b] + if a == b { mean * DAMPING as f32 } else { 0.0 }
                };
                let sum: f32 = (0..n).map(|k| product(i, k) * damped(k, j)).sum();
                assert!((sum - f32::from(u8::from(i == j))).abs() < 2e-3, "{i} {j} {sum}");
            }
        }
    }

    #[test]
    fn the_output_is_nearer_than_by_rounding_alone() {
        let (rows, cols, tokens) = (16, 64, 300);
        let mut state = 5;
        // Inputs that go together: a few directions and a little of each.
        let base: Vec<f32> = (0..8 * cols).map(|_| random(&mut state)).collect();
        let x: Vec<f32> = (0..tokens)
            .flat_map(|_| {
                let mix: Vec<f32> = (0..8).map(|_| random(&mut state)).collect();
                (0..cols)
                    .map(|j| {
                        (0..8).map(|k| mix[k] * base[k * cols + j]).sum::<f32>()
                            + 0.1 * random(&mut state)
                    })
                    .collect::<Vec<f32>>()
            })
            .collect();
        let mut gram = vec![0.0_f32; cols * cols];
        for row in x.chunks(cols) {
            for i in 0..cols {
                for j in 0..cols {
                    gram[i * cols + j] += row[i] * row[j];
                }
            }
        }
        let codes = ScaledCodes {
            bits: CodeBits::Four,
            block: 32,
            scales: ScaleType::F16,
            arrangement: Arrangement::Interleaved,
        };
        let w: Vec<f32> = (0..rows * cols).map(|_| random(&mut state)).collect();
        let mut with = w.clone();
        Feedback::new(&gram, cols).unwrap().unwrap().round(&codes, &mut with, &|_| false).unwrap();
        let mut without = w.clone();
        for block in without.chunks_mut(32) {
            let scale = fit(block, ColumnWeights::ALIKE, codes.bits, codes.scales).scale;
            block.iter_mut().for_each(|x| *x = round_to(*x, scale, codes.bits));
        }
        let output_error = |v: &[f32]| -> f32 {
            let off: Vec<f32> = v.iter().zip(&w).map(|(a, b)| a - b).collect();
            let one = |x: &[f32]| -> f32 {
                off.chunks(cols)
                    .map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum::<f32>().powi(2))
                    .sum()
            };
            x.chunks(cols).map(one).sum()
        };
        assert!(output_error(&with) < 0.5 * output_error(&without));
    }
}
