//! A byte-level BPE tokenizer, as RoBERTa, ModernBERT and Qwen have it: perhaps Unicode's form NFC,
//! then words by a pattern that is known.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model;
use super::ends::Ends;
use crate::text::json::Read;
use crate::token::bpe;
use crate::token::spec::{AddedTokens, Bpe, TokenizerSpec};

/// Only these are done.
const ONLY: &str =
    "only what RoBERTa's, ModernBERT's and Qwen's tokenizers do is done without a heap";

/// What the description says.
#[derive(Clone, Debug)]
pub(crate) struct PairSettings<'a> {
    pub(crate) added: AddedTokens<'a>,
    /// Whether texts are brought into Unicode's form NFC.
    pub(crate) composes: bool,
    pub(crate) pattern: bpe::Pattern,
    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub(crate) ignores_merges: bool,
    /// How many merges there are.
    pub(crate) merges: u64,
    pub(crate) ends: Ends,
}

impl<'a> PairSettings<'a> {
    /// Those of a description with this model over `tokens`.
    pub(crate) fn from_spec(
        spec: &TokenizerSpec<'a>,
        bpe: &Bpe<'a>,
        tokens: u32,
    ) -> Read<'a, Self> {
        let merges = bpe_model::check(&spec.model, bpe, tokens)?;
        let (composes, pattern) = (spec.composes(ONLY)?, spec.byte_level_words(ONLY)?);
        Ok(Self {
            added: spec.added,
            composes,
            pattern,
            ignores_merges: bpe.ignores_merges,
            merges,
            ends: Ends::from_spec(spec)?,
        })
    }
}
