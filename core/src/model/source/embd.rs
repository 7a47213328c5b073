//! A decoder in a `.weights` file: its sizes in the words of EMBD's metadata.

use crate::error::Result;
use crate::format::embd::Embd;
use crate::model::config::{LlamaConfig, RopePairs};
use crate::text::decimal::decimal;
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

/// Whether a `.weights` file says that it holds a decoder: see [`embd_names_decoder`].
#[must_use]
pub fn embd_is_decoder(file: &Embd<'_>) -> bool {
    file.metadata_value("architecture").is_some_and(embd_names_decoder)
}

/// Whether this value of the metadata's `architecture` is that of a decoder: `llama`, `phi`,
/// `qwen3` or `gemma3`.
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
    let number = |member: &str| file.metadata_value(embd_key(member)).and_then(decimal);
    LlamaConfig::read(number, RopePairs::Halves)
}

/// The tokens around texts: `bos_token_id` and `eos_token_id` are put around every text if
/// `add_bos` and `add_eos` say so; `eos_token_id` and `end_tokens`, ids with spaces between, end
/// one.
///
/// # Errors
///
/// [`ErrorKind::BadVocabulary`](crate::ErrorKind::BadVocabulary) if more tokens end texts than in
/// any model.
pub fn embd_text_ends(file: &Embd<'_>) -> Result<TextEnds> {
    let id = |key| file.metadata_value(key)?.parse().ok();
    let is_set = |key| file.metadata_value(key) == Some("true");
    let mut end = EndTokens::NONE;
    let usual = id("eos_token_id");
    usual.map_or(Ok(()), |id| end.push(id))?;
    let mut further = file.metadata_value("end_tokens");
    while let Some(ids) = further {
        let (first, behind) = ids.split_once(' ').map_or((ids, None), |(a, b)| (a, Some(b)));
        first.parse().map_or(Ok(()), |id| end.push(id))?;
        further = behind;
    }
    Ok(TextEnds {
        begin: id("bos_token_id").filter(|_| is_set("add_bos")),
        append: usual.filter(|_| is_set("add_eos")),
        end,
    })
}
