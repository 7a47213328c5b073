//! The divisors of rotary frequencies that files store as tensors.

use nanoembed_core::model::llama::rope::Yarn;
use nanoembed_core::model::{RotaryScaling, RotarySettings};

/// The tensors that have them.
pub const DIVISORS: &str = "model.rope_freqs.weight";
pub const SHORT: &str = "model.rope_factors_short.weight";
pub const LONG: &str = "model.rope_factors_long.weight";

/// The vectors that belong to these settings, as f32, under the names of an `.amb` file.
#[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
pub fn stored(rotary: &RotarySettings<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = |numbers: &mut dyn Iterator<Item = f64>| -> Vec<u8> {
        numbers.flat_map(|number| (number as f32).to_le_bytes()).collect()
    };
    let pairs = 0..rotary.dimensions / 2;
    match rotary.scaling {
        RotaryScaling::Llama3(llama) => {
            let divisor = |pair| llama.divisor(pair, rotary.dimensions, rotary.base);
            vec![(DIVISORS, bytes(&mut pairs.map(divisor)))]
        }
        RotaryScaling::Yarn(settings) => {
            let yarn = Yarn::new(&settings, rotary.dimensions, rotary.base);
            let divisors = yarn.map(|yarn| bytes(&mut pairs.map(|pair| yarn.divisor(pair))));
            divisors.map(|divisors| (DIVISORS, divisors)).into_iter().collect()
        }
        RotaryScaling::Long(lists) => {
            let lists = lists.map(|list| bytes(&mut list.items().filter_map(|it| it.as_f64())));
            [SHORT, LONG].into_iter().zip(lists).collect()
        }
        RotaryScaling::None | RotaryScaling::Linear(_) => Vec::new(),
    }
}
