//! Operands of the matrix operations, checked once in their constructors.
//!
//! A kernel takes one of these by value and relies on the constructor's checks: the vector kernels
//! read and write through pointers within exactly the bounds stated here.

use super::{ProductF32, pieces::even_size};
use crate::error::{Error, ErrorKind, Result};

/// f32 elements, either in a file's layout (little-endian, unaligned) or in memory.
#[derive(Clone, Copy, Debug)]
pub enum FloatOperand<'a> {
    /// Four little-endian bytes each.
    Bytes(&'a [u8]),
    /// Native f32 values.
    Values(&'a [f32]),
}

impl FloatOperand<'_> {
    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len() / 4,
            Self::Values(values) => values.len(),
        }
    }

    /// Returns true if there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The strides of an output: element (t, r) is at `t · token_stride + r · row_stride`.
///
/// With `row_stride` 1 the output is row-major `[tokens, rows]`; with `token_stride` 1 it is its
/// transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Elements from one token to the next.
    pub token: usize,
    /// Elements from one weight row to the next.
    pub row: usize,
}

/// x · Wᵀ + bias in f32: `out(t, r) = bias[r] + Σ_c x[t · cols + c] · w[r · cols + c]`.
#[derive(Debug)]
pub struct Product<'a> {
    pub(super) x: &'a [f32],
    pub(super) weights: FloatOperand<'a>,
    pub(super) bias: &'a [f32],
    pub(super) out: &'a mut [f32],
    #[allow(dead_code, reason = "for tables with tiles, of which a target may have none")]
    pub(super) tokens: usize,
    #[allow(dead_code, reason = "as above")]
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) strides: Strides,
}

impl<'a> Product<'a> {
    /// A product of `x` (`[tokens, cols]`) and the rows of `weights` (`[rows, cols]`, `rows` =
    /// length of `bias`).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the slices have inconsistent lengths.
    pub fn new(
        x: &'a [f32],
        weights: FloatOperand<'a>,
        bias: &'a [f32],
        cols: usize,
        out: &'a mut [f32],
        strides: Strides,
    ) -> Result<Self> {
        let rows = bias.len();
        let tokens = x.len().checked_div(cols).unwrap_or(0);
        let fits = cols > 0
            && tokens.checked_mul(cols) == Some(x.len())
            && rows.checked_mul(cols) == Some(weights.len())
            && reach(tokens, strides.token, rows, strides.row).is_some_and(|n| n <= out.len());
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { x, weights, bias, out, tokens, rows, cols, strides })
    }

    /// Calls `run` with products of at most `most` consecutive tokens each, divided as evenly as
    /// possible: a single remaining token might take another path through a kernel.
    pub(crate) fn by_tokens(self, most: usize, run: ProductF32) {
        let Self { x, weights, bias, out, tokens, rows, cols, strides } = self;
        let size = even_size(tokens, most).max(1);
        for (index, x) in x.chunks((size * cols).max(1)).enumerate() {
            let out = out.get_mut(index * size * strides.token..).unwrap_or_default();
            let tokens = x.len() / cols.max(1);
            run(Product { x, weights, bias, out, tokens, rows, cols, strides });
        }
    }
}

/// The required length of a slice that holds `m × n` elements at these strides; `None` on overflow.
pub(super) fn reach(m: usize, m_stride: usize, n: usize, n_stride: usize) -> Option<usize> {
    let (Some(m), Some(n)) = (m.checked_sub(1), n.checked_sub(1)) else { return Some(0) };
    m.checked_mul(m_stride)?.checked_add(n.checked_mul(n_stride)?)?.checked_add(1)
}

/// A row-major matrix of `rows` rows, `stride` elements apart, borrowed for reading.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The elements.
    pub data: &'a [f32],
    /// Elements from one row to the next.
    pub stride: usize,
}

impl Table<'_> {
    /// The table that begins `elements` later: at another column, or at another row.
    #[must_use]
    pub(crate) fn skip(self, elements: usize) -> Self {
        Self { data: self.data.get(elements..).unwrap_or_default(), ..self }
    }

    /// `count` rows from `first` on, or fewer at the end.
    #[must_use]
    #[cfg_attr(feature = "small", inline(never))]
    pub(crate) fn rows(self, first: usize, count: usize) -> Self {
        let Self { data, stride } = self.skip(first * self.stride);
        Self { data: data.get(..count * stride).unwrap_or(data), stride }
    }
}

/// A · B in f32, both row-major: `out[m · out_stride + n] = Σ_k a[m · a.stride + k] · b[k ·
/// b.stride + n]`.
///
/// Attention consists of these: scores are Q · Kᵀ with K stored transposed, the context is P · V.
#[derive(Debug)]
pub struct Multiply<'a> {
    pub(super) a: Table<'a>,
    pub(super) b: Table<'a>,
    pub(super) out: &'a mut [f32],
    pub(super) out_stride: usize,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

impl<'a> Multiply<'a> {
    /// A product of `a` (`[m, k]`) and `b` (`[k, n]`) into `out` (`[m, n]`, rows `out_stride`
    /// apart).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if a slice is too short.
    pub fn new(
        a: Table<'a>,
        b: Table<'a>,
        out: &'a mut [f32],
        out_stride: usize,
        (m, n, k): (usize, usize, usize),
    ) -> Result<Self> {
        let holds = |len: usize, rows, stride, cols| {
            stride >= cols && reach(rows, stride, cols, 1).is_some_and(|needed| needed <= len)
        };
        let fits = holds(a.data.len(), m, a.stride, k)
            && holds(b.data.len(), k, b.stride, n)
            && holds(out.len(), m, out_stride, n);
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { a, b, out, out_stride, m, n, k })
    }
    /// The number of scalar multiplications.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub const fn multiplications(&self) -> usize {
        self.m * self.n * self.k
    }
}
