//! Gemma 3's text model, a decoder on which EmbeddingGemma is based.

use super::{
    Activations, HeadSizes, Kinds, RotaryRules, RotarySettings, Settings, SizeNames, UsualHeads,
    rotary_alone,
};
use crate::kernel::root;
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Mask, NormKind, Order, QueryKeyNorm,
    Window,
};
use crate::text::json::Read;

/// The activations of Gemma's models.
pub(in crate::model::family) const OF_GEMMA: Activations =
    &[("gelu_pytorch_tanh", Activation::GeluTanh), ("gelu_new", Activation::GeluTanh)];

/// The default period of layers without a window.
const PATTERN: usize = 6;

/// The model, without its rotary positions.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct Gemma<'t> {
    pub(in crate::model::family) config: Config,
    /// In layers without a window.
    pub(in crate::model::family) global: RotarySettings<'t>,
    /// In layers with a window.
    pub(in crate::model::family) local: RotarySettings<'t>,
    /// True if attention has biases.
    pub(in crate::model::family) has_bias: bool,
}

impl<'t> Gemma<'t> {
    /// Reads the model; `kinds` are the supported kinds of scaling.
    pub(in crate::model::family) fn read(
        settings: &Settings<'_, 't>,
        kinds: Kinds,
    ) -> Read<'t, Self> {
        settings.absent(&["attn_logit_softcapping", "final_logit_softcapping"])?;
        let config = settings.sized(&SizeNames::USUAL, Config::LLAMA)?;
        let config = settings.shared_heads(config, UsualHeads::NEEDED)?;
        let only = "only gelu_pytorch_tanh is honoured";
        let usual = Activation::GeluTanh;
        let activation = settings.activation("hidden_activation", usual, OF_GEMMA, only)?;
        settings.activation("hidden_act", usual, OF_GEMMA, only)?;
        let mask = match settings.truth("use_bidirectional_attention", false)? {
            true => Mask::Full,
            false => Mask::Causal,
        };
        let scalar = settings.positive("query_pre_attn_scalar")?.unwrap_or(256.0);
        #[allow(clippy::cast_precision_loss)] // at most 2²⁴
        let scale = root::sqrt_f32(config.hidden as f32);
        let config = Config {
            embedding: Embedding { scale, ..config.embedding },
            attention: Attention {
                mask,
                window: window(settings, &config, mask)?,
                query_key_norm: Some(QueryKeyNorm::Head),
                scale: Some(inverse_root(scalar)),
                ..config.attention
            },
            order: Order::Sandwich,
            norm: NormKind::Rms { one_plus: true },
            epsilon: settings.positive("rms_norm_eps")?.unwrap_or(1e-6),
            feed_forward: FeedForward::Gated(activation),
            ..config
        };
        let [global, local] = settings.rotary_by_layers([HeadSizes::new(&config); 2], kinds)?;
        Ok(Self { config, global, local, has_bias: settings.truth("attention_bias", false)? })
    }
}

fn inverse_root(number: f32) -> f32 {
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let root = (1.0 / root::sqrt_f64(number.into())) as f32;
    root
}

/// The window of most layers; without a causal mask, half of it is on each side.
fn window<'t>(
    settings: &Settings<'_, 't>,
    config: &Config,
    mask: Mask,
) -> Read<'t, Option<Window>> {
    let size = settings.optional("sliding_window")?.unwrap_or(4096);
    let reach = match mask {
        Mask::Full => size / 2,
        Mask::Causal => size - 1,
    };
    let every = settings.optional("sliding_window_pattern")?;
    let every = every.or(settings.optional("_sliding_window_pattern")?).unwrap_or(PATTERN);
    let usual = (every > 1).then_some(Window::all_but(reach, every, every - 1));
    Ok(settings.windows(config.layers, reach)?.unwrap_or(usual))
}

impl<'t> Settings<'_, 't> {
    /// The rotary settings of layers without a window, and of those with one, whose heads have
    /// these sizes. Layers with a window have their own base, and their positions are scaled only
    /// if their own settings say so.
    pub(in crate::model::family) fn rotary_by_layers(
        &self,
        [sizes, local_sizes]: [HeadSizes; 2],
        kinds: Kinds,
    ) -> Read<'t, [RotarySettings<'t>; 2]> {
        self.even_head(sizes)?;
        self.even_head(local_sizes)?;
        let global = RotaryRules { base: 1e6, kinds };
        let base = self.positive("rope_local_base_freq")?.unwrap_or(1e4);
        let said = self.rope_object()?;
        let of = |name| said.as_ref().map_or(Ok(None), |said| said.object(name));
        let layers = [of("full_attention")?, of("sliding_attention")?];
        let Some(by_layers) = said.as_ref().filter(|_| layers.iter().any(Option::is_some)) else {
            let global = self.rotary_in(said.as_ref(), sizes, global)?;
            return Ok([
                global,
                RotarySettings { dimensions: local_sizes.head, ..global.plain(base) },
            ]);
        };
        let [full, sliding] = layers;
        let full = by_layers.needed("full_attention", full)?;
        let sliding = by_layers.needed("sliding_attention", sliding)?;
        by_layers.finish(&[])?;
        // Members outside the object apply to layers without a window.
        let local = rotary_alone(&sliding, local_sizes, RotaryRules { base, kinds })?;
        Ok([self.rotary_in(Some(&full), sizes, global)?, local])
    }
}
