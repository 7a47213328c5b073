//! Activations quantised in groups of columns, and their products with weights in blocks.

use super::scaled_codes::CodedRows;
use super::tiles::tiles;
use super::{CodeBuffers, Output, Staging, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::blocks::{BlockLayout, ProductBlocks, RestCodes};
use crate::kernel::groups::{self, GroupedCodes, GroupedRows, TILE_ROWS};
use crate::kernel::{Kernels, ProductGroups};
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, Weights};
use crate::quant::amb_unpack::GROUP_COLS;
use crate::quant::groups::{Unpacked, group_elements, unpack_rows};

/// Activations whose quantisation error is quantised together, a multiple of every group.
const PIECE: usize = 256;

/// The largest code of an activation.
const LIMIT: f32 = 127.0;

/// Activations quantised in groups of columns: codes `[tokens][cols]`, scales and sums
/// `[tokens][groups]`, and optionally their quantisation error in the same form.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct GroupedInput<'a> {
    codes: GroupedCodes<'a>,
    rest: Option<RestCodes<'a>>,
    cols: usize,
    group: usize,
}

/// Buffers for quantised activations.
#[derive(Debug)]
pub(in crate::model) struct GroupBuffers<'a> {
    codes: &'a mut [u8],
    scales: &'a mut [f32],
    sums: &'a mut [f32],
    rest: Option<(&'a mut [u8], &'a mut [f32])>,
    group: usize,
}

impl<'a> GroupBuffers<'a> {
    /// Buffers for `count` activations in groups of `group`, and if `twice` also for their
    /// quantisation error.
    pub(in crate::model) fn new(
        buffers: CodeBuffers<'a>,
        (count, group): (usize, usize),
        twice: bool,
    ) -> Result<Self> {
        let CodeBuffers { codes, scales, .. } = buffers;
        let groups = count.checked_div(group).filter(|_| group <= PIECE);
        let groups = groups.ok_or(Error::without_offset(ErrorKind::InvalidArgument))?;
        let (codes, rest_codes) = codes.split_at_mut_checked(count).ok_or(TOO_SMALL)?;
        let (scales, rest) = scales.split_at_mut_checked(groups).ok_or(TOO_SMALL)?;
        let (sums, rest_scales) = rest.split_at_mut_checked(groups).ok_or(TOO_SMALL)?;
        let rest = if twice && cfg!(feature = "blocks-ggml") {
            let codes = rest_codes.get_mut(..count).ok_or(TOO_SMALL)?;
            Some((codes, rest_scales.get_mut(..groups).ok_or(TOO_SMALL)?))
        } else {
            None
        };
        Ok(Self { codes, scales, sums, rest, group })
    }

    /// Quantises as many activations as the buffers hold.
    pub(in crate::model) fn quantize(&mut self, kernels: &Kernels, x: &[f32]) {
        let Self { codes, scales, sums, rest, group } = self;
        (kernels.quantize_groups)(x, *group, LIMIT, codes, scales, sums);
        let Some((rest_codes, rest_scales)) = rest else { return };
        let group = (*group).max(1);
        let size = (PIECE / group).max(1);
        let (mut differences, mut rest_sums) = ([0.0; PIECE], [0.0; PIECE]);
        let first = codes.chunks(PIECE).zip(scales.chunks(size));
        let rest = rest_codes.chunks_mut(PIECE).zip(rest_scales.chunks_mut(size));
        let sums = sums.chunks_mut(size);
        for (((x, (codes, scales)), (rest_codes, rest_scales)), sums) in
            x.chunks(PIECE).zip(first).zip(rest).zip(sums)
        {
            let groups = x.chunks(group).zip(codes.chunks(group)).zip(scales);
            for (to, ((x, codes), scale)) in differences.chunks_mut(group).zip(groups) {
                for (to, (x, code)) in to.iter_mut().zip(x.iter().zip(codes)) {
                    *to = x - scale * f32::from(code.cast_signed());
                }
            }
            let x = differences.get(..x.len()).unwrap_or_default();
            (kernels.quantize_groups)(x, group, LIMIT, rest_codes, rest_scales, &mut rest_sums);
            for (sum, rest) in sums.iter_mut().zip(rest_sums) {
                *sum += rest;
            }
        }
    }

    /// The quantised activations, as rows of `cols`.
    pub(in crate::model) fn into_input(self, cols: usize) -> GroupedInput<'a> {
        let Self { codes, scales, sums, rest, group } = self;
        let rest = rest.map(|(codes, scales)| RestCodes { codes, scales });
        GroupedInput { codes: GroupedCodes { codes, scales, sums }, rest, cols, group }
    }
}

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The product with blocks in the file's layout.
    pub(in crate::model) fn block_rows(
        &self,
        matrix: &Matrix,
        (layout, multiply): (BlockLayout, fn(ProductBlocks<'_>)),
        x: GroupedInput<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        if x.cols != matrix.cols {
            return Err(TOO_SMALL);
        }
        let tile = staging.tile.len();
        tiles(
            count,
            |left| self.rows_at_once(matrix, left, tile),
            |row, rows| {
                let blocks = self.read_rows(matrix, first + row, rows, staging.tile)?;
                let bias = staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?;
                let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
                let (x, w) = ((x.codes, x.rest), (layout, blocks));
                multiply(ProductBlocks::new(x, w, bias, matrix.cols, out, strides)?);
                Ok(())
            },
        )
    }

    /// The product with blocks, unpacked a few rows at a time.
    pub(in crate::model) fn grouped_rows(
        &self,
        matrix: &Matrix,
        x: GroupedInput<'_>,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, strides } = output;
        let Matrix { cols, .. } = *matrix;
        if x.cols != cols || x.rest.is_some() {
            return Err(Error::new(matrix.offset, ErrorKind::UnsupportedDtype));
        }
        let factors = cols.checked_div(x.group).unwrap_or(0) * TILE_ROWS;
        let tile = staging.tile.len();
        let most = |left: usize| self.rows_at_once(matrix, left.min(TILE_ROWS), tile);
        tiles(count, most, |row, rows| {
            let codes = staging.unpacked.get_mut(..rows * cols).ok_or(TOO_SMALL)?;
            let (scales, rest) =
                staging.converted.split_at_mut_checked(factors).ok_or(TOO_SMALL)?;
            let minima = rest.get_mut(..factors).ok_or(TOO_SMALL)?;
            let mut unpacked = Unpacked {
                codes: &mut *codes,
                scales: &mut *scales,
                minima: &mut *minima,
                stride: TILE_ROWS,
            };
            self.unpack_rows(matrix, (first + row, x.group), &mut unpacked, staging.tile)?;
            let w = GroupedRows { codes, scales, minima };
            let bias = staging.vector.get(row..row + rows).ok_or(TOO_SMALL)?;
            let out = out.get_mut(row * strides.row..).ok_or(TOO_SMALL)?;
            let product = ProductGroups::new(x.codes, w, bias, (cols, x.group), out, strides)?;
            (self.kernels.product_groups)(product);
            Ok(())
        })
    }

    /// Unpacks the rows from row `first` on, in groups of `group` columns, as many as `out` has
    /// codes for.
    fn unpack_rows(
        &self,
        matrix: &Matrix,
        (first, group): (usize, usize),
        out: &mut Unpacked<'_>,
        tile: &mut [u8],
    ) -> Result<()> {
        let done = match matrix.encoding {
            MatrixEncoding::Block(dtype) if group_elements(dtype) == Some(group) => {
                let rows = out.codes.len().checked_div(matrix.cols).unwrap_or(0);
                let data = self.read_rows(matrix, first, rows, tile)?;
                unpack_rows(dtype, data, matrix.cols, out)
            }
            MatrixEncoding::Scaled(codes)
                if cfg!(feature = "scaled-codes") && group == GROUP_COLS =>
            {
                let rows = CodedRows { weights: self.weights, matrix, codes, first };
                rows.unpack(out, tile, self.kernels.unpack_codes)?;
                true
            }
            _ => false,
        };
        if done { Ok(()) } else { Err(Error::new(matrix.offset, ErrorKind::UnsupportedDtype)) }
    }

    /// Quantises activations in groups of `group` columns.
    pub(in crate::model) fn quantize_groups<'b>(
        &self,
        (cols, group): (usize, usize),
        x: &[f32],
        buffers: CodeBuffers<'b>,
    ) -> Result<GroupedInput<'b>> {
        if !groups::BUILT_IN {
            return Err(Error::without_offset(ErrorKind::UnsupportedDtype));
        }
        let mut buffers = GroupBuffers::new(buffers, (x.len(), group), false)?;
        buffers.quantize(self.kernels, x);
        Ok(buffers.into_input(cols))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::kernel::{self, Strides};
    use crate::tensor::Dtype;

    const LAYOUTS: [(Dtype, BlockLayout); 5] = [
        (Dtype::Q4_0, BlockLayout::Q4_0),
        (Dtype::Q4_1, BlockLayout::Q4_1),
        (Dtype::Q5_0, BlockLayout::Q5_0),
        (Dtype::Q5_1, BlockLayout::Q5_1),
        (Dtype::Q8_0, BlockLayout::Q8_0),
    ];
    const GROUP: usize = 32;

    fn noise(seed: &mut u32) -> u8 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*seed >> 24) as u8
    }

    fn check(
        (dtype, layout): (Dtype, BlockLayout),
        (rows, cols, tokens): (usize, usize, usize),
        twice: bool,
    ) {
        let mut seed = 7;
        let mut x = vec![0.0; cols * tokens];
        x.fill_with(|| {
            f32::from(noise(&mut seed)) / 100.0 - 1.0 + f32::from(noise(&mut seed)) / 9e3
        });
        let row_bytes = cols / GROUP * layout.bytes();
        let mut blocks = vec![0; rows * row_bytes];
        // Halves above 0x7bff are not finite: only bytes of codes are that large.
        blocks.fill_with(|| noise(&mut seed) & 0x7b);
        for block in blocks.chunks_exact_mut(layout.bytes()) {
            block[4..].fill_with(|| noise(&mut seed));
            block[1] &= 0xbf;
            block[3] &=
                if matches!(layout, BlockLayout::Q4_1 | BlockLayout::Q5_1) { 0xbf } else { 0xff };
        }
        let bias: Vec<f32> = (0..rows).map(|_| f32::from(noise(&mut seed))).collect();
        let portable = Kernels::portable();
        let (mut codes, mut scales) = (vec![0; 2 * x.len()], vec![0.0; 3 * x.len() / GROUP]);
        let buffers = CodeBuffers { codes: &mut codes, zeros: &mut [], scales: &mut scales };
        let mut buffers = GroupBuffers::new(buffers, (x.len(), GROUP), twice).unwrap();
        buffers.quantize(&portable, &x);
        let input = buffers.into_input(cols);
        let strides = Strides { token: rows, row: 1 };
        let mut unpacked = vec![0; TILE_ROWS * cols];
        let (mut scales, mut minima) =
            (vec![0.0; TILE_ROWS * cols / GROUP], vec![0.0; TILE_ROWS * cols / GROUP]);
        let mut expected = vec![0.0; rows * tokens];
        for first in (0..rows).step_by(TILE_ROWS) {
            let count = (rows - first).min(TILE_ROWS);
            let codes = &mut unpacked[..count * cols];
            let data = &blocks[first * row_bytes..(first + count) * row_bytes];
            let mut to = Unpacked {
                codes: &mut *codes,
                scales: &mut scales,
                minima: &mut minima,
                stride: TILE_ROWS,
            };
            assert!(unpack_rows(dtype, data, cols, &mut to));
            let w = GroupedRows { codes, scales: &scales, minima: &minima };
            let out = expected.get_mut(first..).unwrap_or_default();
            let bias = &bias[first..first + count];
            let shape = (cols, GROUP);
            let product = ProductGroups::new(input.codes, w, bias, shape, out, strides).unwrap();
            (portable.product_groups)(product);
            // The contribution of the quantisation error is small compared with the rest, which
            // other tests check bit by bit.
            for (t, x) in x.chunks_exact(cols).enumerate().filter(|_| twice) {
                for r in 0..count {
                    let exact: f64 = (0..cols)
                        .map(|c| {
                            let at = c / GROUP * TILE_ROWS + r;
                            let w = f64::from(codes[r * cols + c]) * f64::from(scales[at]);
                            (w + f64::from(minima[at])) * f64::from(x[c])
                        })
                        .sum();
                    expected[t * rows + first + r] = (exact + f64::from(bias[r])) as f32;
                }
            }
        }
        for kernels in kernel::available() {
            let Some(product_blocks) = kernels.product_blocks else { continue };
            let mut out = vec![-7.5; rows * tokens + 3];
            let (x, w) = ((input.codes, input.rest), (layout, &blocks[..]));
            let product = ProductBlocks::new(x, w, &bias, cols, &mut out[..rows * tokens], strides);
            product_blocks(product.unwrap());
            assert!(out[rows * tokens..].iter().all(|&x| x == -7.5), "{layout:?}");
            let largest = expected.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for (i, (a, b)) in out.iter().zip(&expected).enumerate() {
                let same = if twice {
                    (a - b).abs() <= 1e-4 * largest
                } else {
                    a.to_bits() == b.to_bits()
                };
                assert!(
                    same,
                    "{} {layout:?} {rows} {cols} {tokens} {twice} {i}: {a} {b}",
                    kernels.name
                );
            }
        }
    }

    #[test]
    fn products_of_blocks_are_those_of_what_they_unpack_to() {
        for layout in LAYOUTS {
            for shape in
                [(1, 32, 1), (16, 64, 2), (17, 64, 0), (17, 96, 27), (35, 576, 5), (19, 1600, 7)]
            {
                for twice in [false, true] {
                    check(layout, shape, twice);
                }
            }
        }
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let codes = GroupedCodes { codes: &[0; 64], scales: &[0.0; 2], sums: &[0.0; 2] };
        let strides = Strides { token: 2, row: 1 };
        let new = |cols, blocks: &[u8], rest, out: usize| {
            let (layout, mut space) = (BlockLayout::Q4_1, [0.0; 4]);
            let out = &mut space[..out];
            ProductBlocks::new((codes, rest), (layout, blocks), &[0.0; 2], cols, out, strides)
                .map(drop)
                .map_err(|error| error.kind())
        };
        let rest = RestCodes { codes: &[0; 64], scales: &[0.0; 2] };
        assert_eq!(new(32, &[0; 40], Some(rest), 4), Ok(()));
        assert_eq!(new(32, &[0; 40], None, 3), Err(ErrorKind::InvalidArgument));
        assert_eq!(new(32, &[0; 39], None, 4), Err(ErrorKind::InvalidArgument));
        assert_eq!(new(16, &[0; 40], None, 4), Err(ErrorKind::InvalidArgument));
        assert_eq!(new(0, &[0; 0], None, 4), Err(ErrorKind::InvalidArgument));
        let short = RestCodes { codes: &[0; 64], scales: &[0.0; 1] };
        assert_eq!(new(32, &[0; 40], Some(short), 4), Err(ErrorKind::InvalidArgument));
    }
}
