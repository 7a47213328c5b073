//! Products of bytes with 128-bit vectors.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::scaled::{Factors, put};
use super::summary::summarize_row;
use super::{Dot, band_tokens};
#[cfg(target_feature = "relaxed-simd")]
use super::{Relaxed, RelaxedPairs, adds_pairs};
use crate::kernel::integer::{ProductI8, RowSummary};
use crate::kernel::portable;

/// Rows that are multiplied with all tokens before the next are touched. For each block tokens are made ready anew.
const ROWS_BLOCK: usize = 192;

/// The most columns whose codes are made ready for a tile; models quantise groups of fewer.
const MAX_READY_COLS: usize = 4096;
/// Vectors of a tile's tokens: four with 8 codes a vector, or eight with 16.
const READY: usize = 8 * MAX_READY_COLS / 16;
/// The codes of a tile's tokens, made ready.
pub(super) type Ready = [MaybeUninit<v128>; READY];

/// See [`ProductI8`], with the instructions of relaxed SIMD that the CPU is fast with.
#[cfg(target_feature = "relaxed-simd")]
pub(super) fn product_relaxed(with: ProductI8<'_>) {
    if adds_pairs() { product::<RelaxedPairs>(with) } else { product::<Relaxed>(with) }
}

/// See [`ProductI8`]: tiles of [`Dot::TILE_TOKENS`] × [`Dot::TILE_ROWS`], whose sums lie along the columns.
pub(super) fn product<D: Dot>(mut product: ProductI8<'_>) {
    const {
        let steps = MAX_READY_COLS.div_ceil(D::CODES);
        assert!(D::TILE_TOKENS * steps * size_of::<D::Codes>() <= READY * size_of::<v128>());
    }
    if product.cols > MAX_READY_COLS {
        return portable::product_i8(product);
    }
    let mut ready: Ready = [MaybeUninit::uninit(); READY];
    let mut made = [RowSummary::EMPTY; ROWS_BLOCK];
    let mut lanes = [const { MaybeUninit::uninit() }; ROWS_BLOCK];
    let mut row = 0;
    while row < product.rows {
        let end = product.rows.min(row + ROWS_BLOCK);
        let summaries = product.summaries(row..end, summarize_row, &mut made);
        if D::Narrow::is_worthwhile(&product) {
            for (row, lanes) in (row..end).zip(&mut lanes) {
                lanes.write(D::Narrow::lanes(&product, row));
            }
        }
        let mut token = 0;
        while token < product.tokens {
            let tile = Band { token, row, summaries, lanes: &lanes };
            token += match band_tokens(product.tokens - token, D::TILE_TOKENS) {
                1 => band::<D, 1>(&mut product, tile, &mut ready),
                2 => band::<D, 2>(&mut product, tile, &mut ready),
                3 => band::<D, 3>(&mut product, tile, &mut ready),
                5 => band::<D, 5>(&mut product, tile, &mut ready),
                6 => band::<D, 6>(&mut product, tile, &mut ready),
                8 => band::<D, 8>(&mut product, tile, &mut ready),
                _ => band::<D, 4>(&mut product, tile, &mut ready),
            };
        }
        row = end;
    }
}

/// The tokens of a band: their codes, and what makes numbers of sums.
pub(super) type Tokens<'a> = (&'a Ready, &'a [Factors; 2]);

/// How rows are multiplied that can be added up in 16 bits, if a CPU is the faster for it: what is found out of tokens for that.
pub(super) trait Narrow: Sized {
    /// What is found out of a row, once for all tokens.
    type Lanes;

    /// Whether it pays off to find anything out.
    fn is_worthwhile(product: &ProductI8<'_>) -> bool;

    /// Of a row, if it is worthwhile.
    fn lanes(product: &ProductI8<'_>, row: usize) -> Self::Lanes;

    /// Of the `T` tokens from `token` on, if it is worthwhile.
    fn new<const T: usize>(product: &ProductI8<'_>, token: usize, x: Tokens<'_>) -> Option<Self>;

    /// Multiplies these tokens with a row; or nothing, if the row's sums may not fit, and returns false.
    ///
    /// # Safety
    ///
    /// The row's lanes have been found out; the tokens' codes are ready, and there is such a row.
    unsafe fn multiply<const T: usize>(
        &self,
        product: &mut ProductI8<'_>,
        place: (usize, usize),
        row: (&RowSummary, &MaybeUninit<Self::Lanes>),
        x: Tokens<'_>,
    ) -> bool;
}

/// No such rows.
impl Narrow for () {
    type Lanes = ();

    #[inline(always)]
    fn is_worthwhile(_: &ProductI8<'_>) -> bool {
        false
    }

    fn lanes(_: &ProductI8<'_>, _: usize) {}

    #[inline(always)]
    fn new<const T: usize>(_: &ProductI8<'_>, _: usize, _: Tokens<'_>) -> Option<Self> {
        None
    }

    #[inline(always)]
    unsafe fn multiply<const T: usize>(
        &self,
        _: &mut ProductI8<'_>,
        _: (usize, usize),
        _: (&RowSummary, &MaybeUninit<()>),
        _: Tokens<'_>,
    ) -> bool {
        false
    }
}

/// Some tokens against some rows.
struct Band<'a, L> {
    /// The first token.
    token: usize,
    /// The first row.
    row: usize,
    /// One for each row.
    summaries: &'a [RowSummary],
    /// See [`Narrow`]: there if it is worthwhile.
    lanes: &'a [MaybeUninit<L>],
}

/// A band of `T` tokens; returns `T`.
#[inline(never)] // see the module
fn band<D: Dot, const T: usize>(
    product: &mut ProductI8<'_>,
    band: Band<'_, <D::Narrow as Narrow>::Lanes>,
    ready: &mut Ready,
) -> usize {
    let Band { token, mut row, summaries, lanes } = band;
    make_ready::<D, T>(product, token, ready);
    let x = (&*ready, &Factors::all::<T>(product, token));
    let narrow = D::Narrow::new::<T>(product, token, x);
    let mut rest = summaries;
    if D::TILE_ROWS == 2 {
        while let [a, b, left @ ..] = rest {
            tile::<D, T, 2>(product, token, row, [*a, *b], x);
            (row, rest) = (row + 2, left);
        }
    }
    for (summary, lanes) in rest.iter().zip(lanes.iter().skip(summaries.len() - rest.len())) {
        // SAFETY: there is something narrow only where it is worthwhile, and then `product` has found the lanes out.
        let is_done = narrow.as_ref().is_some_and(|narrow| unsafe {
            narrow.multiply::<T>(product, (token, row), (summary, lanes), x)
        });
        if !is_done && summary.is_small() {
            tile::<D::Small, T, 1>(product, token, row, [*summary], x);
        } else if !is_done {
            tile::<D, T, 1>(product, token, row, [*summary], x);
        }
        row += 1;
    }
    T
}

/// Puts the codes of `T` tokens one step after the other in the form that [`Dot::dot`] wants, within each step one token after the
/// other, the last step filled up with zeros: what all rows of a band need is done once.
#[inline(always)]
fn make_ready<D: Dot, const T: usize>(product: &ProductI8<'_>, token: usize, ready: &mut Ready) {
    let ProductI8 { x, cols, .. } = *product;
    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on; `product` that the steps of
    // T tokens take no more than READY vectors.
    unsafe {
        let mut place: *mut D::Codes = ready.as_mut_ptr().cast();
        let codes = x.codes.as_ptr().add(token * x.stride);
        let mut c = 0;
        while c + D::CODES <= cols {
            unroll!(T, t => { *place.add(t) = D::codes(codes.add(t * x.stride + c)); });
            place = place.add(T);
            c += D::CODES;
        }
        if c < cols {
            for t in 0..T {
                *place.add(t) = codes_part::<D>(codes.add(t * x.stride + c), cols - c);
            }
        }
    }
}

#[inline(always)]
fn tile<D: Dot, const T: usize, const R: usize>(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    summaries: [RowSummary; R],
    (ready, factors): Tokens<'_>,
) {
    let ProductI8 { w, cols, .. } = *product;
    let dots = D::new();
    // SAFETY: `make_ready` has written the codes of T tokens in steps as large. `ProductI8::new` checked that `cols`
    // codes lie from every row · stride on, that scales and zeros are as many as tokens and rows, and that the last
    // element of the output lies inside it; token + T ≤ tokens and row + R ≤ rows.
    unsafe {
        let mut codes: *const D::Codes = ready.as_ptr().cast();
        let mut weights = w.codes.as_ptr().add(row * w.stride);
        let mut sums = [[i32x4_splat(0); T]; R];
        for _ in 0..cols / D::CODES {
            let mut ws = [D::codes(weights); R];
            if R > 1 {
                ws[R - 1] = D::codes(weights.add(w.stride));
            }
            unroll!(T, t => {
                let x = *codes.add(t);
                unroll_4!(R, r => { sums[r][t] = dots.dot(sums[r][t], x, ws[r]); });
            });
            weights = weights.add(D::CODES);
            codes = codes.add(T);
        }
        // Apart from the loop: a copy of some bytes inside it would halve its speed.
        let rest = cols % D::CODES;
        if rest > 0 {
            for (r, sums) in sums.iter_mut().enumerate() {
                let weights = codes_part::<D>(weights.add(r * w.stride), rest);
                for (t, sum) in sums.iter_mut().enumerate() {
                    *sum = dots.dot(*sum, *codes.add(t), weights);
                }
            }
        }
        unroll_4!(R, r => {
            put::<T>(product, (token, row + r), summaries[r].sum(), sums[r], factors);
        });
    }
}

/// `count` codes, fewer than a step takes, then zeros.
///
/// # Safety
///
/// `count` bytes can be read at `place`.
#[inline(always)]
unsafe fn codes_part<D: Dot>(place: *const u8, count: usize) -> D::Codes {
    let mut bytes = [0_u8; 32];
    // SAFETY: the caller's; `D::codes` reads no more than the 32 bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(bytes.len()));
        D::codes(bytes.as_ptr())
    }
}
