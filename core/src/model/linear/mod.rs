//! Linear layers: reading rows of weights, and multiplying them.

mod float;
pub(super) mod grouped;
mod integer;
pub mod requantize;
mod rows;
mod scaled_codes;
pub(super) mod summaries;
pub(super) mod tiles;

use self::grouped::GroupedInput;
use self::integer::QuantizedInput;
use self::summaries::FirstSummary;
use super::run::Run;
use super::weights::{Matrix, MatrixEncoding, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Strides;
use crate::kernel::blocks::BlockLayout;
use crate::kernel::finite::check_finite;
use crate::kernel::groups;
use crate::quant::amb_unpack::{GROUP_COLS, has_groups};
use crate::quant::groups::group_elements;
use crate::tensor::Dtype;

/// The largest number of column groups in which activations are quantised.
pub(in crate::model) const MAX_GROUPS: usize = 16;

/// A linear layer: weights `[out, in]` and a bias `[out]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Linear {
    pub(in crate::model) weight: Matrix,
    pub(in crate::model) bias: Matrix,
    /// The index of its first summary in [`Run::summaries`].
    pub(in crate::model) summaries: FirstSummary,
}

impl Linear {
    pub(in crate::model) const EMPTY: Self = Self::new(Matrix::EMPTY, Matrix::EMPTY);

    pub(in crate::model) const fn new(weight: Matrix, bias: Matrix) -> Self {
        Self { weight, bias, summaries: FirstSummary::NONE }
    }

    /// The number of columns that share a scale if the weights are in blocks that are multiplied
    /// with activations in groups.
    pub(in crate::model) const fn group(&self) -> Option<usize> {
        match self.weight.encoding {
            MatrixEncoding::Block(dtype) => group_elements(dtype),
            MatrixEncoding::Scaled(codes)
                if cfg!(feature = "scaled-codes") && has_groups(&codes, self.weight.cols) =>
            {
                Some(GROUP_COLS)
            }
            _ => None,
        }
    }

    /// The layout of its blocks in the file, if kernels support it.
    pub(in crate::model) const fn layout(&self) -> Option<BlockLayout> {
        match self.weight.encoding {
            _ if !cfg!(feature = "blocks-ggml") => None,
            MatrixEncoding::Block(Dtype::Q4_0) => Some(BlockLayout::Q4_0),
            MatrixEncoding::Block(Dtype::Q4_1) => Some(BlockLayout::Q4_1),
            MatrixEncoding::Block(Dtype::Q5_0) => Some(BlockLayout::Q5_0),
            MatrixEncoding::Block(Dtype::Q5_1) => Some(BlockLayout::Q5_1),
            MatrixEncoding::Block(Dtype::Q8_0) => Some(BlockLayout::Q8_0),
            _ => None,
        }
    }

    /// Returns true if the layer can be computed with quantised activations.
    pub(in crate::model) fn takes_codes(&self) -> bool {
        self.weight.encoding == MatrixEncoding::I8 && self.weight.groups <= MAX_GROUPS
    }
}

/// Some rows of a linear layer: related matrices may be stored as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Rows {
    pub(in crate::model) linear: Linear,
    pub(in crate::model) first: usize,
    pub(in crate::model) count: usize,
}

impl Rows {
    pub(in crate::model) const EMPTY: Self = Self::all(Linear::EMPTY);

    pub(in crate::model) const fn all(linear: Linear) -> Self {
        Self { linear, first: 0, count: linear.weight.rows }
    }

    /// `count` rows from `first` on, as a matrix of their own if rows are contiguous.
    pub(in crate::model) fn part(weight: Matrix, first: usize, count: usize) -> Self {
        let Some(row_bytes) = weight.encoding.row_bytes(weight.cols) else {
            return Self { linear: Linear::new(weight, Matrix::EMPTY), first, count };
        };
        let after =
            |offset: u64, bytes: usize| offset.saturating_add(first.saturating_mul(bytes) as u64);
        let part = Matrix {
            rows: count,
            offset: after(weight.offset, row_bytes),
            bytes: count.saturating_mul(row_bytes) as u64,
            scale_offset: after(weight.scale_offset, weight.groups.saturating_mul(4)),
            zero_offset: after(weight.zero_offset, 1),
            ..weight
        };
        Self::all(Linear::new(part, Matrix::EMPTY))
    }
}

/// One job's scratch memory for reading weights.
#[derive(Debug)]
pub(in crate::model) struct Staging<'a> {
    /// For biases, column scales and the weights of layer norms.
    pub(in crate::model) vector: &'a mut [f32],
    /// For the scales of rows.
    pub(in crate::model) scales: &'a mut [f32],
    /// For rows of weights converted to f32.
    pub(in crate::model) converted: &'a mut [f32],
    /// For the codes of blocks.
    pub(in crate::model) unpacked: &'a mut [u8],
    /// For bytes that cannot be borrowed.
    pub(in crate::model) tile: &'a mut [u8],
}

/// Memory for quantised activations.
#[derive(Debug)]
pub(in crate::model) struct CodeBuffers<'a> {
    pub(in crate::model) codes: &'a mut [u8],
    pub(in crate::model) zeros: &'a mut [u8],
    pub(in crate::model) scales: &'a mut [f32],
}

impl CodeBuffers<'_> {
    /// The same memory for a shorter time.
    pub(in crate::model) const fn reborrow(&mut self) -> CodeBuffers<'_> {
        let Self { codes, zeros, scales } = self;
        CodeBuffers { codes, zeros, scales }
    }
}

/// The input of a linear layer.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum Input<'a> {
    Floats(&'a [f32]),
    Codes(QuantizedInput<'a>),
    Groups(GroupedInput<'a>),
}

/// The output of some rows of a linear layer.
///
/// Element (t, r) is at `t · strides.token + (r − first) · strides.row`.
#[derive(Debug)]
pub(in crate::model) struct Output<'a> {
    pub(in crate::model) first: usize,
    pub(in crate::model) rows: usize,
    pub(in crate::model) out: &'a mut [f32],
    pub(in crate::model) strides: Strides,
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// x · Wᵀ + bias for some rows of a linear layer.
    ///
    /// # Errors
    ///
    /// [`NotFinite`](ErrorKind::NotFinite) if the first token's elements are not finite: see
    /// `kernel::finite`; any error of reading the weights.
    pub(in crate::model) fn linear(
        &self,
        linear: &Linear,
        input: Input<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows, out, strides } = output;
        let output = Output { first, rows, out: &mut *out, strides };
        self.product(linear, input, output, staging)?;
        let checked = if strides.row == 1 {
            check_finite(out.get(..rows).unwrap_or_default())
        } else {
            let mut elements = out.iter().step_by(strides.row.max(1)).take(rows);
            elements.try_for_each(|element| check_finite(core::slice::from_ref(element)))
        };
        // Requantised weights are not in a file.
        let offset = Some(linear.weight.offset).filter(|offset| *offset < requantize::MEMORY);
        checked.map_err(|error| offset.map_or(error, |offset| Error::new(offset, error.kind())))
    }

    fn product(
        &self,
        linear: &Linear,
        input: Input<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let bias = staging.vector.get_mut(..output.rows).ok_or(TOO_SMALL)?;
        match linear.bias.cols {
            0 => bias.fill(0.0),
            _ => self.read_vector(&linear.bias, output.first, bias, staging.tile)?,
        }
        match input {
            Input::Floats(x) => self.float_rows(&linear.weight, x, output, staging),
            Input::Codes(x) => self.integer_rows(linear, x, output, staging),
            Input::Groups(x) if groups::BUILT_IN => {
                match linear.layout().zip(self.kernels.product_blocks) {
                    Some(with) => self.block_rows(&linear.weight, with, x, output, staging),
                    None => self.grouped_rows(&linear.weight, x, output, staging),
                }
            }
            Input::Groups(_) => Err(Error::without_offset(ErrorKind::UnsupportedDtype)),
        }
    }

    /// The number of the next `left` rows that can be read at once; 0 if the tile is too small for
    /// one.
    pub(in crate::model) fn rows_at_once(
        &self,
        matrix: &Matrix,
        left: usize,
        tile: usize,
    ) -> usize {
        let in_pieces = matches!(
            matrix.encoding,
            MatrixEncoding::Scaled(_) | MatrixEncoding::Transposed(_) | MatrixEncoding::Values(_)
        );
        if self.weights.borrows() || in_pieces {
            // Such rows are read in pieces, whatever their number.
            left
        } else {
            left.min(tile.checked_div(matrix.row_bytes()).unwrap_or(0))
        }
    }
}

/// Returns true if two matrices have the same column groups and column scales, so that they take
/// the same codes.
pub(in crate::model) fn take_same_codes(
    weights: &(impl Weights + ?Sized),
    a: &Matrix,
    b: &Matrix,
) -> Result<bool> {
    let (from, to) = match (a.column_offset, b.column_offset) {
        (None, None) => return Ok(a.groups == b.groups && a.cols == b.cols),
        (Some(from), Some(to)) if a.groups == b.groups && a.cols == b.cols => (from, to),
        _ => return Ok(false),
    };
    const PIECE: usize = 64;
    let (mut first, mut second) = ([0; PIECE], [0; PIECE]);
    let length = a.cols.saturating_mul(4);
    let mut at = 0;
    while at < length {
        let size = PIECE.min(length - at);
        let a = weights.bytes(from.saturating_add(at as u64), size, &mut first)?;
        let b = weights.bytes(to.saturating_add(at as u64), size, &mut second)?;
        if a != b {
            return Ok(false);
        }
        at += size;
    }
    Ok(true)
}
