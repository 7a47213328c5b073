//! Tokenizers that merge pairs: byte-level ones, as RoBERTa, ModernBERT and Qwen have them, and those
//! over characters with byte fallback, as Gemma has them.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use crate::error::ErrorKind;
use crate::source::word_pieces::settings::check_vocabulary;
use crate::text::json::Read;
use crate::token::bpe;
use crate::token::spec::{BpeSpec, MergesSpec, Model, TokenizerSpec};

/// The reason for refusing other models.
const ONLY: &str =
    "only what RoBERTa's, ModernBERT's, Qwen's and Gemma's tokenizers do is done without a heap";
/// The reason for refusing other steps beside bytes.
const ONLY_BYTES: &str =
    "only what RoBERTa's, ModernBERT's and Qwen's tokenizers do is done without a heap";
/// The reason for refusing other steps beside characters.
const ONLY_GEMMA: &str = "only what Gemma's tokenizers do is done without a heap";

/// The settings of a tokenizer that merges pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BpeSettings {
    /// Of bytes.
    Bytes {
        /// True if texts are brought into Unicode's form NFC.
        composes: bool,
        /// How texts are cut into words.
        pattern: bpe::Pattern,
        /// True if a word of the vocabulary is one token, whatever the merges make of it.
        ignores_merges: bool,
    },
    /// Of characters, or the bytes of those without a token. Texts are merged as a whole.
    Characters {
        /// The character that spaces become.
        mark: char,
    },
}

impl BpeSettings {
    /// The settings of a description with this model over `tokens`, and the number of its merges.
    pub(crate) fn from_spec<'a>(
        spec: &TokenizerSpec<'a>,
        bpe: &BpeSpec<'a>,
        tokens: u32,
    ) -> Read<'a, (Self, u64)> {
        let ignores_merges = bpe.ignores_merges;
        if bpe.byte_fallback && ignores_merges {
            return Err(spec.model.place.unsupported(&["ignore_merges"], ONLY_GEMMA));
        }
        let merges = check(&spec.model, bpe, tokens)?;
        let settings = if bpe.byte_fallback {
            let mark = spec.space_mark(ONLY_GEMMA)?;
            spec.check_cuts_at_spaces(ONLY_GEMMA)?;
            Self::Characters { mark }
        } else {
            let composes = spec.composes(ONLY_BYTES)?;
            let pattern = spec.byte_level_words(ONLY_BYTES)?;
            Self::Bytes { composes, pattern, ignores_merges }
        };
        Ok((settings, merges))
    }

    /// True if texts are brought into Unicode's form NFC.
    pub(super) const fn composes(&self) -> bool {
        matches!(self, Self::Bytes { composes: true, .. })
    }
}

/// Checks the settings of a model over `tokens`; returns the number of its merges. Every byte has a
/// token, which is checked where tokens are: nothing is unknown.
fn check<'a>(model: &Model<'a>, bpe: &BpeSpec<'a>, tokens: u32) -> Read<'a, u64> {
    for (name, affix) in
        [("continuing_subword_prefix", bpe.prefix), ("end_of_word_suffix", bpe.suffix)]
    {
        if !affix.is_empty() {
            return Err(model.place.unsupported(&[name], ONLY));
        }
    }
    check_vocabulary(model, tokens)?;
    match bpe.merges {
        MergesSpec::Apart(merges) => Ok(merges),
        MergesSpec::Listed(_) => {
            Err(model.place.fault(&["merges"], ErrorKind::BadMetadata, "their number is needed"))
        }
    }
}
