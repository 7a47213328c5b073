//! Byte-level BPE made of parts.

use std::borrow::Cow;

use nanoembed_core::model::llama::{BpeParts, BpeSource};
use nanoembed_core::owned::{BpeTokenizer, BytePairs};
use nanoembed_core::token::bpe::Pattern;
use nanoembed_core::token::{LengthPrefix, TextEnds};
use nanoembed_core::{Error as CoreError, ErrorKind};

pub(super) const BAD: CoreError = CoreError::without_offset(ErrorKind::BadVocabulary);

/// Parts of a byte-level BPE that no file stores in the form they are used in.
pub(super) struct Parts {
    pub(super) pattern: Pattern,
    pub(super) tokens: Vec<Vec<u8>>,
    pub(super) merges: Vec<(String, String)>,
    /// Ids of the added tokens, which a text spells literally.
    pub(super) added: Vec<u32>,
    /// True if a word of the vocabulary is one token whatever its merges make of it.
    pub(super) ignores_merges: bool,
    /// True if texts are normalised to Unicode NFC first.
    pub(super) composes: bool,
    pub(super) ends: TextEnds,
}

impl Parts {
    /// The tokenizer.
    pub(super) fn build(self) -> Result<BytePairs<'static>, CoreError> {
        let Self { pattern, tokens, merges, added, ignores_merges, composes, ends } = self;
        let mut entries = Vec::new();
        for token in &tokens {
            entries.extend(u32::try_from(token.len()).map_err(|_| BAD)?.to_le_bytes());
            entries.extend(token);
        }
        let merges: String =
            merges.iter().map(|(left, right)| format!("{left} {right}\n")).collect();
        let added: Vec<String> = added.iter().map(ToString::to_string).collect();
        let added = added.join(" ");
        let source = BpeSource::parts(&BpeParts {
            pattern,
            tokens: &entries,
            offset: 0,
            count: u32::try_from(tokens.len()).map_err(|_| BAD)?,
            prefix: LengthPrefix::U32,
            merges: &merges,
            added: &added,
            ignores_merges,
            composes,
            ends,
        });
        let bpe = BpeTokenizer::new(&source)?;
        Ok(BytePairs::over(Cow::Owned(entries), bpe))
    }
}
