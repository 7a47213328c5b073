//! Maps ranges of elements to the blocks that contain them.

/// Converts `out.len()` elements of `N` bytes each from `first` on; `None` if there are fewer.
#[inline]
pub(super) fn elements<const N: usize>(
    data: &[u8],
    first: usize,
    out: &mut [f32],
    convert: impl Fn([u8; N]) -> f32,
) -> Option<()> {
    let elements = data.as_chunks::<N>().0.get(first..)?.get(..out.len())?;
    for (value, bytes) in out.iter_mut().zip(elements) {
        *value = convert(*bytes);
    }
    Some(())
}

/// Dequantises `out.len()` elements from `first` on, in blocks of `E` elements and `B` bytes;
/// `None` if there are fewer. Complete blocks are written in place.
#[inline]
pub(super) fn blocks<const E: usize, const B: usize>(
    data: &[u8],
    first: usize,
    out: &mut [f32],
    dequantize: impl Fn(&[u8; B], &mut [f32; E]),
) -> Option<()> {
    let blocks = data.as_chunks::<B>().0.get(first / E..)?;
    let skipped = first % E;
    if skipped.checked_add(out.len())? > blocks.len().checked_mul(E)? {
        return None;
    }
    let mut blocks = blocks.iter();
    let mut rest = out;
    if skipped > 0 && !rest.is_empty() {
        let mut whole = [0.0; E];
        dequantize(blocks.next()?, &mut whole);
        let wanted = whole.get(skipped..)?;
        let (head, after) = rest.split_at_mut(wanted.len().min(rest.len()));
        head.copy_from_slice(wanted.get(..head.len())?);
        rest = after;
    }
    let (body, tail) = rest.as_chunks_mut::<E>();
    for (values, block) in body.iter_mut().zip(blocks.by_ref()) {
        dequantize(block, values);
    }
    if !tail.is_empty() {
        let mut whole = [0.0; E];
        dequantize(blocks.next()?, &mut whole);
        tail.copy_from_slice(whole.get(..tail.len())?);
    }
    Some(())
}

/// Rounds to the nearest integer, ties to even; `libm`'s function is a call unless crates are
/// optimised together.
#[inline]
pub(super) fn round_even(x: f32) -> f32 {
    // Larger numbers have no fractions, nor does the sum.
    const WHOLE: f32 = 8_388_608.0;
    if x.abs() < WHOLE {
        let whole = WHOLE.copysign(x);
        (x + whole - whole).copysign(x)
    } else {
        x
    }
}

/// Encodes whole blocks of `E` values into `B` bytes each.
#[inline]
pub(super) fn encode<const E: usize, const B: usize>(
    values: &[f32],
    out: &mut [u8],
    encode: impl Fn(&[f32; E]) -> [u8; B],
) {
    for (bytes, values) in out.as_chunks_mut::<B>().0.iter_mut().zip(values.as_chunks::<E>().0) {
        *bytes = encode(values);
    }
}

/// The value of the largest magnitude, with its sign; the first of several.
pub(super) fn extreme(values: &[f32]) -> f32 {
    let larger = |found: f32, &x: &f32| if x.abs() > found.abs() { x } else { found };
    values.iter().fold(0.0, larger)
}

/// The smallest and the largest value.
pub(super) fn range(values: &[f32]) -> (f32, f32) {
    values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &x| (min.min(x), max.max(x)))
}

/// `1 / x`, or 0 if that is not finite.
pub(super) fn reciprocal(x: f32) -> f32 {
    let inverse = 1.0 / x;
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// `x` as an integer between `low` and `high`; NaN becomes 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped, and kept as its bits
pub(super) fn code(x: f32, low: f32, high: f32) -> u8 {
    (x.clamp(low, high) as i32) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_libm_does() {
        for bits in (0..u32::MAX).step_by(9973) {
            let x = f32::from_bits(bits);
            let (ours, theirs) = (round_even(x), libm::rintf(x));
            assert!(ours.to_bits() == theirs.to_bits() || x.is_nan() && ours.is_nan(), "{x}");
        }
        for x in [0.5, 1.5, 2.5, -0.5, -1.5, -0.2, 8_388_607.5, -8_388_607.5] {
            assert_eq!(round_even(x).to_bits(), libm::rintf(x).to_bits(), "{x}");
        }
    }
}
