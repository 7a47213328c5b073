//! The scaling of rotary positions in a file.

/// The divisor of positions for this kind of scaling and this factor; `None` for kinds that are
/// more than a division. As in llama.cpp, a factor without a kind is linear, and 0 means none.
pub(super) fn position_divisor(kind: Option<&str>, factor: Option<f64>) -> Option<f64> {
    match kind {
        Some("none") => Some(1.0),
        None | Some("linear") => Some(factor.filter(|factor| *factor != 0.0).unwrap_or(1.0)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_without_a_kind_is_linear() {
        for (kind, divisor) in [
            (None, Some(4.0)),
            (Some("linear"), Some(4.0)),
            (Some("none"), Some(1.0)),
            (Some("yarn"), None),
        ] {
            assert_eq!(position_divisor(kind, Some(4.0)), divisor, "{kind:?}");
        }
        assert_eq!([None, Some(0.0)].map(|it| position_divisor(None, it)), [Some(1.0); 2]);
    }
}
