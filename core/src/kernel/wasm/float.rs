//! f32 products with 128-bit vectors.

use core::arch::wasm32::*;
use core::ops::Range;

use super::ahead::Ahead;
use super::packed::{Band, Bands, LANES, Packed};
use super::{Instructions, load_part, reduce_f32, store_part};
use crate::kernel::groups::BUILT_IN;
use crate::kernel::product::{Floats, Multiply, Product};

/// Numbers of the rows that are multiplied with all tokens before the next are touched: 64 rows of 384, for which L2 has room
/// beside the tokens.
const BLOCK: usize = 64 * 384;
/// With no more than a token for so many columns, where none take rows in their order, rows come in fours: see [`rows_in_fours`].
const FEW_TOKENS: usize = 32;
/// The most tokens that take rows in their order, see [`rows_in_order`].
const MOST_IN_ORDER: usize = 8;
/// The most numbers of such tokens: half of what the first cache has room for.
const CLOSE: usize = 4 * 1024;

/// Pairs of rows: the first of each pair is `distance` from that of the one before, the second `apart` from the first.
#[derive(Clone, Copy)]
struct Pairs {
    first: usize,
    count: usize,
    distance: usize,
    apart: usize,
}

/// See [`Product`]: tiles of [`Instructions::TILE_TOKENS`] tokens × 2 rows, so that all sums stay in the 16 registers of
/// x86-64. As many tokens at a time as there is room for.
pub(super) fn product<I: Instructions>(mut product: Product<'_>) {
    let room = Packed::room(product.cols);
    let mut packed = Packed::new();
    // As many in each part: a few that are left would have to wait for all rows once more.
    let parts = product.tokens.div_ceil(room).max(1);
    let most = product.tokens.div_ceil(parts);
    let mut token = 0;
    while token < product.tokens {
        let tokens = token..product.tokens.min(token + most);
        token = tokens.end;
        part::<I>(&mut product, tokens, &mut packed);
    }
}

/// How many tokens take the rows in their order, before the others have them: see [`rows_in_order`]. None where the first cache has no
/// room for them, or where there are no models: word vectors meet a query at a time.
fn first_in_order(tokens: usize, cols: usize) -> Option<usize> {
    // Fewer than four that are left would be slow.
    let count = if tokens <= MOST_IN_ORDER { tokens } else { MOST_IN_ORDER.min(tokens - 4) };
    (BUILT_IN && count >= 3 && count * cols <= CLOSE).then_some(count)
}

/// Some tokens, at least one and no more than there is room for, and all rows.
fn part<I: Instructions>(product: &mut Product<'_>, tokens: Range<usize>, packed: &mut Packed) {
    let in_order = first_in_order(tokens.len(), product.cols);
    let is_few = in_order.is_none() && tokens.len() * FEW_TOKENS <= product.cols;
    let first = if is_few { Some(tokens.len().min(2)) } else { in_order };
    // SAFETY: there are such tokens, and room for them.
    let bands = unsafe { packed.pack(product, tokens.clone(), (first, I::TILE_TOKENS)) };
    let mut row = if is_few { rows_in_fours::<I>(product, bands.clone()) } else { 0 };
    while row < product.rows {
        let end = product.rows.min(row + (BLOCK / product.cols / 2 * 2).max(2));
        let pairs = Pairs { first: row, count: (end - row) / 2, distance: 2, apart: 1 };
        let mut bands = bands.clone();
        // The first tokens have these rows themselves to wait for.
        let mut ahead = Ahead::nothing();
        if let Some(first) = bands.next() {
            if in_order.is_some() {
                rows_in_order::<I>(product, first, row..end);
            } else {
                band::<I>(product, first, pairs, &mut ahead);
                ahead = ahead_of(product, row..end, bands.clone().count());
            }
        }
        for next in bands {
            band::<I>(product, next, pairs, &mut ahead);
        }
        // Matrices with an odd number of rows are rare: no tiles are made for them, which would be as much code again.
        if (end - row) % 2 == 1 {
            for token in tokens.clone().skip(in_order.unwrap_or(0)) {
                tile::<I, 1, 1>(product, Band::of_one(product, token), end - 1, 1);
            }
        }
        row = end;
    }
}

/// Rows one by one, in the order in which they lie, against all tokens of a band of three to eight at once: CPUs fetch ahead what
/// follows, as fast as it is wanted, as long as all else is in the first cache.
fn rows_in_order<I: Instructions>(product: &mut Product<'_>, band: Band, rows: Range<usize>) {
    match band.count {
        3 => rows_of::<I, 3>(product, band, rows),
        4 => rows_of::<I, 4>(product, band, rows),
        5 => rows_of::<I, 5>(product, band, rows),
        6 => rows_of::<I, 6>(product, band, rows),
        7 => rows_of::<I, 7>(product, band, rows),
        _ => rows_of::<I, 8>(product, band, rows),
    }
}

/// Each row against a band of `T` tokens.
#[inline(never)] // see the module
fn rows_of<I: Instructions, const T: usize>(
    product: &mut Product<'_>,
    band: Band,
    rows: Range<usize>,
) {
    for row in rows {
        tile::<I, T, 1>(product, band, row, 1);
    }
}

/// The rows in fours; returns how many that are. Of every four the first band comes first, of one or two tokens, a tile that is
/// half loads of rows: a CPU has only so many instructions under way, and the more of them wait for memory together the better.
/// The four are a quarter of the matrix apart, so that each is one of four long stretches, which CPUs fetch ahead by themselves.
fn rows_in_fours<I: Instructions>(product: &mut Product<'_>, mut bands: Bands<'_>) -> usize {
    let quarter = product.rows / 4;
    let Some(first) = bands.next() else { return 0 };
    for row in 0..quarter {
        if first.count == 1 {
            tile::<I, 1, 4>(product, first, row, quarter);
        } else {
            tile::<I, 2, 4>(product, first, row, quarter);
        }
        let pairs = Pairs { first: row, count: 2, distance: 2 * quarter, apart: quarter };
        for next in bands.clone() {
            band::<I>(product, next, pairs, &mut Ahead::nothing());
        }
    }
    4 * quarter
}

/// The rows after these, as many, for the tiles of `bands` bands.
fn ahead_of<'a>(product: &Product<'a>, rows: Range<usize>, bands: usize) -> Ahead<'a> {
    // Numbers in memory were put there just now.
    let Floats::Bytes(bytes) = product.weights else { return Ahead::nothing() };
    let row_bytes = product.cols * size_of::<f32>();
    let next_end = product.rows.min(rows.end + rows.len());
    let next = bytes.get(rows.end * row_bytes..next_end * row_bytes);
    Ahead::new(next.unwrap_or_default(), bands * rows.len().div_ceil(2))
}

/// A band against pairs of rows.
fn band<I: Instructions>(
    product: &mut Product<'_>,
    band: Band,
    rows: Pairs,
    ahead: &mut Ahead<'_>,
) {
    match band.count {
        1 => band_of::<I, 1>(product, band, rows, ahead),
        2 => band_of::<I, 2>(product, band, rows, ahead),
        3 => band_of::<I, 3>(product, band, rows, ahead),
        5 => band_of::<I, 5>(product, band, rows, ahead),
        6 => band_of::<I, 6>(product, band, rows, ahead),
        _ => band_of::<I, 4>(product, band, rows, ahead),
    }
}

/// A band of `T` tokens.
#[inline(never)] // see the module
fn band_of<I: Instructions, const T: usize>(
    product: &mut Product<'_>,
    band: Band,
    rows: Pairs,
    ahead: &mut Ahead<'_>,
) {
    for pair in 0..rows.count {
        ahead.touch();
        tile::<I, T, 2>(product, band, rows.first + pair * rows.distance, rows.apart);
    }
}

/// `T` tokens × `R` rows from `row`, each `apart` from the one before.
fn tile<I: Instructions, const T: usize, const R: usize>(
    product: &mut Product<'_>,
    Band { token, x, .. }: Band,
    row: usize,
    apart: usize,
) {
    let cols = product.cols;
    let weights = numbers(product);
    // SAFETY: `Product::new` checked that x has tokens × cols elements, the weights rows × cols, the bias rows, and
    // that the last element of the output lies inside it; token + T ≤ tokens and row + (R − 1) · apart < rows. The whole
    // vectors of T tokens are packed. WebAssembly loads at any address.
    unsafe {
        let mut rows = [weights; R];
        let mut bias = [0.0_f32; 4];
        unroll_4!(R, r => { rows[r] = weights.add((row + r * apart) * cols); });
        for (at, bias) in bias.iter_mut().enumerate() {
            *bias = *product.bias.as_ptr().add(row + at % R * apart);
        }
        let sums = sums::<I, T, R>(x, rows, cols / LANES);
        // Four sums at a time, the rows of a token side by side.
        let bias = v128_load(bias.as_ptr().cast());
        let out = product.out.as_mut_ptr();
        let place = |at: usize| {
            let (token, row) = (token + at / R, row + at % R * apart);
            out.add(token * product.strides.token + row * product.strides.row).cast()
        };
        unroll_4!((T * R).div_ceil(4), four => {
            let first = 4 * four;
            let mut all = [f32x4_splat(0.0); 4];
            unroll_4!(4, at => {
                if first + at < T * R {
                    all[at] = sums[(first + at) % R][(first + at) / R];
                }
            });
            let values = f32x4_add(reduce_f32(all), bias);
            v128_store32_lane::<0>(values, place(first));
            if first + 1 < T * R { v128_store32_lane::<1>(values, place(first + 1)); }
            if first + 2 < T * R { v128_store32_lane::<2>(values, place(first + 2)); }
            if first + 3 < T * R { v128_store32_lane::<3>(values, place(first + 3)); }
        });
        if !cols.is_multiple_of(LANES) {
            for t in 0..T {
                for r in 0..R {
                    add_rest(product, token + t, row + r * apart);
                }
            }
        }
    }
}

/// Where the weights begin.
fn numbers(product: &Product<'_>) -> *const f32 {
    match product.weights {
        Floats::Bytes(bytes) => bytes.as_ptr().cast(),
        Floats::Values(values) => values.as_ptr(),
    }
}

/// Adds what the columns beyond the last whole vector come to, for one token and one row.
///
/// # Safety
///
/// There are such a token and such a row.
#[inline(never)]
unsafe fn add_rest(product: &mut Product<'_>, token: usize, row: usize) {
    // SAFETY: the caller's; `Product::new` checked that x and the weights have so many columns, and that each element of the
    // output lies inside it.
    unsafe {
        let x = product.x.as_ptr().add(token * product.cols);
        let weights = numbers(product).add(row * product.cols);
        let place = token * product.strides.token + row * product.strides.row;
        let out = product.out.as_mut_ptr().add(place);
        for column in product.cols / LANES * LANES..product.cols {
            *out += *x.add(column) * weights.add(column).read_unaligned();
        }
    }
}

/// Products of `T` packed tokens and `R` rows, four columns a vector, summed up over `steps` vectors.
///
/// # Safety
///
/// There are as many vectors of each token and row.
#[inline(always)]
unsafe fn sums<I: Instructions, const T: usize, const R: usize>(
    mut x: *const v128,
    rows: [*const f32; R],
    steps: usize,
) -> [[v128; T]; R] {
    let mut sums = [[f32x4_splat(0.0); T]; R];
    let mut rows: [*const v128; R] = rows.map(<*const f32>::cast);
    macro_rules! step {
        ($at:literal) => {
            let mut ws = [f32x4_splat(0.0); R];
            unroll_4!(R, r => { ws[r] = v128_load(rows[r].add($at)); });
            unroll!(T, t => {
                let x = v128_load(x.add($at * T + t));
                unroll_4!(R, r => { sums[r][t] = I::multiply_add(x, ws[r], sums[r][t]); });
            });
        };
    }
    // SAFETY: the caller's.
    unsafe {
        let end = x.add(steps * T);
        let last = end.wrapping_sub(T);
        // Two steps share the sums of addresses. There is a way out between them: else the compiler would have the tokens of both
        // live at once, more than there are registers.
        while x != end {
            step!(0);
            if x == last {
                break;
            }
            step!(1);
            x = x.add(2 * T);
            unroll_4!(R, r => { rows[r] = rows[r].add(2); });
        }
    }
    sums
}

/// See [`Multiply`]: tiles of 4 rows of A × 8 columns of B.
pub(super) fn multiply<I: Instructions>(mut multiply: Multiply<'_>) {
    let mut column = 0;
    while column < multiply.n {
        column += match (multiply.n - column).checked_sub(2 * LANES) {
            None => strip::<I, 1>(&mut multiply, column),
            Some(_) => strip::<I, 2>(&mut multiply, column),
        };
    }
}

/// All rows of A against `V` vectors of columns from `column`, two whole ones or one that may be a part; returns how many columns
/// `V` vectors have.
fn strip<I: Instructions, const V: usize>(multiply: &mut Multiply<'_>, column: usize) -> usize {
    let mut row = 0;
    while row < multiply.m {
        row += match multiply.m - row {
            1 => corner::<I, 1, V>(multiply, row, column),
            2..=3 => corner::<I, 2, V>(multiply, row, column),
            _ => corner::<I, 4, V>(multiply, row, column),
        };
    }
    V * LANES
}

/// `M` rows × `V` vectors of the output; returns `M`.
#[inline(always)]
fn corner<I: Instructions, const M: usize, const V: usize>(
    multiply: &mut Multiply<'_>,
    row: usize,
    column: usize,
) -> usize {
    // Two are known to be whole: else the loop would have a call in it, for parts, and sums would be put away for that.
    let last = if V == 1 { (multiply.n - column).min(LANES) } else { LANES };
    // SAFETY: `Multiply::new` checked that every element of [m, k], [k, n] and [m, n] lies in its slice; row + M ≤ m,
    // and of the last vector exactly the columns below n are touched.
    unsafe {
        let a = multiply.a.data.as_ptr().add(row * multiply.a.stride);
        let b = multiply.b.data.as_ptr().add(column);
        let mut sums = [[f32x4_splat(0.0); V]; M];
        for k in 0..multiply.k {
            let line = b.add(k * multiply.b.stride);
            let mut bs = [f32x4_splat(0.0); V];
            for (v, value) in bs.iter_mut().enumerate() {
                let place: *const v128 = line.add(v * LANES).cast();
                *value = if v + 1 < V || last == LANES {
                    v128_load(place)
                } else {
                    load_part(place.cast(), last * 4)
                };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = v128_load32_splat(a.add(m * multiply.a.stride + k).cast());
                for (sum, &b) in sums.iter_mut().zip(&bs) {
                    *sum = I::multiply_add(a, b, *sum);
                }
            }
        }
        let out = multiply.out.as_mut_ptr().add(row * multiply.out_stride + column);
        for (m, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let place: *mut v128 = out.add(m * multiply.out_stride + v * LANES).cast();
                if v + 1 < V || last == LANES {
                    v128_store(place, sum);
                } else {
                    store_part(place.cast(), sum, last * 4);
                }
            }
        }
    }
    M
}
