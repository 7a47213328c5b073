//! Rows of f32 weights, some of them at a time.

use core::ops::Range;

use crate::kernel::product::{Floats, Product};

/// The rows of a tile.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    first: usize,
    apart: usize,
    last: usize,
}

impl Rows {
    /// `rows` in tiles of `count`, the rows of a tile as far apart as can be: each comes from a
    /// stretch of its own, which CPUs fetch ahead by themselves. What is left is a tile that has
    /// the last row several times.
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

/// Where the weights of a row begin.
///
/// # Safety
///
/// There is such a row.
pub(super) unsafe fn row_weights(product: &Product<'_>, row: usize) -> *const f32 {
    let weights: *const f32 = match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    };
    // SAFETY: the caller's; `Product::new` checked that there are rows × cols weights.
    unsafe { weights.add(row * product.cols) }
}
