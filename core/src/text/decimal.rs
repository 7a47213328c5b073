//! Decimal numbers as f64, for settings.
//!
//! The standard library's conversion rounds every spelling to the nearest f64, with tables and with
//! code that may panic as far as the linker knows. The numbers of a configuration are short: each
//! is an integer and a power of ten that f64 represents exactly, so that a single product or
//! quotient is correctly rounded.

/// The powers of ten that f64 represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses a number: an optional sign, digits with an optional point, an optional exponent.
///
/// The result is the nearest f64 if the digits form a number below 2⁵³ and the power of ten is at
/// most 22, and within a few units in the last place otherwise; digits after the nineteenth are
/// ignored. Numbers beyond f64 become infinite. `None` for anything else.
#[must_use]
pub fn decimal(text: &str) -> Option<f64> {
    let (is_negative, text) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let at = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e'));
    let (mantissa, exponent) = match at.and_then(|at| text.split_at_checked(at)) {
        Some((mantissa, [_, exponent @ ..])) => {
            (mantissa, core::str::from_utf8(exponent).ok()?.parse::<i32>().ok()?)
        }
        _ => (text, 0),
    };
    let (mut digits, mut exponent) = (0_u64, exponent);
    let (mut is_number, mut after_point) = (false, false);
    for byte in mantissa {
        if *byte == b'.' && !after_point {
            after_point = true;
            continue;
        }
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        is_number = true;
        match digits.checked_mul(10).and_then(|digits| digits.checked_add(digit.into())) {
            Some(more) => {
                digits = more;
                exponent = exponent.checked_sub(after_point.into())?;
            }
            None => exponent = exponent.checked_add((!after_point).into())?,
        }
    }
    #[allow(clippy::cast_precision_loss)] // said above
    let value = scaled(digits as f64, exponent);
    is_number.then_some(if is_negative { -value } else { value })
}

/// As [`decimal`], with NaN for anything that is not a number; no setting may be NaN.
pub(crate) fn decimal_or_nan(text: &str) -> f64 {
    decimal(text).unwrap_or(f64::NAN)
}

/// `value · 10^exponent`.
fn scaled(mut value: f64, exponent: i32) -> f64 {
    let mut left = exponent.unsigned_abs();
    // Beyond this the value can only be 0 or infinity.
    while left > 0 && value > 0.0 && value.is_finite() {
        let step = left.min(22);
        let power = POWERS.get(step as usize).copied().unwrap_or(1.0);
        value = if exponent < 0 { value / power } else { value * power };
        left = left.saturating_sub(step);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "1",
            "-1",
            "+7",
            "500000",
            "500000.0",
            "1e6",
            "1E-5",
            "1e-05",
            "0.00001",
            "9.999e-6",
            "123.456",
            ".5",
            "5.",
            "9007199254740991",
            "1e22",
            "9007199254740991e-22",
            "00012.50",
            "0e99999",
            "1e400",
        ] {
            assert_eq!(decimal(text), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn long_numbers_are_near() {
        for text in [
            "123456789012345678901234567890",
            "0.1234567890123456789012345",
            "3.4028235e38",
            "1.7976931348623157e308",
            "2.5e-300",
            "99999999999999999999999e-40",
        ] {
            let expected: f64 = text.parse().unwrap();
            let found = decimal(text).unwrap();
            assert!((found - expected).abs() <= expected * 4e-16 * 20.0, "{text}: {found}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            ".",
            "e",
            "1e",
            "e5",
            "--1",
            "+-1",
            "1..2",
            "1.2.3",
            "0x10",
            "inf",
            "NaN",
            "1e5x",
            " 1",
            "1 ",
            "1e99999999999",
            "true",
        ] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }
}
