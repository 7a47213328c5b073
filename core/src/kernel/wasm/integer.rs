//! Integer products with 128-bit vectors.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::summary::summarize_row;
use super::{Dot, band_tokens, load_part, reduce_i32, store_part};
#[cfg(target_feature = "relaxed-simd")]
use super::{Relaxed, RelaxedPairs, adds_pairs};
use crate::kernel::integer::{Base, MultiplyI16, ProductI8, RowSummary};
use crate::kernel::portable;

/// 32-bit sums of a vector.
const LANES: usize = 4;

/// Rows that are multiplied with all tokens before the next are touched.
const ROWS_BLOCK: usize = 64;

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

/// What is needed of up to four tokens to make numbers of sums.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    scales: v128,
    zeros: v128,
}

impl Factors {
    /// Of the tokens of a band of `T`, four by four.
    #[inline(always)]
    fn all<const T: usize>(product: &ProductI8<'_>, token: usize) -> [Self; 2] {
        let first = Self::new(product, token, T.min(LANES));
        [first, if T > LANES { Self::new(product, token + LANES, T - LANES) } else { first }]
    }

    /// Of `count` tokens from `token` on, which there are.
    #[inline(always)]
    fn new(product: &ProductI8<'_>, token: usize, count: usize) -> Self {
        let x = product.x;
        // SAFETY: `ProductI8::new` checked that there are as many scales and zeros as tokens.
        let (scales, zeros) = unsafe {
            let scales = x.scales.as_ptr().add(token);
            let zeros = x.zeros.as_ptr().add(token);
            (load_part(scales.cast(), count * 4), load_part(zeros, count))
        };
        Self { scales, zeros: u32x4_extend_low_u16x8(u16x8_extend_low_u8x16(zeros)) }
    }

    /// With zeros less `center`.
    #[cfg(target_feature = "relaxed-simd")]
    #[inline(always)]
    pub(super) fn counted_from(self, center: u8) -> Self {
        Self { zeros: i32x4_sub(self.zeros, i32x4_splat(i32::from(center))), ..self }
    }
}

/// Writes one row's outputs of `T` tokens.
///
/// # Safety
///
/// Those of a tile: `token + T` ≤ tokens and `row` < rows.
#[inline(always)]
pub(super) unsafe fn put<const T: usize>(
    product: &mut ProductI8<'_>,
    place: (usize, usize),
    row_sum: i32,
    sums: [v128; T],
    factors: &[Factors; 2],
) {
    // SAFETY: the caller's.
    unsafe {
        put_4::<T, 0>(product, place, row_sum, sums, factors);
        if T > LANES {
            put_4::<T, 1>(product, place, row_sum, sums, factors);
        }
    }
}

/// See [`put`]: up to four of the tokens, from the `4 · PART`th on.
///
/// # Safety
///
/// That of [`put`].
#[inline(always)]
unsafe fn put_4<const T: usize, const PART: usize>(
    product: &mut ProductI8<'_>,
    (token, row): (usize, usize),
    row_sum: i32,
    sums: [v128; T],
    factors: &[Factors; 2],
) {
    let ProductI8 { w, strides, .. } = *product;
    let count = T.saturating_sub(PART * LANES).min(LANES);
    // SAFETY: the caller's; `ProductI8::new` checked that there are as many scales as rows, and that the last element of
    // the output lies inside it.
    unsafe {
        let mut four = [i32x4_splat(0); LANES];
        unroll_4!(count, t => { four[t] = sums[PART * LANES + t]; });
        let zeros = i32x4_mul(factors[PART].zeros, i32x4_splat(row_sum));
        let sum = f32x4_convert_i32x4(i32x4_sub(reduce_i32(four), zeros));
        let row_scale = v128_load32_splat(w.scales.as_ptr().add(row).cast());
        let scaled = f32x4_mul(sum, f32x4_mul(factors[PART].scales, row_scale));
        let first = (token + PART * LANES) * strides.token + row * strides.row;
        let out = Strided { first: product.out.as_mut_ptr().add(first), stride: strides.token };
        let base = match product.base {
            Base::Bias(bias) => v128_load32_splat(bias.as_ptr().add(row).cast()),
            Base::Output => out.load(count),
        };
        out.store(f32x4_add(base, scaled), count);
    }
}

/// Up to four elements as far apart.
#[derive(Clone, Copy)]
struct Strided {
    first: *mut f32,
    stride: usize,
}

impl Strided {
    /// # Safety
    ///
    /// There are `count` elements.
    #[inline(always)]
    unsafe fn load(self, count: usize) -> v128 {
        let mut values = f32x4_splat(0.0);
        // SAFETY: the caller's.
        unsafe {
            let place = |at| self.first.add(at * self.stride).cast_const().cast();
            if count > 0 {
                values = v128_load32_lane::<0>(values, place(0));
            }
            if count > 1 {
                values = v128_load32_lane::<1>(values, place(1));
            }
            if count > 2 {
                values = v128_load32_lane::<2>(values, place(2));
            }
            if count > 3 {
                values = v128_load32_lane::<3>(values, place(3));
            }
        }
        values
    }

    /// # Safety
    ///
    /// There are `count` elements.
    #[inline(always)]
    unsafe fn store(self, values: v128, count: usize) {
        // SAFETY: the caller's.
        unsafe {
            if count == LANES && self.stride == 1 {
                return v128_store(self.first.cast(), values);
            }
            let place = |at| self.first.add(at * self.stride).cast();
            if count > 0 {
                v128_store32_lane::<0>(values, place(0));
            }
            if count > 1 {
                v128_store32_lane::<1>(values, place(1));
            }
            if count > 2 {
                v128_store32_lane::<2>(values, place(2));
            }
            if count > 3 {
                v128_store32_lane::<3>(values, place(3));
            }
        }
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

/// See [`MultiplyI16`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply(mut multiply: MultiplyI16<'_>) {
    let columns = multiply.columns.len();
    let mut column = 0;
    while column < columns {
        column += match (columns - column).checked_sub(2 * LANES) {
            None => strip::<1>(&mut multiply, column),
            Some(_) => strip::<2>(&mut multiply, column),
        };
    }
}

/// All rows of A against `V` vectors of columns from `column`, two whole ones or one that may be a part; returns how many columns
/// `V` vectors have.
fn strip<const V: usize>(multiply: &mut MultiplyI16<'_>, column: usize) -> usize {
    let rows = multiply.rows.len();
    let mut row = 0;
    while row < rows {
        row += match rows - row {
            1 => corner::<1, V>(multiply, row, column),
            2..=3 => corner::<2, V>(multiply, row, column),
            _ => corner::<4, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<const M: usize, const V: usize>(
    multiply: &mut MultiplyI16<'_>,
    row: usize,
    column: usize,
) -> usize {
    // Two are known to be whole: else the loop would have a call in it, for parts, and sums would be put away for that.
    let last = if V == 1 { (multiply.columns.len() - column).min(LANES) } else { LANES };
    // SAFETY: `MultiplyI16::new` checked that `pairs` pairs lie from row · stride on in A, one pair a column in each of
    // `pairs` lines of B, and the output's rows in theirs; row + M ≤ rows, and of the last vector exactly the columns
    // that there are are touched.
    unsafe {
        let a = multiply.a.as_ptr().add(row * multiply.a_stride * 4);
        let b = multiply.b.as_ptr().add(column * 4);
        let mut sums = [[i32x4_splat(0); V]; M];
        for pair in 0..multiply.pairs {
            let line = b.add(pair * multiply.b_stride * 4);
            let mut bs = [i32x4_splat(0); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let place = line.add(v * 16);
                *value = if v + 1 < V || last == LANES {
                    v128_load(place.cast())
                } else {
                    load_part(place, last * 4)
                };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = v128_load32_splat(a.add((m * multiply.a_stride + pair) * 4).cast());
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = i32x4_add(*sum, i32x4_dot_i16x8(a, b));
                }
            }
        }
        let columns = multiply.columns.as_ptr().add(column);
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            let factor = f32x4_splat(*multiply.rows.as_ptr().add(row + m));
            for (v, &sum) in sums.iter().enumerate() {
                let place: *mut v128 = out.add(m * multiply.out_stride + v * LANES).cast();
                let columns: *const v128 = columns.add(v * LANES).cast();
                let sum = f32x4_convert_i32x4(sum);
                if v + 1 < V || last == LANES {
                    let scaled = f32x4_mul(f32x4_mul(sum, v128_load(columns)), factor);
                    v128_store(place, scaled);
                } else {
                    let columns = load_part(columns.cast(), last * 4);
                    let scaled = f32x4_mul(f32x4_mul(sum, columns), factor);
                    store_part(place.cast(), scaled, last * 4);
                }
            }
        }
    }
    M
}
