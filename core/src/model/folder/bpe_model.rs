//! The member `model` of a `tokenizer.json` that merges pairs, byte-level or over characters.

use super::tokenizer_root::check_whole_vocabulary;
use crate::text::json::{Object, Read};

/// Only these are done.
const ONLY: &str =
    "only what RoBERTa's, ModernBERT's, Qwen's and Gemma's tokenizers do is done without a heap";

/// What the model says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BpeModel {
    /// Whether a character without a token becomes the tokens of its bytes: otherwise the text is
    /// bytes from the start.
    pub(crate) byte_fallback: bool,
    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub(crate) ignores_merges: bool,
    /// How many merges there are.
    pub(crate) merges: u64,
}

impl BpeModel {
    /// Reads it, of a vocabulary of `tokens`.
    pub(crate) fn read<'a>(root: &Object<'a>, tokens: u32) -> Read<'a, Self> {
        let model = root.needed("model", root.object("model")?)?;
        model.text("type")?;
        model.neutral("dropout", ONLY, |dropout| dropout.as_f64() == Some(0.0))?;
        for name in ["continuing_subword_prefix", "end_of_word_suffix"] {
            model.neutral(name, ONLY, |it| it.is_text(""))?;
        }
        let byte_fallback = model.truth("byte_fallback")?.unwrap_or(false);
        let ignores_merges = model.truth("ignore_merges")?.unwrap_or(false);
        let merges = model.needed("merges", model.integer("merges")?)?;
        check_whole_vocabulary(&model, tokens)?;
        // Every byte has a token, which is checked where tokens are: nothing is unknown.
        model.finish(&["unk_token", "fuse_unk"])?;
        Ok(Self { byte_fallback, ignores_merges, merges })
    }
}
