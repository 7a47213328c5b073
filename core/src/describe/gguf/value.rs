//! Conversion of keys' values to numbers and strings.

use crate::event::Value;
use crate::token::sentencepiece::PieceKind;

/// An integer that is not negative.
pub(crate) fn unsigned(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Unsigned(number) => u32::try_from(number).ok(),
        Value::Signed(number) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// A number of any kind.
pub(super) fn number(value: Value<'_>) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
    match value {
        Value::Unsigned(number) => Some(number as f64),
        Value::Signed(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

pub(super) const fn text(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns true for a value that means off.
pub(super) fn is_off(value: Value<'_>) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Text(text) => text.is_empty(),
        Value::Array { count } => count == 0,
        _ => number(value) == Some(0.0),
    }
}

/// The type of a token by its number, which is SentencePiece's.
pub(crate) fn token_type(value: Value<'_>) -> Option<PieceKind> {
    unsigned(value).map(u64::from).and_then(PieceKind::from_code)
}
