//! A model's sizes in the words of an AMB configuration.

use super::llama::{LlamaConfig, RopePairs};
use crate::error::Result;
use crate::event::SpecialRole;
use crate::format::amb::{Amb, Tokenizer};
use crate::text::decimal::decimal;
use crate::text::json::Kind;

/// The sizes of the decoder in an `.amb` file.
///
/// # Errors
///
/// As [`LlamaConfig::read`].
pub fn amb_llama_config(amb: &Amb<'_>) -> Result<LlamaConfig> {
    LlamaConfig::read(|key| amb_config_value(amb, key).and_then(decimal), RopePairs::Halves)
}

/// The token that begins every text, if the configuration's `add_bos` says so, and the one that ends a text.
pub(super) fn amb_text_ends(amb: &Amb<'_>, tokenizer: &Tokenizer<'_>) -> [Option<u32>; 2] {
    let adds = amb.config_value("add_bos").ok().flatten();
    let adds_begin = adds.is_some_and(|token| token.kind == Kind::Bool(true));
    let begin = tokenizer.special(SpecialRole::Classify).filter(|_| adds_begin);
    [begin, tokenizer.special(SpecialRole::Separate)]
}

/// The ids of the tokens that are found in a text as they are: the configuration's `added_tokens`.
pub(super) fn amb_added_tokens(amb: &Amb<'_>) -> impl Iterator<Item = u32> {
    amb.config_elements("added_tokens").filter_map(|token| token.spelling.parse().ok())
}

/// What an `.amb` file's configuration answers to a key of [`BertConfig::from_metadata`](super::BertConfig::from_metadata).
///
/// | key | member |
/// |---|---|
/// | `num_layers` | `n_layers` |
/// | `num_attention_heads` | `n_heads` |
/// | `hidden_size`, `embedding_dim` | `n_embd` |
/// | `vocab_size` | `n_vocab` |
/// | `max_position_emb` | `max_seq_len` |
/// | all others | of the same name |
///
/// Numbers, truth values and strings are given as they are spelled. A member that is there twice is not there.
#[must_use]
pub fn amb_config_value<'a>(amb: &Amb<'a>, key: &str) -> Option<&'a str> {
    let member = match key {
        "num_layers" => "n_layers",
        "num_attention_heads" => "n_heads",
        "hidden_size" | "embedding_dim" => "n_embd",
        "vocab_size" => "n_vocab",
        "max_position_emb" => "max_seq_len",
        other => other,
    };
    let token = amb.config_value(member).ok().flatten()?;
    let is_scalar = matches!(token.kind, Kind::String | Kind::Number | Kind::Bool(_));
    is_scalar.then_some(token.spelling)
}
