//! One vector of a text's hidden states: pooled, through linear layers, and brought to length 1.

use super::dense::Dense;
use super::ways::Ways;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::{self, Kernels};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// What becomes of hidden states but for the linear layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedding {
    /// Elements of a token's state.
    pub width: usize,
    /// How states are pooled.
    pub pooling: Ways,
    /// Whether what comes out is scaled to length 1.
    pub normalize: bool,
}

impl Embedding {
    /// Elements of what pooling makes.
    #[must_use]
    pub const fn pooled(&self) -> usize {
        self.pooling.count() * self.width
    }

    /// The vector of a text, of whose `states` the first `skipped` are left out, into `out`. Each
    /// of `room` has as many elements as the largest of what pooling and the `layers` make.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it has not; [`ErrorKind::InvalidArgument`] if the layers do
    /// not fit; [`ErrorKind::NotFinite`].
    pub fn write<'d>(
        &self,
        kernels: &Kernels,
        layers: impl Iterator<Item = Dense<'d>>,
        (states, skipped): (&[f32], usize),
        (mut from, mut to): (&mut [f32], &mut [f32]),
        out: &mut [f32],
    ) -> Result<()> {
        let vector = from.get_mut(..self.pooled()).ok_or(TOO_SMALL)?;
        self.pooling.pool(states, self.width, skipped, vector);
        let mut width = vector.len();
        for layer in layers {
            layer.apply(kernels, from.get(..width).ok_or(TOO_SMALL)?, to)?;
            core::mem::swap(&mut from, &mut to);
            width = layer.bias.len();
        }
        let vector = from.get(..width).ok_or(TOO_SMALL)?;
        if vector.len() != out.len() {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        out.iter_mut().zip(vector).for_each(|(to, from)| *to = *from);
        if self.normalize {
            kernel::normalize(out);
        }
        check_finite(out)
    }
}
