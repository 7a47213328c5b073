//! Numbers in JSON that come from `f32`.

use serde_json::{Value, json};

/// A number in as few digits as tell it from others of its type.
#[must_use]
pub fn json_float(value: f32) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "it is compared with the value")]
    let is_same = |short: &f64| *short as f32 == value;
    let short = value.to_string().parse().ok().filter(is_same);
    json!(short.unwrap_or(f64::from(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let numbers =
            [(1e-12, "1e-12"), (0.1, "0.1"), (1e6, "1000000.0"), (1.138_629_4, "1.1386294")];
        for (value, text) in numbers {
            assert_eq!(json_float(value).to_string(), text);
        }
    }
}
