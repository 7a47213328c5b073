//! Heads that make a vector for each token of a text, for late interaction.

use super::embedding::{Head, HeadLayer};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::copy;
use crate::kernel::{self, Kernels};

/// A head that makes a vector of length 1 for each token. `D` holds its layers: a slice, an array or
/// a `Vec`.
#[derive(Clone, Copy, Debug)]
pub struct MultiHead<D> {
    /// Elements of a token's state.
    pub width: usize,
    /// The layers that each state passes through.
    pub layers: D,
}

impl<D: AsRef<[HeadLayer]>> MultiHead<D> {
    /// Elements of a token's vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        let layers = self.layers.as_ref().iter();
        layers.fold(self.width, |width, layer| layer.outputs(width))
    }

    /// Floats of scratch memory that [`vectors`](Self::vectors) takes for a text of so many tokens.
    #[must_use]
    pub fn scratch(&self, tokens: usize) -> usize {
        let widths = self.layers.as_ref().iter().scan(self.width, |width, layer| {
            *width = layer.outputs(*width);
            Some(*width)
        });
        let widest = widths.max().unwrap_or(0).max(self.width);
        widest.saturating_mul(tokens).saturating_mul(2)
    }

    /// The vectors of a text's tokens, `[tokens, dimensions]`, in scratch memory. The states of the
    /// tokens are `states`, and the weights of the head `floats`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less [scratch memory](Self::scratch) or fewer
    /// floats; [`ErrorKind::InvalidArgument`] if sizes do not fit; [`ErrorKind::NotFinite`].
    pub fn vectors<'s>(
        &self,
        kernels: &Kernels,
        floats: &[f32],
        states: &[f32],
        scratch: &'s mut [f32],
    ) -> Result<&'s [f32]> {
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        copy(scratch.get_mut(..states.len()).ok_or(too_small)?, states);
        let head = Head { layers: self.layers.as_ref(), floats };
        let vectors = head.apply(kernels, self.width, states.len(), scratch)?;
        vectors.chunks_exact_mut(self.dimensions().max(1)).for_each(kernel::normalize);
        check_finite(vectors)?;
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::{DenseActivation, DensePlace};
    use super::*;

    #[test]
    fn each_token_has_a_vector_of_length_one() {
        let activation = DenseActivation::Identity;
        let dense = DensePlace { start: 0, inputs: 2, outputs: 3, activation };
        let head = MultiHead { width: 2, layers: [HeadLayer::Dense(dense)] };
        let floats = [1.0, 2.0, 0.5, -1.0, 0.0, 3.0, 0.5, 0.0, -1.0];
        let states = [3.0, -1.5, 0.25, 2.0];
        let mut scratch = [f32::NAN; 12];
        assert_eq!((head.dimensions(), head.scratch(2)), (3, scratch.len()));
        let found = head.vectors(&Kernels::portable(), &floats, &states, &mut scratch);
        let exact = states.chunks(2).flat_map(|state| {
            let [x, y] = [state[0], state[1]].map(f64::from);
            let linear = [x + 2.0 * y + 0.5, 0.5 * x - y, 3.0 * y - 1.0];
            let length = libm::sqrt(linear.iter().map(|x| x * x).sum());
            linear.map(|x| x / length)
        });
        for (found, exact) in found.unwrap().iter().zip(exact) {
            assert!((f64::from(*found) - exact).abs() < 1e-6, "{found} {exact}");
        }
    }
}
