//! Row operations in integer arithmetic, for processors without an FPU, bit-identical everywhere.
//!
//! Numbers are signed with 16 fractional bits (Q16, ±32,768 in steps of 1.5e-5) unless stated
//! otherwise. Products and sums are 64 bits wide before they are shifted back; shifts round to
//! nearest.

/// 1 in Q16.
pub const ONE: i32 = 1 << 16;

/// The largest number of columns of a [dot product](dot): 2,047 · 128 · 8,192 is below 2³¹.
pub const MAX_COLS: usize = 8_192;

/// The largest code of an activation: see [`MAX_COLS`].
pub const MAX_ACTIVATION_CODE: i32 = 2_047;

/// A non-negative factor: `mantissa · 2^exponent`, mantissa below 2³¹.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Factor {
    /// The mantissa.
    pub mantissa: u32,
    /// The exponent of 2.
    pub exponent: i32,
}

impl Factor {
    /// The nearest factor with a mantissa of 31 bits to `value · 2^exponent`.
    #[must_use]
    pub const fn new(value: u64, exponent: i32) -> Self {
        let shift = 33 - value.leading_zeros() as i32;
        let mantissa = if shift >= 0 { value >> shift } else { value << -shift };
        Self { mantissa: mantissa as u32, exponent: exponent.saturating_add(shift) }
    }

    /// The product of two factors.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        let product = self.mantissa as u64 * other.mantissa as u64;
        Self::new(product, self.exponent.saturating_add(other.exponent))
    }

    /// `value` times this factor, rounded and clamped to 32 bits.
    #[must_use]
    pub const fn apply(self, value: i32) -> i32 {
        saturate(shift(value as i64 * self.mantissa as i64, self.exponent))
    }
}

/// `value · 2^exponent`, rounded to nearest and clamped.
const fn shift(value: i64, exponent: i32) -> i64 {
    match exponent {
        0 => value,
        1.. => {
            let limit = i64::MAX >> if exponent > 62 { 62 } else { exponent };
            if value > limit || value < -limit {
                return if value < 0 { i64::MIN } else { i64::MAX };
            }
            value << if exponent > 62 { 62 } else { exponent }
        }
        ..-62 => 0,
        _ => (value >> (-exponent - 1)).wrapping_add(1) >> 1,
    }
}

const fn saturate(value: i64) -> i32 {
    if value > i32::MAX as i64 {
        i32::MAX
    } else if value < i32::MIN as i64 {
        i32::MIN
    } else {
        value as i32
    }
}

/// Sign and magnitude of the f32 with these bits; `None` for infinities and NaN.
#[must_use]
pub const fn parts_of_f32(bits: u32) -> Option<(bool, Factor)> {
    let (exponent, fraction) = ((bits >> 23 & 0xff) as i32, (bits & 0x7f_ffff) as u64);
    let magnitude = match exponent {
        255 => return None,
        0 => Factor::new(fraction, -149),
        _ => Factor::new(fraction | 1 << 23, exponent - 150),
    };
    Some((bits >> 31 == 1, magnitude))
}

/// The f32 with these bits in Q16.
#[must_use]
pub const fn from_f32(bits: u32) -> Option<i32> {
    let Some((is_negative, magnitude)) = parts_of_f32(bits) else { return None };
    let value = magnitude.apply(ONE);
    Some(if is_negative { -value } else { value })
}

/// The IEEE half with these bits in Q16.
#[must_use]
pub const fn from_f16(bits: u16) -> Option<i32> {
    let (exponent, fraction) = ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as i64);
    let value = match exponent {
        31 => return None,
        0 => shift(fraction, -8),
        _ => shift(fraction | 1 << 10, exponent - 9),
    };
    let value = saturate(value);
    Some(if bits >> 15 == 1 { -value } else { value })
}

/// The largest integer whose square is at most `value`.
#[must_use]
pub const fn square_root(value: u64) -> u64 {
    let (mut rest, mut root) = (value, 0);
    let mut bit = 1_u64 << 62;
    while bit > 0 {
        if rest >= root + bit {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    root
}

/// `1 / √(value · 2⁻³²)`; 0 is treated as the smallest number.
#[must_use]
pub const fn inverse_square_root(value: u64) -> Factor {
    let value = if value == 0 { 1 } else { value };
    let even = value.leading_zeros() & !1;
    // √(value · 2^even) is between 2³¹ and 2³².
    let root = match square_root(value << even) {
        0 => 1,
        root => root,
    };
    Factor::new((1 << 63) / root, 16 - 63 + even as i32 / 2)
}

/// `e^−x` for `x ≥ 0` in Q24, into Q30. Absolute error below 1e-7.
#[must_use]
pub const fn exp_negative(x: i64) -> i32 {
    const LOG2_E: i64 = 1_549_082_005; // Q30
    const LN_2: i64 = 744_261_118; // Q30
    if x >= 21 << 24 {
        return 0;
    }
    // x · log2 e in Q30; its integer part halves, the rest is e^−y with y below ln 2.
    let scaled = (x * LOG2_E) >> 24;
    let (halvings, fraction) = (scaled >> 30, scaled & ((1 << 30) - 1));
    let y = (fraction * LN_2) >> 30;
    let (mut term, mut sum, mut n) = (1_i64 << 30, 1_i64 << 30, 1);
    while n <= 9 {
        term = -((term * y) >> 30) / n;
        sum += term;
        n += 1;
    }
    shift(sum, -(halvings as i32)) as i32
}

/// erf-GELU of `x`. Absolute error below 2e-5.
///
/// erf by formula 7.1.26 of Abramowitz and Stegun, good to 1.5e-7.
#[must_use]
pub const fn gelu(x: i32) -> i32 {
    const HALF_ROOT: i64 = 759_250_125; // 1/√2, Q30
    const P: i64 = 351_743_812; // 0.3275911, Q30
    const A: [i64; 5] = [273_622_622, -305_467_764, 1_526_194_834, -1_560_257_690, 1_139_690_283];
    let magnitude = (x as i64).abs();
    if magnitude >= 6 << 16 {
        return if x > 0 { x } else { 0 };
    }
    // z in Q28.
    let z = (magnitude * HALF_ROOT) >> 18;
    let t = (1_i64 << 58) / ((1 << 28) + ((z * P) >> 30));
    let mut sum = 0;
    let mut at = A.len();
    while at > 0 {
        at -= 1;
        sum = ((sum + A[at]) * t) >> 30;
    }
    let tail = (sum * exp_negative((z * z) >> 32) as i64) >> 30;
    let erf = (1 << 30) - tail;
    let weight = if x < 0 { (1 << 30) - erf } else { (1 << 30) + erf };
    shift(x as i64 * weight, -31) as i32
}

/// Softmax in place: scores to probabilities in Q30.
pub fn softmax(x: &mut [i32]) {
    let largest = x.iter().copied().max().unwrap_or(0);
    let mut sum = 0_u64;
    for value in x.iter_mut() {
        *value = exp_negative((i64::from(largest) - i64::from(*value)) << 8);
        sum += u64::from(value.cast_unsigned());
    }
    // At least 2³⁰, of the largest.
    let inverse = (1_u64 << 62) / sum.max(1 << 30);
    for value in x.iter_mut() {
        *value = ((u64::from(value.cast_unsigned()) * inverse) >> 32) as i32;
    }
}

/// Layer norm in place; `epsilon` has 32 fractional bits.
pub fn layer_norm(x: &mut [i32], weight: &[i32], bias: &[i32], epsilon: u64) {
    let count = x.len().max(1) as i64;
    let mean = x.iter().map(|&value| i64::from(value)).sum::<i64>() / count;
    let distance = |value: i32| (i64::from(value) - mean).clamp(-(1 << 27), 1 << 27);
    let squares = sum(x.iter().map(|&value| distance(value).pow(2).cast_unsigned()));
    let inverse = inverse_square_root(squares / count.cast_unsigned() + epsilon);
    for ((value, &weight), &bias) in x.iter_mut().zip(weight).zip(bias) {
        let normal = inverse.apply(distance(*value) as i32);
        let product = shift(i64::from(normal) * i64::from(weight), -16);
        *value = saturate(product).saturating_add(bias);
    }
}

/// The sum of squares, saturating: only a crafted file has values that large.
fn sum(squares: impl Iterator<Item = u64>) -> u64 {
    squares.fold(0, u64::saturating_add)
}

/// Scales a vector in Q16 to length 1 in Q30; zeros stay zeros.
pub fn normalize(x: &mut [i32]) {
    let squares = sum(x.iter().map(|&value| u64::from(value.unsigned_abs()).pow(2)));
    let inverse = inverse_square_root(squares);
    let inverse = Factor { exponent: inverse.exponent + 14, ..inverse };
    x.iter_mut().for_each(|value| *value = inverse.apply(*value));
}

/// Quantises a row to codes up to ±[`MAX_ACTIVATION_CODE`]; returns the value of code 1 in Q16.
pub fn quantize(x: &[i32], codes: &mut [i16]) -> Factor {
    let largest = x.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0).max(1);
    let most = MAX_ACTIVATION_CODE.unsigned_abs();
    let inverse = ((u64::from(most) << 32) / u64::from(largest)).cast_signed();
    for (code, &value) in codes.iter_mut().zip(x) {
        *code = shift(i64::from(value) * inverse, -32) as i16;
    }
    Factor::new((u64::from(largest) << 24) / u64::from(most), -24)
}

/// Σ code · weight with signed bytes as weights; may wrap beyond [`MAX_COLS`].
#[must_use]
pub fn dot(codes: &[i16], weights: &[u8]) -> i32 {
    codes.iter().zip(weights).fold(0, |sum, (&code, &weight)| {
        i32::from(code).wrapping_mul(i32::from(weight.cast_signed())).wrapping_add(sum)
    })
}

/// Σ a · b in Q16 of two vectors: `a` in Q16, and every `step`-th element of `b`, which has `bits`
/// fractional bits.
#[must_use]
pub fn multiply(a: &[i32], b: &[i32], step: usize, bits: i32) -> i32 {
    let sum = a
        .iter()
        .zip(b.iter().step_by(step.max(1)))
        .fold(0_i64, |sum, (&a, &b)| sum.wrapping_add(i64::from(a) * i64::from(b)));
    saturate(shift(sum, -bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(x: i32, bits: i32) -> f64 {
        f64::from(x) / 2_f64.powi(bits)
    }

    #[test]
    fn exponentials_are_within_their_bound() {
        for x in (0..22 << 24).step_by(4_321) {
            let exact = (-(x as f64) / 2_f64.powi(24)).exp();
            assert!((real(exp_negative(x), 30) - exact).abs() < 1e-7, "{x}");
        }
    }

    #[test]
    fn gelu_is_within_its_bound() {
        for x in (-8 * ONE..8 * ONE).step_by(37) {
            let wide = real(x, 16);
            let exact = 0.5 * wide * (1.0 + libm::erf(wide * core::f64::consts::FRAC_1_SQRT_2));
            assert!((real(gelu(x), 16) - exact).abs() < 2e-5, "{wide}");
        }
    }

    #[test]
    fn floats_become_the_nearest_fixed_numbers() {
        for x in [0.0_f32, 1.0, -1.0, 0.1, -3.25, 1e-6, 1e-20, 1234.567, -32_000.0, 1e30, 5e-40] {
            let fixed = from_f32(x.to_bits()).unwrap();
            let kept = f64::from(x).clamp(-32_768.0, 32_768.0);
            assert!((real(fixed, 16) - kept).abs() <= 1.6e-5, "{x}: {fixed}");
            let half = half::f16::from_f32(x.clamp(-60_000.0, 60_000.0));
            let fixed = from_f16(half.to_bits()).unwrap();
            let kept = half.to_f64().clamp(-32_768.0, 32_768.0);
            assert!((real(fixed, 16) - kept).abs() <= 1.6e-5, "{x}: {fixed}");
        }
        assert_eq!(from_f32(f32::NAN.to_bits()), None);
        assert_eq!(from_f32(f32::INFINITY.to_bits()), None);
    }

    #[test]
    fn roots_and_their_inverses_are_exact_to_the_last_places() {
        for value in [1, 2, 3, 99, 1 << 20, (1 << 32) - 1, 1 << 32, 1 << 40, u64::MAX] {
            let root = square_root(value);
            assert!(u128::from(root).pow(2) <= value.into());
            assert!(u128::from(root + 1).pow(2) > value.into());
            let Factor { mantissa, exponent } = inverse_square_root(value);
            let exact = 1.0 / (value as f64 * 2_f64.powi(-32)).sqrt();
            let found = f64::from(mantissa) * 2_f64.powi(exponent);
            assert!((found / exact - 1.0).abs() < 1e-8, "{value}: {found} {exact}");
        }
    }

    #[test]
    fn softmax_and_layer_norm_agree_with_f64() {
        let x: [i32; 37] = core::array::from_fn(|i| (i as i32 * 7_919 % 1_000 - 500) * 700);
        let wide = x.map(|x| real(x, 16));
        let mut soft = x;
        softmax(&mut soft);
        let sum: f64 = wide.iter().map(|x| x.exp()).sum();
        for (found, x) in soft.iter().zip(wide) {
            assert!((real(*found, 30) - x.exp() / sum).abs() < 1e-6);
        }
        let mut normal = x;
        layer_norm(&mut normal, &[2 * ONE; 37], &[ONE / 2; 37], 0);
        let mean = wide.iter().sum::<f64>() / 37.0;
        let variance = wide.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 37.0;
        for (found, x) in normal.iter().zip(wide) {
            let exact = (x - mean) / variance.sqrt() * 2.0 + 0.5;
            assert!((real(*found, 16) - exact).abs() < 1e-4, "{found} {exact}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut x: [i32; 4096] =
            core::array::from_fn(|i| if i % 2 == 0 { i32::MIN } else { i32::MAX });
        let mut normal = x;
        layer_norm(&mut normal, &[i32::MAX; 4096], &[i32::MAX; 4096], u32::MAX.into());
        assert!(
            normal
                .iter()
                .zip(x)
                .all(|(found, x)| *found == if x > 0 { i32::MAX } else { 0 } || *found < 0)
        );
        normalize(&mut x);
        assert!(x.iter().all(|x| x.unsigned_abs() <= 1 << 30));
    }

    #[test]
    fn codes_are_worth_what_they_stand_for() {
        let x: [i32; 9] = [0, 1, -1, 70_000, -65_536, 3_000_000, -3_000_001, 12, 99_999];
        let mut codes = [0; 9];
        let worth = quantize(&x, &mut codes);
        for (code, x) in codes.iter().zip(x) {
            assert!(
                (worth.apply((*code).into()) - x).abs() <= 3_000_001 / 2_047 / 2 + 1,
                "{code} {x}"
            );
        }
    }
}
