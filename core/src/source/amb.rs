//! A model's sizes in the words of an AMB configuration.

use core::cell::Cell;

use super::spellings::put_around;
use crate::error::{Error, ErrorKind, Result};
use crate::event::SpecialRole;
use crate::format::amb::{Amb, AmbTokenizer};
use crate::model::config::{LlamaConfig, RopePairs};
use crate::text::decimal::decimal_or_nan;
use crate::text::json::{LexemeKind, Token};
use crate::token::{EndTokens, TextEnds};

/// The sizes of the decoder in an `.amb` file.
///
/// # Errors
///
/// As [`LlamaConfig::read`]; [`ErrorKind::DuplicateName`] for a member that is there twice and
/// [`ErrorKind::BadMetadata`] for an array or an object, where they stand.
#[inline(never)] // so that it has its stack to itself
pub fn amb_llama_config(amb: &Amb<'_>) -> Result<LlamaConfig> {
    read_amb_config(amb, |value| {
        LlamaConfig::read(|key| value(key).map(decimal_or_nan), RopePairs::Halves)
    })
}

/// The tokens around texts: the configuration's `add_bos` and `add_eos` say whether those of the
/// tokenizer section are put around every text, `end_tokens` which end one beside that of the
/// section.
///
/// # Errors
///
/// [`ErrorKind::DuplicateName`] for a member that is there twice; [`ErrorKind::BadMetadata`] if one
/// is neither true nor false; [`ErrorKind::BadVocabulary`] if something else stands in the place of
/// ids, if the section has no token that is put around texts, or if more tokens end texts than in
/// any model.
pub fn amb_text_ends(amb: &Amb<'_>, tokenizer: &AmbTokenizer<'_>) -> Result<TextEnds> {
    let [classify, separate] =
        [SpecialRole::Classify, SpecialRole::Separate].map(|role| tokenizer.special(role));
    let mut end = EndTokens::NONE;
    separate.map_or(Ok(()), |id| end.push(id))?;
    amb_ids(amb, "end_tokens")?.try_for_each(|id| end.push(id?))?;
    let put = |member: &str, id: Option<u32>| {
        let Some(token) = amb.config_value(member)? else { return Ok(None) };
        let says = match token.kind {
            LexemeKind::Bool(truth) => Some(truth),
            LexemeKind::Null => Some(false),
            _ => None,
        };
        put_around(id, says, token.offset)
    };
    Ok(TextEnds { begin: put("add_bos", classify)?, append: put("add_eos", separate)?, end })
}

/// The ids in an array that is a member of the configuration; none where it is missing or null.
pub(super) fn amb_ids(amb: &Amb<'_>, member: &str) -> Result<impl Iterator<Item = Result<u32>>> {
    let bad = |token: &Token<'_>| Error::new(token.offset, ErrorKind::BadVocabulary);
    if let Some(token) = amb.config_value(member)?
        && !matches!(token.kind, LexemeKind::BeginArray | LexemeKind::Null)
    {
        return Err(bad(&token));
    }
    let elements = amb.config_elements(member);
    Ok(elements.map(move |token| token.spelling.parse().map_err(|_| bad(&token))))
}

/// The member that a configuration has for a key.
pub(super) fn amb_member(key: &str) -> &str {
    match key {
        "num_layers" => "n_layers",
        "num_attention_heads" => "n_heads",
        "hidden_size" | "embedding_dim" => "n_embd",
        "vocab_size" => "n_vocab",
        "max_position_emb" => "max_seq_len",
        other => other,
    }
}

/// The value that an `.amb` file's configuration has for a key of
/// [`BertConfig::from_metadata`](crate::describe::BertConfig::from_metadata).
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
    amb_spelling(amb, key).ok().flatten()
}

/// The same, with what is wrong with a member; `None` where it is missing or null.
///
/// # Errors
///
/// [`ErrorKind::DuplicateName`] for a member that is there twice; [`ErrorKind::BadMetadata`] for an
/// array or an object.
pub(super) fn amb_spelling<'a>(amb: &Amb<'a>, key: &str) -> Result<Option<&'a str>> {
    let Some(token) = amb.config_value(amb_member(key))? else { return Ok(None) };
    match token.kind {
        LexemeKind::Null => Ok(None),
        LexemeKind::String | LexemeKind::Number | LexemeKind::Bool(_) => Ok(Some(token.spelling)),
        _ => Err(Error::new(token.offset, ErrorKind::BadMetadata)),
    }
}

/// The result of `read`, which asks the configuration for its members.
///
/// # Errors
///
/// Errors of a member that was asked for; the error of `read`.
pub(super) fn read_amb_config<'a, T>(
    amb: &Amb<'a>,
    read: impl FnOnce(&dyn Fn(&str) -> Option<&'a str>) -> Result<T>,
) -> Result<T> {
    let fault = Cell::new(None);
    let found = read(&|key| {
        amb_spelling(amb, key).unwrap_or_else(|error| {
            fault.set(Some(error));
            None
        })
    });
    fault.get().map_or(found, Err)
}
