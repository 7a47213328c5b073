//! A model's sizes in the words of an AMB configuration.

use crate::error::{Error, ErrorKind, Result};
use crate::event::SpecialRole;
use crate::format::amb::{Amb, Tokenizer};
use crate::model::config::{LlamaConfig, RopePairs};
use crate::text::decimal::decimal;
use crate::text::json::Kind;
use crate::token::{EndTokens, TextEnds};

/// The sizes of the decoder in an `.amb` file.
///
/// # Errors
///
/// As [`LlamaConfig::read`].
#[inline(never)] // so that it has its stack to itself
pub fn amb_llama_config(amb: &Amb<'_>) -> Result<LlamaConfig> {
    LlamaConfig::read(|key| amb_config_value(amb, key).and_then(decimal), RopePairs::Halves)
}

/// The tokens around texts: the configuration's `add_bos` and `add_eos` say whether those of the
/// tokenizer section are put around every text, `end_tokens` which end one beside that of the
/// section.
///
/// # Errors
///
/// [`ErrorKind::BadVocabulary`] if more tokens end texts than in
/// any model.
pub fn amb_text_ends(amb: &Amb<'_>, tokenizer: &Tokenizer<'_>) -> Result<TextEnds> {
    let is_set = |member: &str| {
        let value = amb.config_value(member).ok().flatten();
        value.is_some_and(|token| token.kind == Kind::Bool(true))
    };
    let mut end = EndTokens::NONE;
    let usual = tokenizer.special(SpecialRole::Separate);
    usual.map_or(Ok(()), |id| end.push(id))?;
    let further = amb.config_elements("end_tokens");
    further.filter_map(|id| id.spelling.parse().ok()).try_for_each(|id| end.push(id))?;
    Ok(TextEnds {
        begin: tokenizer.special(SpecialRole::Classify).filter(|_| is_set("add_bos")),
        append: usual.filter(|_| is_set("add_eos")),
        end,
    })
}

/// The ids of the tokens that are found in a text as they are: the configuration's `added_tokens`.
pub(super) fn amb_added_tokens(amb: &Amb<'_>) -> impl Iterator<Item = Result<u32>> {
    amb.config_elements("added_tokens").map(|token| {
        let bad = |_| Error::new(token.offset, ErrorKind::BadVocabulary);
        token.spelling.parse().map_err(bad)
    })
}

/// What an `.amb` file's configuration answers to a key of
/// [`BertConfig::from_metadata`](crate::model::BertConfig::from_metadata).
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
/// Numbers, truth values and strings are given as they are spelled. A member that is there twice is
/// not there.
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
