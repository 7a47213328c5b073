//! The settings of a BERT encoder, from a file's metadata.

use core::ops::Deref;

use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::limit::Limit;
use crate::model::{Config, Heads, PoolingMode, TextEmbedding};
use crate::text::fraction::fraction;
use crate::token::Normalization;

/// A BERT encoder: its transformer, the reduction of its output to an embedding, and its
/// tokenizer's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BertConfig {
    /// The sizes and settings of the transformer, which this struct dereferences to.
    pub transformer: Config,
    /// The pooling mode: the mean, or the first token.
    pub pooling: PoolingMode,
    /// True if the embedding is scaled to length 1.
    pub normalize: bool,
    /// True if the tokenizer converts text to lower case.
    pub do_lower_case: bool,
    /// True if the tokenizer strips accents; `None` means as `do_lower_case`.
    pub strip_accents: Option<bool>,
    /// True if the tokenizer treats each CJK ideograph as a word.
    pub split_ideographs: bool,
    /// The number of tokens of a text that are used, special tokens included; at most `positions`.
    pub max_tokens: usize,
    /// True if tokens were added to the vocabulary, so that a tokenizer without them returns wrong
    /// ids.
    pub has_added_tokens: bool,
    /// True if the model has a default prompt, so that texts without it get different vectors.
    pub has_default_prompt: bool,
}

impl Deref for BertConfig {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.transformer
    }
}

impl BertConfig {
    /// Every key that [`from_metadata`](Self::from_metadata) reads.
    pub const KEYS: [&'static str; 16] = [
        "num_layers",
        "num_attention_heads",
        "hidden_size",
        "intermediate_size",
        "max_position_emb",
        "vocab_size",
        "embedding_dim",
        "layer_norm_eps",
        "pooling",
        "normalize",
        "do_lower_case",
        "strip_accents",
        "split_ideographs",
        "max_tokens",
        "wordpiece_added_tokens",
        "default_prompt_name",
    ];

    /// The value of the key `pooling`.
    #[must_use]
    pub const fn pooling_name(&self) -> &'static str {
        match self.pooling {
            PoolingMode::First => "cls",
            _ => "mean",
        }
    }

    /// The reduction of hidden states to an embedding.
    #[must_use]
    pub fn embedding(&self) -> TextEmbedding {
        let Self { transformer, pooling, normalize, .. } = *self;
        TextEmbedding { width: transformer.hidden, pooling: pooling.into(), normalize }
    }

    /// The normalisation that the model's tokenizer applies to texts.
    #[must_use]
    pub const fn normalization(&self) -> Normalization {
        let usual = Normalization::new(self.do_lower_case, self.strip_accents);
        Normalization { split_ideographs: self.split_ideographs, ..usual }
    }

    /// Reads the sizes from metadata: `value` returns the value of a key.
    ///
    /// | key | default |
    /// |---|---|
    /// | `num_layers`, `num_attention_heads`, `hidden_size`, `intermediate_size`, `max_position_emb`, `vocab_size` | required |
    /// | `embedding_dim` | `hidden_size`, and must equal it |
    /// | `layer_norm_eps` | 1e-12 |
    /// | `pooling` | `mean` (or `cls`) |
    /// | `normalize`, `do_lower_case`, `split_ideographs` | `true` |
    /// | `strip_accents` | as `do_lower_case` |
    /// | `max_tokens` | 256; never more than `max_position_emb` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingMetadata`] or [`ErrorKind::BadMetadata`]; [`Self::key_at_fault`] returns
    /// the key.
    pub fn from_metadata<'m>(value: impl Fn(&str) -> Option<&'m str>) -> Result<Self> {
        Self::from_values(|key| value(key).map(Value::Text))
    }

    /// As [`from_metadata`](Self::from_metadata), from metadata with typed values: a string is
    /// parsed.
    ///
    /// # Errors
    ///
    /// As [`from_metadata`](Self::from_metadata).
    pub fn from_values<'m>(value: impl Fn(&str) -> Option<Value<'m>>) -> Result<Self> {
        Self::read(&value).map_err(|(_, kind)| Error::without_offset(kind))
    }

    /// The key at which [`from_metadata`](Self::from_metadata) fails, and the error.
    pub fn key_at_fault<'m>(
        value: impl Fn(&str) -> Option<&'m str>,
    ) -> Option<(&'static str, ErrorKind)> {
        Self::read(&|key| value(key).map(Value::Text)).err()
    }

    fn read<'m>(
        value: &dyn Fn(&str) -> Option<Value<'m>>,
    ) -> core::result::Result<Self, (&'static str, ErrorKind)> {
        let number = |key: &'static str, limit: Limit| {
            let number = match value(key).ok_or((key, ErrorKind::MissingMetadata))? {
                Value::Text(text) => text.trim_ascii().parse::<usize>().ok(),
                Value::Unsigned(number) => usize::try_from(number).ok(),
                Value::Signed(number) => usize::try_from(number).ok(),
                _ => None,
            };
            number.filter(|n| (1..=limit.most).contains(n)).ok_or((key, ErrorKind::BadMetadata))
        };
        let truth = |key: &'static str| match value(key) {
            None | Some(Value::Bool(true) | Value::Text("true" | "True" | "1")) => Ok(true),
            Some(Value::Bool(false) | Value::Text("false" | "False" | "0")) => Ok(false),
            Some(_) => Err((key, ErrorKind::BadMetadata)),
        };
        let hidden = number("hidden_size", Limit::SIZE)?;
        let heads = number("num_attention_heads", Limit::SIZE)?;
        if hidden.checked_rem(heads) != Some(0) {
            return Err(("num_attention_heads", ErrorKind::BadMetadata));
        }
        if value("embedding_dim").is_some() && number("embedding_dim", Limit::SIZE)? != hidden {
            return Err(("embedding_dim", ErrorKind::BadMetadata));
        }
        let positions = number("max_position_emb", Limit::SIZE)?;
        let max_tokens = match value("max_tokens") {
            None => 256,
            Some(_) => number("max_tokens", Limit::SIZE)?,
        };
        let pooling = match value("pooling") {
            None | Some(Value::Text("mean")) => PoolingMode::Mean,
            Some(Value::Text("cls")) => PoolingMode::First,
            Some(_) => return Err(("pooling", ErrorKind::BadMetadata)),
        };
        let head = hidden.checked_div(heads).unwrap_or(0);
        let transformer = Config {
            layers: number("num_layers", Limit::LAYERS)?,
            heads: Heads { query: heads, key_value: heads, size: head },
            hidden,
            intermediate: number("intermediate_size", Limit::SIZE)?,
            positions,
            vocabulary: number("vocab_size", Limit::SIZE)?,
            epsilon: epsilon(value("layer_norm_eps"))
                .ok_or(("layer_norm_eps", ErrorKind::BadMetadata))?,
            ..Config::BERT
        };
        Ok(Self {
            transformer,
            pooling,
            normalize: truth("normalize")?,
            do_lower_case: truth("do_lower_case")?,
            strip_accents: match value("strip_accents") {
                None => None,
                Some(_) => Some(truth("strip_accents")?),
            },
            split_ideographs: truth("split_ideographs")?,
            max_tokens: max_tokens.min(positions),
            has_added_tokens: value("wordpiece_added_tokens").is_some(),
            has_default_prompt: value("default_prompt_name").is_some(),
        })
    }
}

fn epsilon(value: Option<Value<'_>>) -> Option<f32> {
    let epsilon = match value {
        None => return Some(1e-12),
        Some(Value::Text(text)) => fraction(text.trim_ascii())?,
        #[allow(clippy::cast_possible_truncation)] // it is added to numbers of this precision
        Some(Value::Float(number)) => number as f32,
        Some(_) => return None,
    };
    (0.0..1.0).contains(&epsilon).then_some(epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINILM: [(&str, &str); 7] = [
        ("num_layers", "6"),
        ("num_attention_heads", "12"),
        ("hidden_size", "384"),
        ("intermediate_size", "1536"),
        ("max_position_emb", "512"),
        ("vocab_size", "30522"),
        ("embedding_dim", "384"),
    ];

    fn read(changes: &[(&str, Option<&'static str>)]) -> Result<BertConfig> {
        BertConfig::from_metadata(|key| {
            let changed = changes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
            changed.unwrap_or_else(|| MINILM.iter().find(|(name, _)| *name == key).map(|(_, v)| *v))
        })
    }

    #[test]
    fn only_known_keys_are_asked_for() {
        let answer = |key: &str| {
            assert!(BertConfig::KEYS.contains(&key), "{key}");
            MINILM.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
        };
        BertConfig::from_metadata(answer).unwrap();
    }

    #[test]
    fn the_required_keys_suffice() {
        let config = read(&[]).unwrap();
        assert_eq!((config.layers, config.head(), config.max_tokens), (6, 32, 256));
        assert_eq!((config.epsilon, config.pooling), (1e-12, PoolingMode::Mean));
        assert!(config.normalize && config.do_lower_case);
    }

    #[test]
    fn accents_and_ideographs_are_treated_as_the_model_says() {
        let usual = read(&[]).unwrap().normalization();
        assert!(usual.lower_case && usual.strip_accents && usual.split_ideographs);
        let own = [("strip_accents", Some("false")), ("split_ideographs", Some("false"))];
        let own = read(&own).unwrap().normalization();
        assert!(own.lower_case && !own.strip_accents && !own.split_ideographs);
    }

    #[test]
    fn each_required_key_is_missed() {
        for (key, _) in &MINILM[..6] {
            let error = read(&[(key, None)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::MissingMetadata, "{key}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (key, value) in [
            ("num_layers", "0"),
            ("num_layers", "99999"),
            ("hidden_size", "-384"),
            ("hidden_size", "18446744073709551616"),
            ("num_attention_heads", "7"),
            ("embedding_dim", "768"),
            ("vocab_size", "many"),
            ("layer_norm_eps", "nan"),
            ("layer_norm_eps", "-1e-12"),
            ("pooling", "max"),
            ("normalize", "maybe"),
            ("strip_accents", "some"),
            ("max_tokens", "0"),
        ] {
            let error = read(&[(key, Some(value))]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadMetadata, "{key}={value}");
        }
    }

    #[test]
    fn no_more_tokens_are_used_than_there_are_positions() {
        assert_eq!(read(&[("max_tokens", Some("1000"))]).unwrap().max_tokens, 512);
    }
}
