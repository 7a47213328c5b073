//! One query against many rows of few bits, for exact search: integers only, the same on every
//! target.

/// What [`dot_rows`] multiplies must stay within: the magnitudes of a query's codes add up to no
/// more than this, so that no sum of products with signed bytes leaves 32 bits.
pub const MOST_QUERY: u32 = i32::MAX.unsigned_abs() / 128;

/// `out[r] = Σ query[i] · rows[r][i]` for as many rows as `out` has elements.
///
/// Sums of queries beyond [`MOST_QUERY`] wrap. Rows that are not there leave `out` as it was.
pub fn dot_rows(query: &[i16], rows: &[i8], out: &mut [i32]) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    super::wasm::dot_rows(query, rows, out);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    each_row(rows, query.len(), out, |row| {
        let products = query.iter().zip(row).map(|(&x, &y)| i32::from(x) * i32::from(y));
        products.fold(0, i32::wrapping_add)
    });
}

/// How many bits of each row differ from those of `query`, for as many rows as `out` has elements.
///
/// Rows that are not there leave `out` as it was.
pub fn differing_bits(query: &[u8], rows: &[u8], out: &mut [i32]) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    super::wasm::differing_bits(query, rows, out);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    each_row(rows, query.len(), out, |row| {
        query.iter().zip(row).fold(0, |sum, (&x, &y)| sum + (x ^ y).count_ones().cast_signed())
    });
}

/// Gives each row, `length` items, to `of`.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
fn each_row<T>(rows: &[T], length: usize, out: &mut [i32], of: impl Fn(&[T]) -> i32) {
    for (row, out) in rows.chunks_exact(length.max(1)).zip(out) {
        *out = of(row);
    }
}
