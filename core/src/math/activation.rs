//! Elementary functions in f32 from additions, multiplications and divisions alone.
//!
//! Nothing here is contracted into a fused multiply-add and nothing depends on the vector width, so every target
//! (portable, AVX2, AVX-512, NEON, WASM) computes the same bits. All are branch-free: the compiler turns a loop over
//! them into vector code.

/// 1.5 · 2²³: adding it to a number of magnitude below 2²² leaves the nearest integer in the low mantissa bits.
const ROUND: f32 = 12_582_912.0;

/// `eˣ` for `x ≤ 0`, as softmax needs it.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2, eˣ = 2ⁿ · p(r), p the Taylor polynomial of degree 7.
/// Relative error below 3e-7 for −87 ≤ x ≤ 0; below −87 the value of −87 (1.6e-38).
#[inline(always)]
#[must_use]
pub(crate) fn exp_negative(x: f32) -> f32 {
    // ln 2 in two parts: n times the first is exact for |n| < 2¹⁵.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * core::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut p = 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // The low mantissa bits of `shifted` hold n: moved into the exponent they are 2ⁿ.
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()))
}

/// `erf(z)`: z · P(z²) / Q(z²) on |z| ≤ 3.92, beyond that ±1.
///
/// The coefficients are a minimax fit of degree 6 over 4 (fit error 4.4e-8). Absolute error below 4e-7.
#[inline(always)]
#[must_use]
pub(crate) fn erf(z: f32) -> f32 {
    const LIMIT: f32 = 3.92;
    let z = if z > LIMIT { LIMIT } else { z };
    let z = if z < -LIMIT { -LIMIT } else { z };
    let u = z * z;
    let mut p = ERF_P[6];
    p = p * u + ERF_P[5];
    p = p * u + ERF_P[4];
    p = p * u + ERF_P[3];
    p = p * u + ERF_P[2];
    p = p * u + ERF_P[1];
    p = p * u + ERF_P[0];
    let mut q = ERF_Q[4];
    q = q * u + ERF_Q[3];
    q = q * u + ERF_Q[2];
    q = q * u + ERF_Q[1];
    q = q * u + ERF_Q[0];
    z * p / q
}

const ERF_P: [f32; 7] = [
    1.128_378_7,
    0.206_093_7,
    0.051_394_477,
    0.003_971_905_4,
    0.000_148_954_51,
    -1.994_007_8e-6,
    1.991_908_9e-8,
];
const ERF_Q: [f32; 5] = [1.0, 0.515_974_6, 0.117_555_976, 0.014_887_357, 0.001_023_855];

/// The exact ("erf") GELU: x/2 · (1 + erf(x/√2)).
///
/// Absolute error below 3e-7 · max(1, |x|).
#[inline(always)]
#[must_use]
pub(crate) fn gelu(x: f32) -> f32 {
    let half = 0.5 * x;
    half + half * erf(x * core::f32::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(from: f64, to: f64, steps: u32) -> impl Iterator<Item = f64> {
        (0..=steps).map(move |i| from + (to - from) * f64::from(i) / f64::from(steps))
    }

    #[test]
    fn exp_is_within_its_relative_bound() {
        for x in grid(-87.0, 0.0, 200_000) {
            let x = x as f32;
            let exact = libm::exp(f64::from(x));
            let error = (f64::from(exp_negative(x)) - exact).abs() / exact;
            assert!(error < 3e-7, "exp({x}): {error:e}");
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert_eq!(exp_negative(f32::NEG_INFINITY), exp_negative(-87.0));
    }

    #[test]
    fn erf_is_within_its_absolute_bound() {
        for z in grid(-6.0, 6.0, 200_000) {
            let z = z as f32;
            let error = (f64::from(erf(z)) - libm::erf(f64::from(z))).abs();
            assert!(error < 4e-7, "erf({z}): {error:e}");
        }
    }

    #[test]
    fn gelu_is_within_its_absolute_bound() {
        for x in grid(-40.0, 40.0, 400_000) {
            let x = x as f32;
            let wide = f64::from(x);
            let exact = 0.5 * wide * (1.0 + libm::erf(wide * core::f64::consts::FRAC_1_SQRT_2));
            let error = (f64::from(gelu(x)) - exact).abs();
            assert!(error < 3e-7 * wide.abs().max(1.0), "gelu({x}): {error:e}");
        }
    }
}
