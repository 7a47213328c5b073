//! A decoder of the Llama family, from its settings.

use super::layer_set::LayerSet;
use super::rope::{Rope, RopePairs};
use super::transformer::{
    Activation, Attention, Config, Embedding, FeedForward, Heads, NormKind, Order, QueryKeyNorm,
    Rotary,
};
use super::window::{Window, WindowLayers};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;

macro_rules! listed_layers {
    ($($at:literal)*) => { &[$(concat!("sliding_window_layers_", $at)),*] };
}

/// The members that contain the layers with a window, 32 layers each, from the lowest bit on.
pub const LISTED_LAYERS: &[&str] = listed_layers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);
const _: () = assert!(LISTED_LAYERS.len() * LayerSet::BITS == Limit::LAYERS.most);

/// The sizes and settings of a decoder.
pub type LlamaConfig = Config;

impl Config {
    /// Reads the sizes: `number` returns the members of an AMB configuration.
    ///
    /// | member | default |
    /// |---|---|
    /// | `n_vocab`, `n_embd`, `n_layers`, `n_heads`, `max_seq_len`, `intermediate_size` | required |
    /// | `n_kv_heads` | `n_heads` |
    /// | `head_dim` | `n_embd / n_heads` |
    /// | `rms_norm_eps` | 1e-5 |
    /// | `rope_freq_base` | 10000 |
    /// | `rope_scaling`: divisor of positions | 1 |
    /// | `rope_dimensions`: elements of a head that are rotated | `head_dim` |
    /// | `rope_attention_factor`: factor on cosines and sines | 1 |
    /// | `rope_original_positions`: longer texts use the divisors for long ones | `max_seq_len` |
    /// | `rope_local_freq_base`: base in layers with a window, whose positions are not divided | as in the others |
    /// | `sliding_window`: the number of tokens that a token attends to in layers with a window, itself included | 0: all |
    /// | `sliding_window_every`: every so many layers, one has no window | 0: each has one |
    /// | `sliding_window_first`: the first layer without a window, counted from 0 | 0 |
    /// | [`LISTED_LAYERS`], instead of the two before | none |
    /// | `embedding_scale`: factor on a token's vector | 1 |
    /// | `attention_scale`: factor on scores | 1 / √`head_dim` |
    /// | `query_key_norm`: 1 if queries and keys are normed, head by head | 0 |
    /// | `end_norms`: 1 if the outputs of attention and feed-forward layer are normed | 0 |
    /// | `norm_offset`: added to the weights of norms, 0 or 1 | 0 |
    /// | `gelu_tanh`: 1 if the activation is tanh GELU, not SiLU | 0 |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingMetadata`], or [`ErrorKind::BadMetadata`] for a value out of range, NaN
    /// included.
    pub fn read(number: impl Fn(&str) -> Option<f64>, rope_pairs: RopePairs) -> Result<Self> {
        let bad = Error::without_offset(ErrorKind::BadMetadata);
        let size = |key: &str| {
            let missing = Error::without_offset(ErrorKind::MissingMetadata);
            whole(number(key).ok_or(missing)?).ok_or(bad)
        };
        let or = |key: &str, default: usize| number(key).map_or(Some(default), whole).ok_or(bad);
        let real = |key: &str, default: f32| {
            #[allow(clippy::cast_possible_truncation)] // models are not this precise
            let value = number(key).map_or(default, |value| value as f32);
            if value.is_finite() && value > 0.0 { Ok(value) } else { Err(bad) }
        };
        let whole_or = |key: &str, default: usize| match number(key) {
            Some(0.0) => Ok(0),
            _ => or(key, default),
        };
        let is = |key: &str| match number(key) {
            None | Some(0.0) => Ok(false),
            Some(1.0) => Ok(true),
            Some(_) => Err(bad),
        };
        let (hidden, heads) = (size("n_embd")?, size("n_heads")?);
        let kv_heads = or("n_kv_heads", heads)?;
        let head = or("head_dim", hidden.checked_div(heads).unwrap_or(0))?;
        let (dimensions, positions) = (or("rope_dimensions", head)?, size("max_seq_len")?);
        let fits = heads.is_multiple_of(kv_heads)
            && head.is_multiple_of(2)
            && dimensions.is_multiple_of(2)
            && dimensions <= head;
        let rope = Rope {
            dimensions,
            base: real("rope_freq_base", 10_000.0)?,
            position_divisor: real("rope_scaling", 1.0)?,
            yarn: None,
            attention_factor: real("rope_attention_factor", 1.0)?,
            original_positions: or("rope_original_positions", positions)?,
            pairs: rope_pairs,
        };
        let local = match number("rope_local_freq_base") {
            Some(_) => Rope {
                base: real("rope_local_freq_base", 1.0)?,
                position_divisor: 1.0,
                attention_factor: 1.0,
                ..rope
            },
            None => rope,
        };
        let layers = size("n_layers")?;
        let reach = whole_or("sliding_window", 0)?.checked_sub(1);
        let (every, first) =
            (whole_or("sliding_window_every", 0)?, whole_or("sliding_window_first", 0)?);
        let turn = WindowLayers::AllBut { every, first };
        let listed = listed_layers(&number, layers)?.map(WindowLayers::Listed);
        let scale = number("attention_scale").map(|_| real("attention_scale", 1.0)).transpose()?;
        let config = Self {
            layers,
            heads: Heads { query: heads, key_value: kv_heads, size: head },
            hidden,
            intermediate: size("intermediate_size")?,
            vocabulary: size("n_vocab")?,
            positions,
            embedding: Embedding { scale: real("embedding_scale", 1.0)?, ..Self::LLAMA.embedding },
            attention: Attention {
                window: reach.map(|reach| Window { reach, layers: listed.unwrap_or(turn) }),
                query_key_norm: is("query_key_norm")?.then_some(QueryKeyNorm::Head),
                scale,
                ..Self::LLAMA.attention
            },
            order: if is("end_norms")? { Order::Sandwich } else { Order::Pre },
            norm: NormKind::Rms { one_plus: is("norm_offset")? },
            feed_forward: FeedForward::Gated(match is("gelu_tanh")? {
                true => Activation::GeluTanh,
                false => Activation::Silu,
            }),
            epsilon: real("rms_norm_eps", 1e-5)?,
            rotary: Some(Rotary { global: rope, local }),
            ..Self::LLAMA
        };
        let width = heads.checked_mul(head);
        let small = layers <= Limit::LAYERS.most
            && width.is_some_and(|width| (1..=Limit::SIZE.most).contains(&width));
        let turns = match listed {
            Some(_) => every == 0 && first == 0 && reach.is_some(),
            None => every == 0 && first == 0 || first < every,
        };
        if fits && small && turns { Ok(config) } else { Err(bad) }
    }
}

/// The layers with a window, if they are listed.
fn listed_layers(number: &impl Fn(&str) -> Option<f64>, layers: usize) -> Result<Option<LayerSet>> {
    let bad = Error::without_offset(ErrorKind::BadMetadata);
    let word = |at: usize| {
        let value = number(LISTED_LAYERS.get(at)?)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bits = value as u32;
        (f64::from(bits) == value).then_some(bits)
    };
    let is_listed =
        |at: usize| LISTED_LAYERS.get(at).is_some_and(|member| number(member).is_some());
    let words = if is_listed(0) { layers.div_ceil(LayerSet::BITS) } else { 0 };
    if (words..LISTED_LAYERS.len()).any(is_listed) {
        return Err(bad);
    }
    if words == 0 {
        return Ok(None);
    }
    let listed = LayerSet::from_words(|at| word(at).unwrap_or(0)).ok_or(bad)?;
    let are_numbers = (0..words).all(|at| word(at).is_some());
    let are_layers = !(layers..words.saturating_mul(LayerSet::BITS)).any(|layer| listed.has(layer));
    if are_numbers && are_layers { Ok(Some(listed)) } else { Err(bad) }
}

fn whole(value: f64) -> Option<usize> {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let size = (1.0..=Limit::SIZE.most as f64).contains(&value).then_some(value as usize)?;
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let same = size as f64 == value;
    same.then_some(size)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::model::config::FAMILIES;

    fn read(changes: &[(&str, f64)]) -> Result<LlamaConfig> {
        let usual = [
            ("n_vocab", 100.0),
            ("n_embd", 48.0),
            ("n_layers", 2.0),
            ("n_heads", 6.0),
            ("n_kv_heads", 2.0),
            ("max_seq_len", 64.0),
            ("intermediate_size", 96.0),
        ];
        let number = |key: &str| {
            let find = |all: &[(&str, f64)]| all.iter().find(|it| it.0 == key).map(|it| it.1);
            find(changes).or_else(|| find(&usual))
        };
        LlamaConfig::read(number, RopePairs::Halves)
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert_eq!(read(&[]).map(|config| config.head()), Ok(8));
        for (key, value) in [
            ("n_heads", 0.0),
            ("n_heads", 4.5),
            ("n_heads", 96.0),
            ("n_heads", 16_777_216.0),
            ("n_kv_heads", 4.0),
            ("n_kv_heads", 12.0),
            ("n_kv_heads", 0.0),
            ("head_dim", 7.0),
            ("head_dim", 16_777_216.0),
            ("n_embd", 1e30),
            ("n_layers", f64::NAN),
            ("rope_freq_base", -1.0),
            ("rope_scaling", 0.0),
            ("rope_dimensions", 10.0),
            ("rope_dimensions", 3.0),
            ("rope_dimensions", 0.0),
            ("rope_attention_factor", f64::INFINITY),
            ("rope_original_positions", 0.0),
            ("rope_local_freq_base", 0.0),
            ("sliding_window", -1.0),
            ("sliding_window_first", 1.0),
            ("sliding_window_every", 0.5),
            ("embedding_scale", 0.0),
            ("attention_scale", f64::NAN),
            ("query_key_norm", 2.0),
            ("end_norms", -1.0),
            ("norm_offset", 0.5),
            ("gelu_tanh", f64::NAN),
        ] {
            let error = read(&[(key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadMetadata, "{key} {value}");
        }
    }

    #[test]
    fn layers_with_a_window_may_be_listed() {
        let listed = |changes: &[(&str, f64)]| {
            let window = [("n_layers", 35.0), ("sliding_window", 8.0)];
            let config = read(&[changes, &window[..]].concat())?;
            let window = config.attention.window.unwrap();
            Ok((0..36).filter(|layer| window.is_in(*layer)).collect::<Vec<_>>())
        };
        let (low, high) = ("sliding_window_layers_0", "sliding_window_layers_1");
        let bad = Error::without_offset(ErrorKind::BadMetadata);
        if FAMILIES {
            let found = listed(&[(low, f64::from(u32::MAX - 2)), (high, 5.0)]);
            let expected = (0..35).filter(|layer| ![1, 33].contains(layer));
            assert_eq!(found, Ok(expected.collect()));
        }
        for refused in [
            &[(low, 5.0)][..],
            &[(low, 5.0), (high, 8.0)],
            &[(low, 4_294_967_296.0), (high, 0.0)],
            &[(low, 0.5), (high, 0.0)],
            &[(low, -1.0), (high, 0.0)],
            &[(low, 5.0), (high, 0.0), ("sliding_window_layers_2", 0.0)],
            &[(low, 5.0), (high, 0.0), ("sliding_window_every", 3.0)],
            &[(low, 5.0), (high, 0.0), ("sliding_window", 0.0)],
            &[(high, 0.0)],
        ] {
            assert_eq!(listed(refused), Err(bad), "{refused:?}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_in_llama() {
        let plain = read(&[]).unwrap();
        assert_eq!(plain, Config { rotary: plain.rotary, ..sized(plain, Config::LLAMA) });
        let off = ["sliding_window", "query_key_norm", "end_norms", "norm_offset", "gelu_tanh"];
        assert_eq!(read(&off.map(|key| (key, 0.0))), Ok(plain));
    }

    #[test]
    fn members_say_what_gemma_does() {
        let gemma = read(&[
            ("rope_freq_base", 1e6),
            ("rope_scaling", 8.0),
            ("rope_local_freq_base", 1e4),
            ("sliding_window", 16.0),
            ("sliding_window_every", 6.0),
            ("sliding_window_first", 5.0),
            ("embedding_scale", 7.0),
            ("attention_scale", 0.25),
            ("query_key_norm", 1.0),
            ("end_norms", 1.0),
            ("norm_offset", 1.0),
            ("gelu_tanh", 1.0),
        ])
        .unwrap();
        let Rotary { global, local } = gemma.rotary.unwrap();
        assert_eq!((global.base, global.position_divisor), (1e6, 8.0));
        assert_eq!((local.base, local.position_divisor), (1e4, 1.0));
        let window = gemma.attention.window.unwrap();
        assert_eq!(window, Window::all_but(15, 6, 5));
        let expected = Config {
            embedding: Embedding { scale: 7.0, ..Config::LLAMA.embedding },
            attention: Attention {
                window: Some(window),
                query_key_norm: Some(QueryKeyNorm::Head),
                scale: Some(0.25),
                ..Config::LLAMA.attention
            },
            rotary: gemma.rotary,
            order: Order::Sandwich,
            norm: NormKind::Rms { one_plus: true },
            feed_forward: FeedForward::Gated(Activation::GeluTanh),
            ..Config::LLAMA
        };
        assert_eq!(gemma, sized(gemma, expected));
    }

    /// `config` with the sizes of `of`.
    fn sized(of: Config, config: Config) -> Config {
        let Config { layers, heads, hidden, intermediate, vocabulary, positions, .. } = of;
        Config { layers, heads, hidden, intermediate, vocabulary, positions, ..config }
    }
}
