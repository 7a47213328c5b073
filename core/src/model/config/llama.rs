//! A decoder of the Llama family, from its settings.

use super::rope::{Rope, RopePairs};
use super::transformer::{Config, Heads, Rotary};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;

/// The sizes and settings of a decoder.
pub type LlamaConfig = Config;

impl Config {
    /// Reads the sizes: `number` answers the members of an AMB configuration.
    ///
    /// | member | default |
    /// |---|---|
    /// | `n_vocab`, `n_embd`, `n_layers`, `n_heads`, `max_seq_len`, `intermediate_size` | required |
    /// | `n_kv_heads` | `n_heads` |
    /// | `head_dim` | `n_embd / n_heads` |
    /// | `rms_norm_eps` | 1e-5 |
    /// | `rope_freq_base` | 10000 |
    /// | `rope_scaling`: by what positions are divided | 1 |
    /// | `rope_dimensions`: elements of a head that are turned | `head_dim` |
    /// | `rope_attention_factor`: what cosines and sines are multiplied with | 1 |
    /// | `rope_original_positions`: longer texts take the divisors for long ones | `max_seq_len` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingMetadata`], or [`ErrorKind::BadMetadata`] for a value out of range.
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
        let config = Self {
            layers: size("n_layers")?,
            heads: Heads { query: heads, key_value: kv_heads, size: head },
            hidden,
            intermediate: size("intermediate_size")?,
            vocabulary: size("n_vocab")?,
            positions,
            epsilon: real("rms_norm_eps", 1e-5)?,
            rotary: Some(Rotary { global: rope, local: rope }),
            ..Self::LLAMA
        };
        let width = heads.checked_mul(head);
        let small = config.layers <= Limit::LAYERS.most
            && width.is_some_and(|width| (1..=Limit::SIZE.most).contains(&width));
        if fits && small { Ok(config) } else { Err(bad) }
    }
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
    use super::*;

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
        ] {
            let error = read(&[(key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadMetadata, "{key} {value}");
        }
    }
}
