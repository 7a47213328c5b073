//! The head of a masked language model: scores of all tokens of the vocabulary, pooled to a sparse
//! vector.
//!
//! A token's state passes through a linear layer with an activation and a layer norm; its products
//! with the rows of the table of embeddings, plus a bias each, are the scores. They exist for some
//! rows of the table at a time, and never for all.

use super::classifier::{HeadNorm, NormPlace};
use super::dense::DensePlace;
use super::splade::SpladeSettings;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Strides;
use crate::model::linear::{Input, Linear, Output, Staging};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// Tokens of the vocabulary whose scores are computed together.
const ROWS: usize = 64;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// The head of a masked language model.
#[derive(Clone, Copy, Debug)]
pub struct VocabularyHead {
    /// The first layer, as wide as the model.
    transform: DensePlace,
    /// The norm after it.
    norm: NormPlace,
    /// The layer that computes scores: a row and a bias for each token of the vocabulary.
    scores: Linear,
    /// The pooling of scores.
    splade: SpladeSettings,
}

impl VocabularyHead {
    /// A head whose scores are products with `rows`, plus `bias`: a row and an element for each
    /// token of the vocabulary.
    pub(in crate::model) const fn new(
        transform: DensePlace,
        norm: NormPlace,
        rows: Matrix,
        bias: Matrix,
        splade: SpladeSettings,
    ) -> Self {
        Self { transform, norm, scores: Linear::new(rows, bias), splade }
    }

    /// Floats of scratch memory for a text of so many tokens.
    pub(super) fn scratch(&self, tokens: usize) -> usize {
        let width = self.scores.weight.cols;
        let for_tokens = tokens.saturating_mul(width.saturating_add(ROWS));
        for_tokens.saturating_add(width.saturating_add(1).saturating_mul(ROWS))
    }

    /// Bytes of scratch memory for weights that cannot be borrowed.
    pub(super) fn tile(&self) -> usize {
        self.scores.weight.row_bytes().saturating_mul(ROWS)
    }

    /// Calls `put` with each token of the vocabulary that has a weight, in ascending order. `states`
    /// are those of the text's tokens.
    pub(super) fn write<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        floats: &[f32],
        states: &[f32],
        mut scratch: &mut [f32],
        tile: &mut [u8],
        put: &mut dyn FnMut(u32, f32) -> Result<()>,
    ) -> Result<()> {
        let vocabulary = self.scores.weight.rows;
        let width = self.scores.weight.cols;
        let tokens = states.len().checked_div(width).unwrap_or(0);
        let hidden = scratch.split_off_mut(..states.len()).ok_or(TOO_SMALL)?;
        self.transform.over(floats)?.apply(run.kernels, states, hidden)?;
        let HeadNorm { weight, bias, epsilon } = self.norm.over(floats)?;
        (run.kernels.add_layer_norm)(hidden, &[], weight, bias, epsilon);
        let vector = scratch.split_off_mut(..ROWS).ok_or(TOO_SMALL)?;
        let converted = scratch.split_off_mut(..ROWS * width).ok_or(TOO_SMALL)?;
        let (scales, unpacked) = (&mut [][..], &mut [][..]);
        let mut staging = Staging { vector, scales, converted, unpacked, tile };
        for first in (0..vocabulary).step_by(ROWS) {
            let rows = ROWS.min(vocabulary - first);
            let scores = scratch.get_mut(..tokens * rows).ok_or(TOO_SMALL)?;
            let strides = Strides { token: rows, row: 1 };
            let output = Output { first, rows, out: &mut *scores, strides };
            run.linear(&self.scores, Input::Floats(hidden), output, &mut staging)?;
            for row in 0..rows {
                let column = scores.get(row..).unwrap_or_default().iter().step_by(rows);
                let weight = self.splade.weight(column.copied());
                if weight > 0.0 {
                    put(u32::try_from(first + row).unwrap_or(u32::MAX), weight)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::kernel;
    use crate::model::head::dense::DenseActivation;
    use crate::model::head::splade::SpladePooling;
    use crate::model::weights::SliceWeights;
    use crate::tensor::{Dtype, Shape, TensorHeader};

    const WIDTH: usize = 8;
    const TOKENS: usize = 5;
    /// More than two blocks of rows, and no whole number of them.
    const VOCABULARY: usize = 2 * ROWS + 7;

    /// Numbers between -1 and 1 in no order.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// A head's numbers: those of the first layer and its norm, the table, the biases and the states.
    struct Case {
        floats: Vec<f32>,
        table: Vec<f32>,
        bias: Vec<f32>,
        states: Vec<f32>,
    }

    impl Case {
        fn new() -> Self {
            Self {
                floats: numbers(1, WIDTH * WIDTH + 3 * WIDTH),
                table: numbers(2, VOCABULARY * WIDTH),
                bias: numbers(3, VOCABULARY),
                states: numbers(4, TOKENS * WIDTH),
            }
        }

        /// The weight of each token of the vocabulary in f64.
        fn exact(&self, splade: SpladeSettings) -> Vec<f64> {
            let double = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let floats = double(&self.floats);
            let (weight, rest) = floats.split_at(WIDTH * WIDTH);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let mut weights = vec![0.0_f64; VOCABULARY];
            for state in double(&self.states).chunks(WIDTH) {
                let rows = weight.chunks(WIDTH).zip(rest);
                let x = rows.map(|(row, bias)| (dot(row, state) + bias).max(0.0));
                let x: Vec<f64> = x.collect();
                let mean = x.iter().sum::<f64>() / WIDTH as f64;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / WIDTH as f64;
                let scaled = x.iter().map(|x| (x - mean) / (variance + 1e-12).sqrt());
                let norm = rest[WIDTH..].iter().zip(&rest[2 * WIDTH..]);
                let x: Vec<f64> = scaled.zip(norm).map(|(x, (w, b))| x * w + b).collect();
                let rows = double(&self.table);
                for ((row, bias), sum) in rows.chunks(WIDTH).zip(&self.bias).zip(&mut weights) {
                    let once = (dot(row, &x) + f64::from(*bias)).max(0.0).ln_1p();
                    let weight = if splade.is_logged_twice { once.ln_1p() } else { once };
                    *sum = match splade.pooling {
                        SpladePooling::Max => sum.max(weight),
                        SpladePooling::Sum => *sum + weight,
                    };
                }
            }
            weights
        }

        /// The weights that the head gives on a table of kernels.
        fn found(&self, kernels: &kernel::Kernels, splade: SpladeSettings) -> Vec<f32> {
            let bytes: Vec<u8> =
                self.table.iter().chain(&self.bias).flat_map(|x| x.to_le_bytes()).collect();
            let header = |name: &str| {
                let (shape, offset): (&[u64], u64) = match name {
                    "table" => (&[VOCABULARY as u64, WIDTH as u64], 0),
                    _ => (&[VOCABULARY as u64], 4 * (VOCABULARY * WIDTH) as u64),
                };
                let (shape, dtype) = (Shape::new(shape)?, Dtype::F32);
                let bytes = dtype.data_bytes(shape.elements()?)?;
                Some(TensorHeader { name: "", dtype, shape, offset, bytes })
            };
            let weights = SliceWeights::new(&bytes, header);
            let matrix = |name| Matrix::find(name, header).unwrap().unwrap();
            let head = VocabularyHead {
                transform: DensePlace {
                    start: 0,
                    inputs: WIDTH,
                    outputs: WIDTH,
                    activation: DenseActivation::Relu,
                },
                norm: NormPlace { start: WIDTH * WIDTH + WIDTH, elements: WIDTH, epsilon: 1e-12 },
                scores: Linear::new(matrix("table"), matrix("bias")),
                splade,
            };
            let mut scratch = vec![f32::NAN; head.scratch(TOKENS)];
            let mut found = vec![0.0; VOCABULARY];
            let mut last = None;
            let run = Run::new(&weights, kernels);
            let (floats, states) = (&self.floats, &self.states);
            head.write(&run, floats, states, &mut scratch, &mut [], &mut |id, weight| {
                assert!(last.replace(id) < Some(id) && weight > 0.0, "{last:?} {id} {weight}");
                found[id as usize] = weight;
                Ok(())
            })
            .unwrap();
            found
        }
    }

    #[test]
    fn weights_are_within_a_hundred_thousandth_on_every_table() {
        let case = Case::new();
        for kernels in kernel::available() {
            for (pooling, is_logged_twice) in [
                (SpladePooling::Max, false),
                (SpladePooling::Sum, false),
                (SpladePooling::Max, true),
            ] {
                let splade = SpladeSettings { pooling, is_logged_twice };
                let (exact, found) = (case.exact(splade), case.found(&kernels, splade));
                assert!(exact.iter().filter(|weight| **weight > 0.0).count() > ROWS);
                for (exact, found) in exact.iter().zip(found) {
                    let apart = (exact - f64::from(found)).abs();
                    assert!(apart < 1e-5, "{} {splade:?}: {exact} {found}", kernels.name);
                }
            }
        }
    }
}
