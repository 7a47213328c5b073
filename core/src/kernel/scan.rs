//! One query against many low-bit rows, for exact search: integer arithmetic, identical on every
//! target.

/// The limit for [`dot_rows`] on the sum of the magnitudes of a query's codes, which keeps sums of
/// products with signed bytes within 32 bits.
pub const MOST_QUERY: u32 = i32::MAX.unsigned_abs() / 128;

/// `out[r] = Σ query[i] · rows[r][i]` for each element of `out`.
///
/// Sums of queries beyond [`MOST_QUERY`] wrap. Elements of `out` without a row stay unchanged.
pub fn dot_rows(query: &[i16], rows: &[i8], out: &mut [i32]) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    super::wasm::dot_rows(query, rows, out);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    each_row(rows, query.len(), out, |row| {
        let products = query.iter().zip(row).map(|(&x, &y)| i32::from(x) * i32::from(y));
        products.fold(0, i32::wrapping_add)
    });
}

/// The number of bits in which each row differs from `query`, for each element of `out`.
///
/// Elements of `out` without a row stay unchanged.
pub fn differing_bits(query: &[u8], rows: &[u8], out: &mut [i32]) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    super::wasm::differing_bits(query, rows, out);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    each_row(rows, query.len(), out, |row| {
        query.iter().zip(row).fold(0, |sum, (&x, &y)| sum + (x ^ y).count_ones().cast_signed())
    });
}

/// Applies `of` to each row of `length` items.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
fn each_row<T>(rows: &[T], length: usize, out: &mut [i32], of: impl Fn(&[T]) -> i32) {
    for (row, out) in rows.chunks_exact(length.max(1)).zip(out) {
        *out = of(row);
    }
}
