//! The rotary positions in a `config.json`.

use crate::model::config::{Llama3, Rope, Yarn, YarnSettings};
use crate::text::json::Value;

/// The rotary positions of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RotarySettings<'t> {
    /// Elements of a head that are rotated.
    pub dimensions: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// Factor on cosines and sines.
    pub attention_factor: f64,
    /// The length of the original context in tokens.
    pub original_positions: usize,
    /// The scaling of frequencies.
    pub scaling: RotaryScaling<'t>,
}

/// The scaling of frequencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RotaryScaling<'t> {
    /// None.
    None,
    /// A common divisor.
    Linear(f32),
    /// Llama 3.1's divisors for each pair.
    Llama3(Llama3),
    /// YaRN's divisors for each pair.
    Yarn(YarnSettings),
    /// A list of divisors for short texts and another one for long texts, a positive number for
    /// each pair.
    Long([Value<'t>; 2]),
}

impl RotarySettings<'_> {
    /// Rotary positions of the same heads with this base and without scaling.
    pub(in crate::model::family) const fn plain(self, base: f32) -> Self {
        Self { base, attention_factor: 1.0, scaling: RotaryScaling::None, ..self }
    }

    /// The [`Rope`] for texts of up to `positions` tokens, without divisors of single pairs: they
    /// are stored as tensors.
    #[must_use]
    pub fn stored_rope(&self, positions: usize) -> Rope {
        Rope { yarn: None, ..self.rope(positions) }
    }

    /// The [`Rope`] for texts of up to `positions` tokens, without the divisors that are stored as
    /// tensors: Llama 3.1's and those for long texts.
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
