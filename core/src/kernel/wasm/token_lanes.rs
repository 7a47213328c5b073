//! Tiles of f32 products whose lanes are tokens: each column's weight of a row is broadcast to all
//! lanes and multiplied with that column of four, eight or twelve tokens.
//!
//! Twelve tokens read the rows once, no faster than they are multiplied, and from as many streams
//! as a tile has rows.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::read_volatile;

use super::instructions::Instructions;
use super::lanes::{LANES, transpose};
use super::rows::{Rows, row_weights};
use crate::kernel::product::Product;

/// The capacity in vectors, 192 KiB on the stack: 128 tokens of 384 columns, 32 of 1536.
const ROOM: usize = 12 * 1024;

/// The largest number of token vectors in a band.
pub(super) const BAND: usize = 3;

/// Bands of up to three vectors of tokens, for each column the vectors of one band side by side.
pub(super) struct Packed {
    /// More than are filled, which are read but not used: see [`sums`].
    vectors: [MaybeUninit<v128>; ROOM + BAND],
}

impl Packed {
    pub(super) const fn new() -> Self {
        Self { vectors: [const { MaybeUninit::uninit() }; ROOM + BAND] }
    }

    /// The capacity in tokens of `cols` columns.
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

    /// Packs `tokens` of `product`, at most a band, after `before` vectors of each column.
    /// Remaining lanes repeat the last token.
    ///
    /// # Safety
    ///
    /// The tokens must exist, and there must be [room](Self::room) for them and those before.
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
            // SAFETY: upheld by the caller: all columns of each token are read, and there is room
            // for each.
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
    /// The packed tokens.
    x: *const MaybeUninit<v128>,
    /// The start of each lane's token in the output; remaining lanes repeat that of the last token.
    places: [usize; BAND * LANES],
}

/// A band against `rows`.
pub(super) fn band<I: Instructions>(product: &mut Product<'_>, band: &Band, rows: Range<usize>) {
    // Multipliers that start two operations per cycle with a latency of four need eight sums.
    // Within the available registers, three vectors and three rows take the fewest instructions per
    // multiplication, which matters when a core shares its issue slots with another thread.
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
    // that the last element of the output is inside it; the tokens and rows exist, and the tokens
    // are packed.
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
/// Each row and the packed tokens must have that many columns, and the packed tokens must be
/// followed by memory for `V` vectors.
#[inline(always)]
unsafe fn sums<I: Instructions, const V: usize, const R: usize>(
    mut x: *const MaybeUninit<v128>,
    rows: [*const f32; R],
    cols: usize,
) -> [[v128; V]; R] {
    let mut sums = [[f32x4_splat(0.0); V]; R];
    let (mut column, mut left) = (0, cols);
    loop {
        // SAFETY: it is a local variable. Volatile: otherwise the compiler would derive every
        // weight's address from that of one row, which costs an addition each.
        let first = unsafe { read_volatile(&raw const column) };
        let mut weights = rows;
        // SAFETY: every row is at least that long.
        unroll!(R, r => { weights[r] = unsafe { rows[r].add(first) }; });
        macro_rules! step {
            ($at:literal) => {
                let mut tokens = [MaybeUninit::uninit(); V];
                // SAFETY: the vector exists, even if no columns are left. Volatile, and read before
                // that is known: a compiler that deferred it would multiply all rows with one
                // vector, and keep more weights alive than there are registers.
                unroll_4!(V, v => { tokens[v] = unsafe { read_volatile(x.add($at * V + v)) }; });
                if left == $at {
                    break;
                }
                unroll!(R, r => {
                    // SAFETY: the column exists.
                    let weight = unsafe { v128_load32_splat(weights[r].add($at).cast()) };
                    unroll_4!(V, v => {
                        // SAFETY: all tokens of the remaining columns are packed.
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
