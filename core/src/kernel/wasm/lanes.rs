//! Vectors of 128 bits: their lanes, and partial loads and stores.

use core::arch::wasm32::*;

/// 32-bit lanes of a vector.
pub(super) const LANES: usize = 4;

/// A constant that the compiler treats as variable, so that it stays in a register. Known constants
/// are folded into other steps, and V8 rebuilds them wherever they are used.
#[inline(always)]
pub(super) fn kept<T: Copy>(constant: &'static T) -> T {
    // SAFETY: it is always readable and never written.
    unsafe { core::ptr::read_volatile(constant) }
}

/// Transposes 4 × 4 numbers of 32 bits, from a vector per row to a vector per column.
#[inline(always)]
pub(super) fn transpose([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let ab = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
    let cd = (i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        i64x2_shuffle::<0, 2>(ab.0, cd.0),
        i64x2_shuffle::<1, 3>(ab.0, cd.0),
        i64x2_shuffle::<0, 2>(ab.1, cd.1),
        i64x2_shuffle::<1, 3>(ab.1, cd.1),
    ]
}

/// The sums of the lanes of four vectors of i32.
#[inline(always)]
pub(super) fn reduce_i32([a, b, c, d]: [v128; 4]) -> v128 {
    let ab = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
    let cd = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    i32x4_add(i64x2_shuffle::<0, 2>(ab, cd), i64x2_shuffle::<1, 3>(ab, cd))
}

/// `count` (at most 16) bytes, then zeros.
///
/// # Safety
///
/// `count` bytes must be readable at `place`.
#[inline(always)]
pub(super) unsafe fn load_part(place: *const u8, count: usize) -> v128 {
    let mut bytes = [0_u8; 16];
    // SAFETY: upheld by the caller; no more than 16 are copied.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(16));
        v128_load(bytes.as_ptr().cast())
    }
}

/// Stores the first `count` (at most 16) bytes of `vector` at `place`.
///
/// # Safety
///
/// `count` bytes must be writable at `place`.
#[inline(always)]
pub(super) unsafe fn store_part(place: *mut u8, vector: v128, count: usize) {
    let mut bytes = [0_u8; 16];
    // SAFETY: upheld by the caller; no more than 16 are copied.
    unsafe {
        v128_store(bytes.as_mut_ptr().cast(), vector);
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, count.min(16));
    }
}
