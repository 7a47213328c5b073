//! Linear layers: rows of weights from where they lie to where they are multiplied.

use super::bert::Run;
use super::grouped::GroupedInput;
use super::layout::MAX_GROUPS;
use super::summaries::FirstSummary;
use super::weights::{Encoding, Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::blocks::BlockLayout;
use crate::kernel::groups;
use crate::kernel::integer::{Base, Codes, Rows};
use crate::kernel::pieces::{pieces, pieces_mut};
use crate::kernel::{Floats, Product, ProductI8, Strides};
use crate::quant::amb_unpack::{GROUP_COLS, has_groups};
use crate::quant::groups::group_elements;
use crate::tensor::Dtype;

/// A linear layer: weights `[out, in]` and a bias `[out]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Matrix,
    /// Which of [`Run::summaries`] is the first of its weights.
    pub(super) summaries: FirstSummary,
}

impl Linear {
    pub(super) const EMPTY: Self = Self::new(Matrix::EMPTY, Matrix::EMPTY);

    pub(super) const fn new(weight: Matrix, bias: Matrix) -> Self {
        Self { weight, bias, summaries: FirstSummary::NONE }
    }

    /// How many columns share a scale if the layer is stored in blocks that activations in groups
    /// are multiplied with.
    pub(super) const fn group(&self) -> Option<usize> {
        match self.weight.encoding {
            Encoding::Block(dtype) => group_elements(dtype),
            Encoding::Scaled(codes)
                if cfg!(feature = "scaled-codes") && has_groups(&codes, self.weight.cols) =>
            {
                Some(GROUP_COLS)
            }
            _ => None,
        }
    }

    /// How its blocks lie in the file, if kernels may take them as they are.
    pub(super) const fn layout(&self) -> Option<BlockLayout> {
        match self.weight.encoding {
            _ if !cfg!(feature = "blocks-ggml") => None,
            Encoding::Block(Dtype::Q4_0) => Some(BlockLayout::Q4_0),
            Encoding::Block(Dtype::Q4_1) => Some(BlockLayout::Q4_1),
            Encoding::Block(Dtype::Q5_0) => Some(BlockLayout::Q5_0),
            Encoding::Block(Dtype::Q5_1) => Some(BlockLayout::Q5_1),
            Encoding::Block(Dtype::Q8_0) => Some(BlockLayout::Q8_0),
            _ => None,
        }
    }

    /// Whether the layer can be computed with quantised activations.
    pub(super) fn takes_codes(&self) -> bool {
        self.weight.encoding == Encoding::I8 && self.weight.groups <= MAX_GROUPS
    }
}

/// Scratch memory of one job for bringing weights in.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    /// For biases, column scales and the weights of layer norms.
    pub(super) vector: &'a mut [f32],
    /// For the scales of rows.
    pub(super) scales: &'a mut [f32],
    /// For rows of weights converted to f32.
    pub(super) converted: &'a mut [f32],
    /// For the codes of blocks.
    pub(super) unpacked: &'a mut [u8],
    /// For bytes that cannot be borrowed.
    pub(super) tile: &'a mut [u8],
}

/// Memory for quantised activations.
#[derive(Debug)]
pub(super) struct CodeBuffers<'a> {
    pub(super) codes: &'a mut [u8],
    pub(super) zeros: &'a mut [u8],
    pub(super) scales: &'a mut [f32],
}

/// Quantised activations: codes `[tokens][cols]`, zeros and scales `[groups][tokens]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuantizedInput<'a> {
    codes: &'a [u8],
    zeros: &'a [u8],
    scales: &'a [f32],
    tokens: usize,
    cols: usize,
}

/// What a linear layer is applied to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input<'a> {
    Floats(&'a [f32]),
    Codes(QuantizedInput<'a>),
    Groups(GroupedInput<'a>),
}

/// Where the output of some rows of a linear layer goes.
///
/// Element (t, r) lies at `t · strides.token + (r − first) · strides.row`.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) out: &'a mut [f32],
    pub(super) strides: Strides,
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// x · Wᵀ + bias for some rows of a linear layer.
    pub(super) fn linear(
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

    /// The product in f32; weights that are not f32 are converted a few rows at a time.
    fn float_rows(
        &self,
        matrix: &Matrix,
        x: &[f32],
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        let mut row = 0;
        while row < count {
            let mut rows = self.rows_at_once(matrix, count - row, staging.tile.len());
            if matrix.encoding != Encoding::F32 {
                let room = staging.converted.len().checked_div(matrix.cols).unwrap_or(0);
                rows = rows.min(room);
            }
            if rows == 0 {
                return Err(TOO_SMALL);
            }
            let weights = if matrix.encoding == Encoding::F32 {
                Floats::Bytes(self.read_rows(matrix, first + row, rows, staging.tile)?)
            } else {
                let values = staging.converted.get_mut(..rows * matrix.cols).ok_or(TOO_SMALL)?;
                self.read_converted(matrix, first + row, values, staging.tile)?;
                Floats::Values(values)
            };
            let bias = staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?;
            let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
            (self.kernels.product_f32)(Product::new(x, weights, bias, matrix.cols, out, strides)?);
            row += rows;
        }
        Ok(())
    }

    /// The product in integers, one group of columns after the other.
    fn integer_rows(
        &self,
        linear: &Linear,
        x: QuantizedInput<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        let matrix = &linear.weight;
        let Matrix { cols, groups, .. } = *matrix;
        let width = cols.checked_div(groups).unwrap_or(0);
        // Rows that are read go to the tile, so that what else is read must have been read before.
        let borrows = self.weights.borrows();
        let kept = if borrows { 1 } else { groups };
        let mut row = 0;
        while row < count {
            let rows = self.rows_at_once(matrix, count - row, staging.tile.len());
            let rows = rows.min(staging.scales.len().checked_div(kept).unwrap_or(0));
            if rows == 0 || x.cols != cols {
                return Err(TOO_SMALL);
            }
            let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
            let kept_scales = staging.scales.get_mut(..rows * kept).ok_or(TOO_SMALL)?;
            if !borrows {
                for (group, scales) in kept_scales.chunks_exact_mut(rows).enumerate() {
                    self.read_scales(matrix, first + row, group, scales, staging.tile)?;
                }
            }
            let codes = self.read_rows(matrix, first + row, rows, staging.tile)?;
            for group in 0..groups {
                let at = if borrows { 0 } else { group * rows };
                let scales = kept_scales.get_mut(at..at + rows).ok_or(TOO_SMALL)?;
                if borrows {
                    self.read_scales(matrix, first + row, group, scales, &mut [])?;
                }
                let base = match group {
                    0 => Base::Bias(staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?),
                    _ => Base::Output,
                };
                let from = group * width;
                let summaries = self.summaries_of(linear, group, first + row, rows);
                let codes = codes.get(from..).ok_or(TOO_SMALL)?;
                let w = Rows { codes, stride: cols, scales, summaries };
                let tokens = group * x.tokens..(group + 1) * x.tokens;
                let x = Codes {
                    codes: x.codes.get(from..).ok_or(TOO_SMALL)?,
                    stride: cols,
                    scales: x.scales.get(tokens.clone()).ok_or(TOO_SMALL)?,
                    zeros: x.zeros.get(tokens).ok_or(TOO_SMALL)?,
                };
                let product = ProductI8::new(x, w, width, base, &mut *out, strides)?;
                (self.kernels.product_i8)(product);
            }
            row += rows;
        }
        Ok(())
    }

    /// Quantises activations for a linear layer that [takes codes](Linear::takes_codes).
    pub(super) fn quantize<'b>(
        &self,
        matrix: &Matrix,
        x: &[f32],
        buffers: CodeBuffers<'b>,
        staging: &mut Staging<'_>,
    ) -> Result<QuantizedInput<'b>> {
        let Matrix { cols, groups, column_offset, .. } = *matrix;
        let invalid = Error::without_offset(ErrorKind::InvalidArgument);
        let tokens = x.len().checked_div(cols).ok_or(invalid)?;
        let columns = match column_offset {
            None => &[],
            Some(offset) => {
                let columns = staging.vector.get_mut(..cols).ok_or(TOO_SMALL)?;
                let vector = Matrix { rows: 1, cols, offset, ..Matrix::EMPTY };
                self.read_vector(&vector, 0, columns, staging.tile)?;
                &*columns
            }
        };
        let CodeBuffers { codes, zeros, scales } = buffers;
        let codes = codes.get_mut(..tokens * cols).ok_or(TOO_SMALL)?;
        let zeros = zeros.get_mut(..tokens * groups).ok_or(TOO_SMALL)?;
        let scales = scales.get_mut(..tokens * groups).ok_or(TOO_SMALL)?;
        let width = cols.checked_div(groups).filter(|&width| width > 0).ok_or(invalid)?;
        let rows = pieces(x, cols).zip(pieces_mut(codes, cols));
        for (token, (x, codes)) in rows.enumerate() {
            let parts = pieces(x, width).zip(pieces_mut(codes, width));
            for (group, (x, codes)) in parts.enumerate() {
                let columns = columns.get(group * width..(group + 1) * width).unwrap_or_default();
                let (scale, zero) = (self.kernels.quantize)(x, columns, codes);
                let at = group * tokens + token;
                if let (Some(s), Some(z)) = (scales.get_mut(at), zeros.get_mut(at)) {
                    (*s, *z) = (scale, zero);
                }
            }
        }
        Ok(QuantizedInput { codes, zeros, scales, tokens, cols })
    }

    /// How many of the next `left` rows can be had at once; 0 if the tile is too small for one.
    pub(super) fn rows_at_once(&self, matrix: &Matrix, left: usize, tile: usize) -> usize {
        let in_pieces = matches!(matrix.encoding, Encoding::Scaled(_) | Encoding::Values(_));
        if self.weights.borrows() || in_pieces {
            // Such rows are read in pieces, however many there are.
            left
        } else {
            left.min(tile.checked_div(matrix.row_bytes()).unwrap_or(0))
        }
    }
}

/// Whether two matrices divide their columns alike and have the same column scales, so that they
/// take the same codes.
pub(super) fn take_same_codes(
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
