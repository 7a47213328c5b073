//! One query against many low-bit rows.

use core::arch::wasm32::*;

use super::lanes::reduce_i32;

/// Rows that are multiplied at a time, so that the query is loaded once for them.
const ROWS: usize = 4;

/// Codes of a step: a vector of 16-bit numbers.
const CODES: usize = 8;

/// See [`dot_rows`](crate::kernel::scan::dot_rows).
pub(in crate::kernel) fn dot_rows(query: &[i16], rows: &[i8], out: &mut [i32]) {
    let length = query.len().max(1);
    let there = out.len().min(rows.len() / length);
    let (fours, rest) = out.get_mut(..there).unwrap_or_default().as_chunks_mut::<ROWS>();
    let mut each = rows.chunks_exact(ROWS * length);
    for (out, rows) in fours.iter_mut().zip(&mut each) {
        // SAFETY: there are four rows of the query's length.
        let sums =
            unsafe { dots(query, core::array::from_fn(|row| rows.as_ptr().add(row * length))) };
        // SAFETY: there is room for four sums.
        unsafe { v128_store(out.as_mut_ptr().cast(), sums) };
    }
    for (out, row) in rest.iter_mut().zip(each.remainder().chunks_exact(length)) {
        // SAFETY: a row of the query's length, four times.
        *out = i32x4_extract_lane::<0>(unsafe { dots(query, [row.as_ptr(); ROWS]) });
    }
}

/// # Safety
///
/// Each of these rows must have as many codes as the query.
#[inline(always)]
unsafe fn dots(query: &[i16], rows: [*const i8; ROWS]) -> v128 {
    let mut sums = [i32x4_splat(0); ROWS];
    let (steps, rest) = query.as_chunks::<CODES>();
    let mut at = 0;
    for step in steps {
        // SAFETY: a step is a vector of numbers, and every row has as many from `at` on.
        let x = unsafe { v128_load(step.as_ptr().cast()) };
        unroll_4!(ROWS, row => {
            // SAFETY: as above.
            let codes = unsafe { i16x8_load_extend_i8x8(rows[row].add(at)) };
            sums[row] = i32x4_add(sums[row], i32x4_dot_i16x8(x, codes));
        });
        at += CODES;
    }
    let mut sums = reduce_i32(sums);
    for (x, at) in rest.iter().zip(at..) {
        // SAFETY: as above.
        let codes = rows.map(|row| i32::from(unsafe { *row.add(at) }));
        let codes = i32x4(codes[0], codes[1], codes[2], codes[3]);
        sums = i32x4_add(sums, i32x4_mul(i32x4_splat(i32::from(*x)), codes));
    }
    sums
}

/// See [`differing_bits`](crate::kernel::scan::differing_bits).
pub(in crate::kernel) fn differing_bits(query: &[u8], rows: &[u8], out: &mut [i32]) {
    let (whole, rest) = query.as_chunks::<16>();
    for (row, out) in rows.chunks_exact(query.len().max(1)).zip(out) {
        let (row, row_rest) = row.as_chunks::<16>();
        let mut sums = i32x4_splat(0);
        for (x, y) in whole.iter().zip(row) {
            // SAFETY: both have 16 bytes.
            let ones = unsafe {
                i8x16_popcnt(v128_xor(v128_load(x.as_ptr().cast()), v128_load(y.as_ptr().cast())))
            };
            let pairs = i16x8_extadd_pairwise_u8x16(ones);
            sums = i32x4_add(sums, i32x4_extadd_pairwise_u16x8(pairs));
        }
        let ones = rest.iter().zip(row_rest).map(|(x, y)| (x ^ y).count_ones().cast_signed());
        *out = ones.fold(i32x4_extract_lane::<0>(reduce_i32([sums; 4])), i32::wrapping_add);
    }
}
