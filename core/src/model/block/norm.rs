//! Norms: the locations of their tensors, and their application to rows.

use core::iter::repeat;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel;
use crate::kernel::finite::check_normed;
use crate::kernel::pieces::pieces_mut;
use crate::kernel::root;
use crate::model::config::{Config, NormKind};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// Weight and bias of a norm; an empty bias is zero, an empty weight means no norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Norm {
    pub(in crate::model) weight: Matrix,
    pub(in crate::model) bias: Matrix,
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl Norm {
    pub(in crate::model) const EMPTY: Self = Self { weight: Matrix::EMPTY, bias: Matrix::EMPTY };
}

/// Memory for a norm's weight and bias, and for bytes that cannot be borrowed.
pub(in crate::model) struct NormMemory<'a> {
    pub(in crate::model) vector: &'a mut [f32],
    pub(in crate::model) tile: &'a mut [u8],
}

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// Applies the norm to every row of `x + y` in place; rows are as wide as the norm's weight. An
    /// empty `y` adds nothing.
    ///
    /// # Errors
    ///
    /// [`NotFinite`](crate::ErrorKind::NotFinite) if a row or the norm's weights are not finite;
    /// [`ErrorKind::BufferTooSmall`]; any error of reading the weights.
    pub(in crate::model) fn norm(
        &self,
        norm: &Norm,
        config: &Config,
        x: &mut [f32],
        y: &[f32],
        memory: NormMemory<'_>,
    ) -> Result<()> {
        let NormMemory { vector, tile } = memory;
        let width = norm.weight.cols;
        let (weight, rest) = vector.split_at_mut_checked(width).ok_or(TOO_SMALL)?;
        self.read_vector(&norm.weight, 0, weight, tile)?;
        match config.norm() {
            NormKind::Layer => {
                let bias = rest.get_mut(..width).ok_or(TOO_SMALL)?;
                match norm.bias.cols {
                    0 if crate::model::config::FAMILIES => bias.fill(0.0),
                    _ => self.read_vector(&norm.bias, 0, bias, tile)?,
                }
                (self.kernels.add_layer_norm)(x, y, weight, bias, config.epsilon);
            }
            NormKind::Rms { one_plus } => {
                if one_plus {
                    weight.iter_mut().for_each(|weight| *weight += 1.0);
                }
                kernel::add(x, y);
                pieces_mut(x, width).for_each(|row| rms_norm(row, &*weight, config.epsilon));
            }
        }
        check_normed(x, width)
    }
}

/// Divides every piece of `width` elements by the root of its mean square, in place.
///
/// # Errors
///
/// [`NotFinite`](crate::ErrorKind::NotFinite).
pub(in crate::model) fn rms_norm_all(x: &mut [f32], width: usize, epsilon: f32) -> Result<()> {
    pieces_mut(x, width).for_each(|piece| rms_norm(piece, repeat(&1.0), epsilon));
    check_normed(x, width)
}

/// `x · weight / √(mean(x²) + ε)` in place.
pub(in crate::model) fn rms_norm<'w>(
    row: &mut [f32],
    weight: impl IntoIterator<Item = &'w f32>,
    epsilon: f32,
) {
    let sum: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    let mean = (sum / row.len() as f64) as f32;
    // An infinite element would turn the others into zeros.
    let factor = if mean.is_finite() { 1.0 / root::sqrt_f32(mean + epsilon) } else { f32::NAN };
    for (x, weight) in row.iter_mut().zip(weight) {
        *x = *x * factor * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rms_norms_are_within_their_bound() {
        let x: [f32; 37] = core::array::from_fn(|i| (i as f32 - 11.0) * 0.37);
        let weight: [f32; 37] = core::array::from_fn(|i| 1.0 + i as f32 * 0.01);
        let mean = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 37.0;
        let mut normed = x;
        rms_norm(&mut normed, &weight, 1e-3);
        for ((found, x), weight) in normed.iter().zip(x).zip(weight) {
            let exact = f64::from(x) / (mean + 1e-3).sqrt() * f64::from(weight);
            assert!((f64::from(*found) - exact).abs() <= 4e-7 * (1.0 + exact.abs()));
        }
    }
}
