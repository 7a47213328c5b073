//! Square roots.

/// The square root of `x`, rounded to the nearest f32.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(crate) use libm::sqrtf as sqrt_f32;

/// The square root of `x`, rounded to the nearest f64.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(crate) use libm::sqrt as sqrt_f64;

/// The square root of `x`, rounded to the nearest f32.
///
/// WebAssembly has an instruction for it, which stable `core` exposes only for vectors; the
/// compiler reduces it to one lane.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) fn sqrt_f32(x: f32) -> f32 {
    use core::arch::wasm32::{f32x4_extract_lane, f32x4_splat, f32x4_sqrt};
    f32x4_extract_lane::<0>(f32x4_sqrt(f32x4_splat(x)))
}

/// The square root of `x`, rounded to the nearest f64.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) fn sqrt_f64(x: f64) -> f64 {
    use core::arch::wasm32::{f64x2_extract_lane, f64x2_splat, f64x2_sqrt};
    f64x2_extract_lane::<0>(f64x2_sqrt(f64x2_splat(x)))
}
