//! A decoder in a `.weights` file: its sizes in the words of EMBD's metadata.

use super::spellings::{listed_ids, put_around, truth};
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::Embd;
use crate::model::config::{LlamaConfig, RopePairs};
use crate::text::decimal::decimal_or_nan;
use crate::token::{EndTokens, TextEnds};

/// The members of an AMB configuration that `.weights` files have under another key, as
/// [`BertConfig`](crate::model::BertConfig) or Hugging Face calls them; all others are called alike.
const KEYS: [(&str, &str); 7] = [
    ("n_vocab", "vocab_size"),
    ("n_embd", "hidden_size"),
    ("n_layers", "num_layers"),
    ("n_heads", "num_attention_heads"),
    ("n_kv_heads", "num_key_value_heads"),
    ("max_seq_len", "max_position_emb"),
    ("rope_freq_base", "rope_theta"),
];

/// The key of a `.weights` file's metadata that says what this member of an AMB configuration does.
#[must_use]
pub fn embd_key(member: &str) -> &str {
    KEYS.iter().find(|(known, _)| *known == member).map_or(member, |(_, key)| key)
}

/// Returns true if a `.weights` file says that it holds a decoder: see [`embd_names_decoder`].
#[must_use]
pub fn embd_is_decoder(file: &Embd<'_>) -> bool {
    file.metadata_value("architecture").is_some_and(embd_names_decoder)
}

/// Returns true if this value of the metadata's `architecture` is that of a decoder: `llama`,
/// `phi`, `qwen3` or `gemma3`.
#[must_use]
pub fn embd_names_decoder(architecture: &str) -> bool {
    matches!(architecture, "llama" | "phi" | "qwen3" | "gemma3")
}

/// The sizes of the decoder in a `.weights` file, from its metadata; see [`embd_key`].
///
/// # Errors
///
/// As [`LlamaConfig::read`].
pub fn embd_llama_config(file: &Embd<'_>) -> Result<LlamaConfig> {
    let number = |member: &str| file.metadata_value(embd_key(member)).map(decimal_or_nan);
    LlamaConfig::read(number, RopePairs::Halves)
}

/// The tokens around texts: `bos_token_id` and `eos_token_id` are put around every text if
/// `add_bos` and `add_eos` say so; `eos_token_id` and `end_tokens`, ids with spaces between, end
/// one.
///
/// # Errors
///
/// [`ErrorKind::BadMetadata`] if one of them is neither true nor false;
/// [`ErrorKind::BadVocabulary`] if something else stands in the place of ids, if there is none for
/// a token that is put around texts, or if more tokens end texts than in any model.
pub fn embd_text_ends(file: &Embd<'_>) -> Result<TextEnds> {
    let (begin, usual) = (id(file, "bos_token_id")?, id(file, "eos_token_id")?);
    let mut end = EndTokens::NONE;
    usual.map_or(Ok(()), |id| end.push(id))?;
    let further = file.metadata_value("end_tokens").unwrap_or_default();
    listed_ids(further).try_for_each(|id| end.push(id?))?;
    let put = |key, id| match file.metadata_entry(key) {
        Some((offset, says)) => put_around(id, truth(says), offset),
        None => Ok(None),
    };
    Ok(TextEnds { begin: put("add_bos", begin)?, append: put("add_eos", usual)?, end })
}

/// The id that a key has.
fn id(file: &Embd<'_>, key: &str) -> Result<Option<u32>> {
    let Some((offset, id)) = file.metadata_entry(key) else { return Ok(None) };
    id.parse().map(Some).map_err(|_| Error::new(offset, ErrorKind::BadVocabulary))
}
