//! One vector of a text's hidden states: pooled, through linear layers, scaled to length 1.

use super::dense::Dense;
use super::ways::Ways;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::copy;
use crate::kernel::{self, Kernels};

const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// How hidden states become one vector, but for the linear layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedding {
    /// Elements of a token's state.
    pub width: usize,
    /// The pooling modes.
    pub pooling: Ways,
    /// True if the result is scaled to length 1.
    pub normalize: bool,
}

impl Embedding {
    /// Elements of the pooled vector.
    #[must_use]
    pub const fn pooled(&self) -> usize {
        self.pooling.count() * self.width
    }

    /// Writes the vector of a text to `out`; the first `skipped` of its `states` are left out.
    /// Where there are `layers`, `scratch` holds twice the elements of the largest vector on the
    /// way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is shorter; [`ErrorKind::InvalidArgument`] if the layers
    /// or `out` do not fit; [`ErrorKind::NotFinite`].
    pub fn write(
        &self,
        kernels: &Kernels,
        layers: &[Dense<'_>],
        (states, skipped): (&[f32], usize),
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let last = layers.last().map_or(self.pooled(), |layer| layer.bias.len());
        if last != out.len() {
            return Err(INVALID);
        }
        if layers.is_empty() {
            self.pooling.pool(states, self.width, skipped, out);
        } else {
            let half = scratch.len() / 2;
            let (mut from, mut to) = scratch.split_at_mut_checked(half).unwrap_or_default();
            let mut width = self.pooled();
            let vector = from.get_mut(..width).ok_or(TOO_SMALL)?;
            self.pooling.pool(states, self.width, skipped, vector);
            for layer in layers {
                layer.apply(kernels, from.get(..width).ok_or(TOO_SMALL)?, to)?;
                core::mem::swap(&mut from, &mut to);
                width = layer.bias.len();
            }
            copy(out, from.get(..width).ok_or(TOO_SMALL)?);
        }
        if self.normalize {
            kernel::normalize(out);
        }
        check_finite(out)
    }
}
