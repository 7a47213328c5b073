//! The common settings of Llama-like families.

use super::{
    Activations, HeadSizes, Kinds, OF_LLAMA, RotaryRules, RotarySettings, Settings, SizeNames,
    UsualHeads,
};
use crate::model::config::{Activation, Config, FeedForward};
use crate::text::json::Read;

/// The defaults of a family.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct LlamaUsual {
    pub(in crate::model::family) heads: UsualHeads,
    /// The base of rotary frequencies, and the supported kinds of scaling.
    pub(in crate::model::family) rotary: RotaryRules,
    /// The epsilon of norms.
    pub(in crate::model::family) epsilon: f32,
}

impl LlamaUsual {
    /// The defaults of Llama-like encoders.
    pub(in crate::model::family) const fn encoder(base: f32, epsilon: f32) -> Self {
        Self {
            heads: UsualHeads::EVEN,
            rotary: RotaryRules { base, kinds: Kinds::Encoders },
            epsilon,
        }
    }
}

impl<'t> Settings<'_, 't> {
    /// Llama's configuration, without rotary positions, which are returned separately.
    pub(in crate::model::family) fn llama(
        &self,
        usual: LlamaUsual,
    ) -> Read<'t, (Config, RotarySettings<'t>)> {
        const SILU: Activations = OF_LLAMA;
        let config = self.sized(&SizeNames::USUAL, Config::LLAMA)?;
        let config = self.shared_heads(config, usual.heads)?;
        let only = "only silu is honoured";
        let activation = self.activation("hidden_act", Activation::Silu, SILU, only)?;
        let config = Config {
            epsilon: self.positive("rms_norm_eps")?.unwrap_or(usual.epsilon),
            feed_forward: FeedForward::Gated(activation),
            ..config
        };
        let rotary = self.rotary(HeadSizes::new(&config), usual.rotary)?;
        Ok((config, rotary))
    }
}
