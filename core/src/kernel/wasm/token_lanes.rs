//! Tiles of f32 products whose lanes are tokens: each column's weight of a row is read into all
//! lanes and multiplied with that column of four, eight or twelve tokens.
//!
//! Twelve tokens read the rows once, no faster than they are multiplied, and from as many places as
//! a tile has rows.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::read_volatile;

use super::instructions::Instructions;
use super::lanes::{LANES, transpose};
use super::rows::{Rows, row_weights};
use crate::kernel::product::Product;

/// Vectors that there is room for, 192 KiB on the stack: 128 tokens of 384 columns, 32 of 1536.
const ROOM: usize = 12 * 1024;

/// Vectors of tokens that a band has at most.
pub(super) const BAND: usize = 3;

/// Bands of up to three vectors of tokens, of each column those of one band side by side.
pub(super) struct Packed {
    /// More than are filled, which are read but not used: see [`sums`].
    vectors: [MaybeUninit<v128>; ROOM + BAND],
}

impl Packed {
    pub(super) const fn new() -> Self {
        Self { vectors: [const { MaybeUninit::uninit() }; ROOM + BAND] }
    }

    /// How many tokens of `cols` columns there is room for.
    pub(super) const fn room(cols: usize) -> usize {
        ROOM / cols * LANES
    }

    /// The band of `tokens`, with `before` vectors of each column before it.
    pub(super) fn band(&self, product: &Product<'_>, tokens: Range<usize>, before: usize) -> Band {
        let lane = |lane| (tokens.end - 1).min(tokens.start + lane) * product.strides.token;
        Band {
            vectors: tokens.len().div_ceil(LANES),
            x: self.vectors.as_ptr().wrapping_add(before * product.cols),
            places: core::array::from_fn(lane),
        }
    }

    /// Brings in `tokens` of `product`, no more than a band has, with `before` vectors of each
    /// column before them. Lanes that are left have the last token.
    ///
    /// # Safety
    ///
    /// There are such tokens, and [room](Self::room) for them and those before.
    #[inline(never)]
    pub(super) unsafe fn pack(
        &mut self,
        product: &Product<'_>,
        tokens: Range<usize>,
        before: usize,
    ) {
        let cols = product.cols;
        let vectors = tokens.len().div_ceil(LANES);
        let to = self.vectors.as_mut_ptr().wrapping_add(before * cols).cast::<v128>();
        for vector in 0..vectors {
            // SAFETY: the caller's: of each token all columns are read, and there is a place for
            // each.
            unsafe {
                let token = |lane: usize| {
                    let token = (tokens.end - 1).min(tokens.start + vector * LANES + lane);
                    product.x.as_ptr().add(token * cols)
                };
                let x = [token(0), token(1), token(2), token(3)];
                let place = |column: usize| to.add(column * vectors + vector);
                for column in (0..cols / LANES * LANES).step_by(LANES) {
                    let columns = transpose(x.map(|x| v128_load(x.add(column).cast())));
                    unroll_4!(LANES, at => { *place(column + at) = columns[at]; });
                }
                for column in cols / LANES * LANES..cols {
                    let [a, b, c, d] = x.map(|x| *x.add(column));
                    *place(column) = f32x4(a, b, c, d);
                }
            }
        }
    }
}

/// Some tokens of a product.
pub(super) struct Band {
    vectors: usize,
    /// Where they lie packed.
    x: *const MaybeUninit<v128>,
    /// Where the elements of each lane's token begin in the output; lanes that are left have those
    /// of the last token.
    places: [usize; BAND * LANES],
}

/// A band against `rows`.
pub(super) fn band<I: Instructions>(product: &mut Product<'_>, band: &Band, rows: Range<usize>) {
    // Units for multiplication that begin two a cycle and take four for one want eight sums. Of
    // what there are registers for, three vectors and three rows take the fewest instructions for a
    // multiplication: a core whose other thread is busy begins half as many.
    match band.vectors {
        1 => Rows::tiles(rows, 6).for_each(|rows| tile::<I, 1, 6>(product, band, rows)),
        2 => Rows::tiles(rows, 4).for_each(|rows| tile::<I, 2, 4>(product, band, rows)),
        _ => Rows::tiles(rows, 3).for_each(|rows| tile::<I, BAND, 3>(product, band, rows)),
    }
}

/// A band of `V` vectors and `R` rows.
#[inline(never)] // see the module
fn tile<I: Instructions, const V: usize, const R: usize>(
    product: &mut Product<'_>,
    band: &Band,
    rows: Rows,
) {
    // SAFETY: `Product::new` checked that the weights have rows × cols elements, the bias rows, and
    // that the last element of the output lies inside it; there are such tokens and rows, and the
    // tokens are packed.
    unsafe {
        let mut weights = [product.bias.as_ptr(); R];
        unroll!(R, r => { weights[r] = row_weights(product, rows.at(r)); });
        let sums = sums::<I, V, R>(band.x, weights, product.cols);
        unroll!(R, r => {
            let row = rows.at(r);
            let bias = v128_load32_splat(product.bias.as_ptr().add(row).cast());
            let out = product.out.as_mut_ptr().add(row * product.strides.row);
            unroll_4!(V, v => {
                let sums = f32x4_add(sums[r][v], bias);
                let place = |lane: usize| out.add(band.places[v * LANES + lane]).cast::<u32>();
                v128_store32_lane::<0>(sums, place(0));
                v128_store32_lane::<1>(sums, place(1));
                v128_store32_lane::<2>(sums, place(2));
                v128_store32_lane::<3>(sums, place(3));
            });
        });
    }
}

/// Sums of products of `V` vectors of tokens and `R` rows over `cols` columns.
///
/// # Safety
///
/// There are so many columns of each row and of the packed tokens, behind which there is memory for
/// `V` vectors.
#[inline(always)]
unsafe fn sums<I: Instructions, const V: usize, const R: usize>(
    mut x: *const MaybeUninit<v128>,
    rows: [*const f32; R],
    cols: usize,
) -> [[v128; V]; R] {
    let mut sums = [[f32x4_splat(0.0); V]; R];
    let (mut column, mut left) = (0, cols);
    loop {
        // SAFETY: it is ours. Volatile: a compiler that knew what comes next would make every
        // weight's address of that of one row, an addition each.
        let first = unsafe { read_volatile(&raw const column) };
        let mut weights = rows;
        // SAFETY: no row ends before.
        unroll!(R, r => { weights[r] = unsafe { rows[r].add(first) }; });
        macro_rules! step {
            ($at:literal) => {
                let mut tokens = [MaybeUninit::uninit(); V];
                // SAFETY: there is such a vector, even if no columns are left. Volatile, and read
                // before that is known: a compiler that put it off would multiply all rows with one
                // vector, and have more weights alive than there are registers for.
                unroll_4!(V, v => { tokens[v] = unsafe { read_volatile(x.add($at * V + v)) }; });
                if left == $at {
                    break;
                }
                unroll!(R, r => {
                    // SAFETY: there is such a column.
                    let weight = unsafe { v128_load32_splat(weights[r].add($at).cast()) };
                    unroll_4!(V, v => {
                        // SAFETY: of columns that are left, all tokens are packed.
                        let tokens = unsafe { tokens[v].assume_init() };
                        sums[r][v] = I::multiply_add(tokens, weight, sums[r][v]);
                    });
                });
            };
        }
        step!(0);
        step!(1);
        step!(2);
        step!(3);
        step!(4);
        step!(5);
        step!(6);
        step!(7);
        x = x.wrapping_add(8 * V);
        column = first + 8;
        left -= 8;
    }
    sums
}
