//! Decimal fractions as f32.
//!
//! The standard library's conversion is fast thanks to 10 KB of powers of five, which is too much
//! for firmware that reads a single number when it opens a model. Here the digits are doubled
//! repeatedly, and the carries across the point are the bits.

/// Decimal places that are kept. A midpoint of two f32 has at most 150 places.
const PLACES: usize = 160;

/// The f32 nearest to a decimal number below 1, ties to even: digits with an optional point and an
/// optional exponent, as in `0.00001` or `1e-12`. `None` for anything else.
#[must_use]
pub fn fraction(text: &str) -> Option<f32> {
    let mut places = [0_u8; PLACES];
    // True if digits follow that are not kept.
    let mut more = false;
    let (mantissa, exponent) = split(text.as_bytes())?;
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    // The index of the first digit, counted from 0 after the point.
    let mut place = 0_i64.checked_sub(point as i64)?.checked_sub(exponent)?;
    let mut is_number = false;
    for (index, byte) in mantissa.iter().enumerate() {
        if index == point {
            continue;
        }
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        is_number = true;
        match usize::try_from(place).map(|place| places.get_mut(place)) {
            Ok(Some(kept)) => *kept = digit,
            Ok(None) => more |= digit > 0,
            Err(_) if digit > 0 => return None,
            Err(_) => {}
        }
        place = place.checked_add(1)?;
    }
    is_number.then(|| nearest(&mut places, more))
}

/// Splits a number without its sign into digits and exponent.
fn split(text: &[u8]) -> Option<(&[u8], i64)> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let Some(at) = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) else {
        return Some((text, 0));
    };
    let (mantissa, exponent) = text.split_at_checked(at)?;
    let exponent = core::str::from_utf8(exponent.get(1..)?).ok()?.parse::<i32>().ok()?;
    Some((mantissa, exponent.into()))
}

/// Rounds the fraction with the digits `places`; `more` says that nonzero digits follow.
fn nearest(places: &mut [u8], more: bool) -> f32 {
    /// The last bit of the smallest numbers is worth 2⁻¹⁴⁹.
    const LAST: u32 = 149;
    const MANTISSA_BITS: u32 = 24;
    let (mut mantissa, mut last) = (0_u32, 0);
    while last < LAST && mantissa >> (MANTISSA_BITS - 1) == 0 {
        mantissa = mantissa << 1 | u32::from(double(places));
        last = last.saturating_add(1);
    }
    let half = double(places);
    let above = more || places.iter().any(|digit| *digit > 0);
    let up = half && (above || mantissa & 1 == 1);
    // A mantissa that rounds up to 2²⁴ correctly carries into the exponent.
    let exponent = LAST.saturating_sub(last) << (MANTISSA_BITS - 1);
    f32::from_bits(exponent.saturating_add(mantissa).saturating_add(up.into()))
}

/// Doubles a fraction; returns true if the result reached 1, which is subtracted.
fn double(places: &mut [u8]) -> bool {
    let mut carry = false;
    for digit in places.iter_mut().rev() {
        let twice = *digit << 1 | u8::from(carry);
        carry = twice > 9;
        *digit = if carry { twice.wrapping_sub(10) } else { twice };
    }
    carry
}

#[cfg(test)]
mod tests {
    use core::fmt::Write as _;

    use super::*;

    fn agrees(text: &str) {
        let expected = text.parse::<f32>().unwrap();
        assert_eq!(fraction(text).map(f32::to_bits), Some(expected.to_bits()), "{text}");
    }

    #[test]
    fn every_spelling_means_what_it_means_to_the_standard_library() {
        for text in [
            "0",
            "0.0",
            ".5",
            "0.",
            "1e-12",
            "1E-5",
            "+1e-05",
            "0.00001",
            "12345e-9",
            "0.1e-3",
            "00.25",
            "9.99999999999999999999999999999999999999e-1",
            "0.99999999",
            "1e-45",
            "7e-46",
            "8e-46",
            "1e-400",
            "1.1754943e-38",
            "000001e-3",
            "0.0e9",
        ] {
            agrees(text);
        }
    }

    #[test]
    fn numbers_at_and_beside_the_middle_of_two_are_rounded_as_they_should() {
        let mut seed = 7_u32;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let bits = seed % 1.0_f32.to_bits();
            let (low, high) = (f32::from_bits(bits), f32::from_bits(bits + 1));
            let middle = f64::midpoint(low.into(), high.into());
            for (value, after) in [(low.into(), ""), (middle, ""), (middle, "0001")] {
                let mut text = heapless::String::<256>::new();
                write!(text, "{value:.170}{after}").unwrap();
                agrees(&text);
            }
        }
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        for text in [
            "",
            ".",
            "e",
            "1e",
            "e-5",
            "1",
            "1.0",
            "2e0",
            "-0.5",
            "nan",
            "inf",
            "1e-",
            "0.5x",
            "0..5",
            "0.5.",
            "1e5",
            "0x1",
            "1e-99999999999",
            "+",
            "++.5",
        ] {
            assert_eq!(fraction(text), None, "{text}");
        }
    }
}
