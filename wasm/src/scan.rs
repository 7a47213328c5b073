//! Search among vectors of few bits.
//!
//! The memory from `__heap_base` on is the caller's: JavaScript makes it as large as it needs and
//! says where things are.

use core::slice::{from_raw_parts, from_raw_parts_mut};

use nanoembed_core::kernel::scan;

/// `out[r] = Σ query[i] · rows[r][i]`, see [`scan::dot_rows`].
///
/// # Safety
///
/// `query` has `dims` numbers, `rows` `count` times as many, and there is room for `count` at
/// `out`, apart from both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dot_rows(
    query: *const i16,
    dims: usize,
    rows: *const i8,
    count: usize,
    out: *mut i32,
) {
    // SAFETY: the caller's.
    let (query, rows, out) = unsafe {
        (
            from_raw_parts(query, dims),
            from_raw_parts(rows, dims.wrapping_mul(count)),
            from_raw_parts_mut(out, count),
        )
    };
    scan::dot_rows(query, rows, out);
}

/// How many bits of each row differ from those of `query`, see [`scan::differing_bits`].
///
/// # Safety
///
/// `query` has `bytes`, `rows` `count` times as many, and there is room for `count` at `out`, apart
/// from both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn differing_bits(
    query: *const u8,
    bytes: usize,
    rows: *const u8,
    count: usize,
    out: *mut i32,
) {
    // SAFETY: the caller's.
    let (query, rows, out) = unsafe {
        (
            from_raw_parts(query, bytes),
            from_raw_parts(rows, bytes.wrapping_mul(count)),
            from_raw_parts_mut(out, count),
        )
    };
    scan::differing_bits(query, rows, out);
}
