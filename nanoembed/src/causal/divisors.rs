//! The divisors of rotary frequencies that files store as tensors.

use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::{RotaryScaling, RotarySettings};
use nanoembed_core::{Error, limit};

/// The tensors that have them.
pub const DIVISORS: &str = "model.rope_freqs.weight";
pub const SHORT: &str = "model.rope_factors_short.weight";
pub const LONG: &str = "model.rope_factors_long.weight";

/// Vectors of f32 under their names.
pub type Divisors = Vec<(&'static str, Vec<u8>)>;

/// The vectors that belong to these settings, under the names of an `.amb` file.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn stored(rotary: &RotarySettings<'_>) -> Result<Divisors, Error> {
    let pairs = 0..rotary.dimensions / 2;
    let mut stored = Divisors::new();
    let mut store = |name, numbers: &mut dyn Iterator<Item = f64>| {
        limit::push(&mut stored, (name, bytes(numbers)?))
    };
    match rotary.scaling {
        RotaryScaling::Llama3(llama) => {
            let divisor = |pair| llama.divisor(pair, rotary.dimensions, rotary.base);
            store(DIVISORS, &mut pairs.map(divisor))?;
        }
        RotaryScaling::Yarn(settings) => {
            if let Some(yarn) = Yarn::new(&settings, rotary.dimensions, rotary.base) {
                store(DIVISORS, &mut pairs.map(|pair| yarn.divisor(pair)))?;
            }
        }
        RotaryScaling::Long(lists) => {
            for (name, list) in [SHORT, LONG].into_iter().zip(lists) {
                store(name, &mut list.items().filter_map(|it| it.as_f64()))?;
            }
        }
        RotaryScaling::None | RotaryScaling::Linear(_) => {}
    }
    Ok(stored)
}

#[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
fn bytes(numbers: &mut dyn Iterator<Item = f64>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for number in numbers {
        limit::append(&mut bytes, &(number as f32).to_le_bytes())?;
    }
    Ok(bytes)
}
