//! Numbers that a foreign file may have in its rows: finite ones only. One that is not would make
//! the whole row, and every similarity with it, not a number.

use nanoembed_core::words::normalize;

use crate::error::{Error, Result};

/// The most bytes of a field that messages show.
const MOST_SHOWN: usize = 64;

/// The number that `field` spells, or its fault.
pub fn parse(field: &[u8]) -> Result<f32, String> {
    let number = str::from_utf8(field).ok().and_then(|field| field.parse::<f32>().ok());
    let wrong = match number {
        Some(number) if number.is_finite() => return Ok(number),
        Some(_) => "not a finite number of 32 bits",
        None => "not a number",
    };
    let shown = &field[..field.len().min(MOST_SHOWN)];
    let cut = if shown.len() < field.len() { "…" } else { "" };
    Err(format!("\"{}{cut}\" is {wrong}", String::from_utf8_lossy(shown)))
}

/// Refuses a row with a number that is not finite; `place` puts the row's place into the failure.
pub fn check(row: &[f32], place: impl Fn(Error) -> Error) -> Result<()> {
    match row.iter().position(|number| !number.is_finite()) {
        Some(at) => {
            let message = format!("number {} of the vector is {}", at + 1, row[at]);
            Err(place(Error::bad_input(message)))
        }
        None => Ok(()),
    }
}

/// Normalises a row and returns its length, which must be finite too.
pub fn normalized(row: &mut [f32], place: impl Fn(Error) -> Error) -> Result<f32> {
    let norm = normalize(row);
    if norm.is_finite() {
        return Ok(norm);
    }
    let message = "the vector is too long for its length to be a number of 32 bits";
    Err(place(Error::bad_input(message)).with_hint("`--no-normalize` keeps the vector as it is"))
}
