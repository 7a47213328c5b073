//! Rows of f32 weights, grouped into tiles.

use core::ops::Range;

use crate::kernel::product::{FloatOperand, Product};

/// The rows of a tile.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    first: usize,
    apart: usize,
    last: usize,
}

impl Rows {
    /// `rows` in tiles of `count`, the rows of a tile as far apart as possible, so that CPUs
    /// prefetch each of the streams. The remaining rows form a tile that repeats the last row.
    pub(super) fn tiles(rows: Range<usize>, count: usize) -> impl Iterator<Item = Self> {
        let (apart, last) = (rows.len() / count, rows.end.wrapping_sub(1));
        let rest = rows.start + apart * count;
        (rows.start..rows.start + apart)
            .map(move |first| Self { first, apart, last })
            .chain((rest < rows.end).then_some(Self { first: rest, apart: 1, last }))
    }

    /// The row at `place` in the tile.
    pub(super) fn at(self, place: usize) -> usize {
        self.last.min(self.first + place * self.apart)
    }
}

/// The start of a row's weights.
///
/// # Safety
///
/// The row must exist.
pub(super) unsafe fn row_weights(product: &Product<'_>, row: usize) -> *const f32 {
    let weights: *const f32 = match product.weights {
        FloatOperand::Bytes(bytes) => bytes.as_ptr().cast(),
        FloatOperand::Values(values) => values.as_ptr(),
    };
    // SAFETY: upheld by the caller; `Product::new` checked that there are rows × cols weights.
    unsafe { weights.add(row * product.cols) }
}
