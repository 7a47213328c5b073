//! The embedding of a text from its hidden states: pooling, linear layers and norms, normalisation.

use super::classifier::{HeadNorm, NormPlace};
use super::dense::DensePlace;
use super::pooling::PoolingModes;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::copy;
use crate::kernel::{self, Kernels};

const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// How hidden states become one vector, except for the layers after the pooling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextEmbedding {
    /// Elements of a token's state.
    pub width: usize,
    /// The pooling modes.
    pub pooling: PoolingModes,
    /// True if the result is scaled to length 1.
    pub normalize: bool,
}

/// A layer between pooling and the embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum HeadLayer {
    /// A linear layer.
    Dense(DensePlace),
    /// A layer norm.
    Norm(NormPlace),
    /// Scales the vector to length 1.
    Normalize,
    /// Keeps so many of the first elements, or all if there are no more.
    First(usize),
}

impl HeadLayer {
    /// A layer without weights.
    pub const EMPTY: Self = Self::Normalize;

    /// Elements of the layer's output for an input of `width` elements.
    #[must_use]
    pub const fn outputs(&self, width: usize) -> usize {
        match self {
            Self::Dense(dense) => dense.outputs,
            Self::First(kept) if *kept < width => *kept,
            Self::Norm(_) | Self::Normalize | Self::First(_) => width,
        }
    }
}

/// The layers between pooling and the embedding, in order, and the floats that their weights are in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// The layers.
    pub layers: &'a [HeadLayer],
    /// Their weights.
    pub floats: &'a [f32],
}

impl Head<'_> {
    /// Applies the layers to vectors of `width` elements, which fill the first `length` elements of
    /// `scratch`; returns the results. `scratch` has room for all vectors twice, however wide they
    /// are on the way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is shorter; [`ErrorKind::InvalidArgument`] if the layers
    /// do not fit; [`ErrorKind::NotFinite`].
    pub(super) fn apply<'s>(
        &self,
        kernels: &Kernels,
        mut width: usize,
        length: usize,
        scratch: &'s mut [f32],
    ) -> Result<&'s mut [f32]> {
        let count = length.checked_div(width).unwrap_or(0);
        let half = scratch.len() / 2;
        let (mut from, mut to) = scratch.split_at_mut_checked(half).unwrap_or_default();
        for layer in self.layers {
            let vectors = from.get_mut(..width * count).ok_or(TOO_SMALL)?;
            match layer {
                HeadLayer::Dense(dense) => {
                    dense.over(self.floats)?.apply(kernels, vectors, to)?;
                    core::mem::swap(&mut from, &mut to);
                }
                HeadLayer::Norm(norm) => {
                    let HeadNorm { weight, bias, epsilon } = norm.over(self.floats)?;
                    (kernels.add_layer_norm)(vectors, &[], weight, bias, epsilon);
                }
                HeadLayer::Normalize => {
                    vectors.chunks_exact_mut(width.max(1)).for_each(kernel::normalize);
                }
                HeadLayer::First(kept) => {
                    let kept = width.min(*kept);
                    for vector in 1..count {
                        let start = vector * width;
                        vectors.copy_within(start..start + kept, vector * kept);
                    }
                }
            }
            width = layer.outputs(width);
        }
        from.get_mut(..width * count).ok_or(TOO_SMALL)
    }
}

impl TextEmbedding {
    /// Elements of the pooled vector.
    #[must_use]
    pub const fn pooled(&self) -> usize {
        self.pooling.count() * self.width
    }

    /// Floats of scratch memory for a head whose layers have outputs of these widths: twice the
    /// largest vector on the way, or none without layers.
    pub(in crate::model) fn scratch(&self, outputs: impl Iterator<Item = usize>) -> usize {
        let widest = outputs.max();
        widest.map_or(0, |widest| widest.max(self.pooled()).saturating_mul(2))
    }

    /// Writes the vector of a text to `out`; the first `skipped` of its `states` are left out.
    /// Where the head has layers, `scratch` holds twice the elements of the largest vector on the
    /// way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is shorter; [`ErrorKind::InvalidArgument`] if the layers
    /// or `out` do not fit; [`ErrorKind::NotFinite`].
    pub fn write(
        &self,
        kernels: &Kernels,
        head: Head<'_>,
        (states, skipped): (&[f32], usize),
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let layers = head.layers.iter();
        let elements = layers.fold(self.pooled(), |width, layer| layer.outputs(width));
        if elements != out.len() {
            return Err(INVALID);
        }
        // Without other families than BERT no model has layers here: their code is left out.
        if head.layers.is_empty() || !cfg!(feature = "families") {
            self.pooling.pool(states, self.width, skipped, out);
        } else {
            let width = self.pooled();
            let vector = scratch.get_mut(..width).ok_or(TOO_SMALL)?;
            self.pooling.pool(states, self.width, skipped, vector);
            copy(out, head.apply(kernels, width, width, scratch)?);
        }
        if self.normalize {
            kernel::normalize(out);
        }
        check_finite(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::DenseActivation;
    use super::super::pooling::PoolingMode;
    use super::*;

    /// Not all elements are integers; the expected values are computed in f64.
    const STATES: [f32; 4] = [3.0, -1.5, 0.25, 2.0];

    /// A linear layer from two elements to three, and a norm of three.
    const FLOATS: [f32; 15] = [
        1.0, 2.0, 0.5, -1.0, 0.0, 3.0, 0.5, 0.0, -1.0, // [3, 2] and biases
        1.0, 2.0, 0.5, 0.0, 1.0, -1.0,
    ];

    fn write(layers: &[HeadLayer], normalize: bool, out: &mut [f32]) -> Result<()> {
        let embedding = TextEmbedding { width: 2, pooling: PoolingMode::Max.into(), normalize };
        let head = Head { layers, floats: &FLOATS };
        embedding.write(&Kernels::portable(), head, (&STATES, 0), &mut [0.0; 6], out)
    }

    const fn dense(start: usize, outputs: usize) -> HeadLayer {
        let activation = DenseActivation::Identity;
        HeadLayer::Dense(DensePlace { start, inputs: 2, outputs, activation })
    }

    #[test]
    fn layers_after_the_pooling_are_applied_in_their_order() {
        let norm = NormPlace { start: 9, elements: 3, epsilon: 1e-5 };
        let layers = [HeadLayer::Normalize, dense(0, 3), HeadLayer::Norm(norm)];
        let mut out = [f32::NAN; 3];
        write(&layers, false, &mut out).unwrap();

        let pooled = [3.0_f64, 2.0];
        let length = libm::sqrt(pooled[0] * pooled[0] + pooled[1] * pooled[1]);
        let [x, y] = pooled.map(|x| x / length);
        let linear = [x + 2.0 * y + 0.5, 0.5 * x - y, 3.0 * y - 1.0];
        let mean = linear.iter().sum::<f64>() / 3.0;
        let variance = linear.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 3.0;
        let scaled = linear.map(|x| (x - mean) / libm::sqrt(variance + 1e-5));
        let expected = [scaled[0], 2.0 * scaled[1] + 1.0, 0.5 * scaled[2] - 1.0];
        for (found, expected) in out.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{out:?} {expected}");
        }
    }

    #[test]
    fn the_first_elements_stay_as_they_are() {
        let normed = [3.0_f32, 2.0].map(|x| x / 13.0_f32.sqrt());
        let (mut one, mut all) = ([f32::NAN], [f32::NAN; 2]);
        write(&[HeadLayer::Normalize, HeadLayer::First(1)], false, &mut one).unwrap();
        write(&[HeadLayer::Normalize, HeadLayer::First(9)], false, &mut all).unwrap();
        assert!((one[0] - normed[0]).abs() < 1e-6 && (all[1] - normed[1]).abs() < 1e-6);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let kind = |result: Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(write(&[], true, &mut [0.0; 3])), ErrorKind::InvalidArgument);
        let layers = [dense(0, 4)];
        assert_eq!(kind(write(&layers, true, &mut [0.0; 3])), ErrorKind::InvalidArgument);
        let beyond = [dense(9, 3)];
        assert_eq!(kind(write(&beyond, true, &mut [0.0; 3])), ErrorKind::BufferTooSmall);
    }
}
