//! Dequantises stored elements to f32 with the CPU's vector instructions; bit-identical to
//! [`quant`].
//!
//! ```
//! use nanoembed_core::kernel::Dequantizer;
//! use nanoembed_core::tensor::Dtype;
//!
//! let halves = [0x00, 0x3c, 0x00, 0xc0];
//! let mut values = [0.0; 2];
//! Dequantizer::detect().dequantize(Dtype::F16, &halves, 0, &mut values)?;
//! assert_eq!(values, [1.0, -2.0]);
//! # Ok::<(), nanoembed_core::Error>(())
//! ```
//!
//! Layouts are those of [`quant`], compiled here for more lanes. [`Kernels`](super::Kernels) do not
//! contain these functions: programs that only multiply would otherwise link every layout.

use crate::error::{Error, ErrorKind, Result};
use crate::quant::{self, whole};
use crate::tensor::{Dtype, Encoding, Weight};

/// Dequantises complete steps from the first on, as far as `out` has room; returns the number of
/// elements.
pub(super) type Whole = fn(&Encoding<'_>, out: &mut [f32]) -> usize;

/// An implementation of dequantisation. All give the same bits.
#[derive(Clone, Copy, Debug)]
pub struct Dequantizer {
    pub(super) name: &'static str,
    /// `None` for the reference implementation.
    pub(super) whole: Option<Whole>,
}

impl Dequantizer {
    /// The reference implementation, which runs everywhere.
    #[must_use]
    pub const fn portable() -> Self {
        Self { name: "portable", whole: None }
    }

    /// The name in machine-readable output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// As [`quant::dequantize`]: `out.len()` elements from `first` on, of `data` stored as elements
    /// or blocks of `dtype`.
    ///
    /// # Errors
    ///
    /// As [`quant::dequantize`].
    pub fn dequantize(
        &self,
        dtype: Dtype,
        data: &[u8],
        first: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let part = |first: usize, out: &mut [f32]| quant::dequantize(dtype, data, first, out);
        self.run(&Encoding::Plain { dtype, data }, first, out, part)
    }

    /// As [`quant::dequantize_weight`]: `out.len()` elements of `weight` from `first` on, in
    /// row-major order.
    ///
    /// # Errors
    ///
    /// As [`quant::dequantize_weight`].
    pub fn dequantize_weight(
        &self,
        weight: &Weight<'_>,
        first: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let end = first.checked_add(out.len());
        if end.is_none_or(|end| end as u64 > weight.elements()) {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let part = |first: usize, out: &mut [f32]| quant::dequantize_weight(weight, first, out);
        self.run(weight.encoding(), first, out, part)
    }

    /// Uses the reference up to the next whole step and after the last one, `whole` between them.
    fn run(
        &self,
        encoding: &Encoding<'_>,
        first: usize,
        out: &mut [f32],
        part: impl Fn(usize, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let split = || {
            let whole = self.whole?;
            let start = first.checked_next_multiple_of(whole::step(encoding)?)?;
            Some((whole, start, whole::from(encoding, start)?))
        };
        let Some((whole, start, steps)) = split() else { return part(first, out) };
        let Some((head, body)) = out.split_at_mut_checked(start - first) else {
            return part(first, out);
        };
        if !head.is_empty() {
            part(first, head)?;
        }
        let done = whole(&steps, body);
        match body.get_mut(done..) {
            Some(tail) if !tail.is_empty() => part(start + done, tail),
            _ => Ok(()),
        }
    }
}
