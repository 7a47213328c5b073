//! What a `config.json` says of a model's rotary positions.

use crate::model::config::{Llama3, Rope, Yarn, YarnSettings};
use crate::text::json::Value;

/// How a model's heads are turned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RotarySettings<'t> {
    /// Elements of a head that are turned.
    pub dimensions: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// What cosines and sines are multiplied with.
    pub attention_factor: f64,
    /// The tokens of the context before it was extended.
    pub original_positions: usize,
    /// How frequencies are divided.
    pub scaling: RotaryScaling<'t>,
}

/// How frequencies are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RotaryScaling<'t> {
    /// Not at all.
    None,
    /// All by one number.
    Linear(f32),
    /// Each by a number of its own, as for Llama 3.1.
    Llama3(Llama3),
    /// The same by YaRN.
    Yarn(YarnSettings),
    /// By one list of positive numbers for short texts and another one for long texts, one number
    /// for each pair.
    Long([Value<'t>; 2]),
}

impl RotarySettings<'_> {
    /// The same heads, turned by frequencies of this base that nothing divides.
    pub(in crate::model::family) const fn plain(self, base: f32) -> Self {
        Self { base, attention_factor: 1.0, scaling: RotaryScaling::None, ..self }
    }

    /// The same for texts of so many tokens, without any divisors of single pairs: they are stored as
    /// tensors.
    #[must_use]
    pub fn stored_rope(&self, positions: usize) -> Rope {
        Rope { yarn: None, ..self.rope(positions) }
    }

    /// The same for texts of so many tokens, without the divisors that are stored as tensors: of
    /// Llama 3.1 and of long texts.
    #[must_use]
    pub fn rope(&self, positions: usize) -> Rope {
        let Self { dimensions, base, original_positions, scaling, .. } = *self;
        #[allow(clippy::cast_possible_truncation)] // models are not this precise
        let attention_factor = self.attention_factor as f32;
        let rope = Rope { attention_factor, ..Rope::new(dimensions, base, positions) };
        match scaling {
            RotaryScaling::None | RotaryScaling::Llama3(_) => rope,
            RotaryScaling::Linear(position_divisor) => Rope { position_divisor, ..rope },
            RotaryScaling::Yarn(yarn) => Rope { yarn: Yarn::new(&yarn, dimensions, base), ..rope },
            RotaryScaling::Long(_) => Rope { original_positions, ..rope },
        }
    }
}
