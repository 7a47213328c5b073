//! A byte-level BPE tokenizer, as RoBERTa, ModernBERT and Qwen have it: perhaps Unicode's form NFC,
//! then words by a pattern that is known.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model;
use super::ends::Ends;
use crate::text::json::Read;
use crate::token::bpe;
use crate::token::spec::{
    AddedTokens, Behavior, Bpe, Form, Normalizer, PRE_TOKENIZER, PreTokenizer, SplitAt, Step,
    TokenizerSpec,
};

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
        let mut composes = false;
        for step in &spec.normalizer {
            if !matches!(step.does, Normalizer::Form(Form::Nfc)) {
                return Err(step.unsupported(ONLY));
            }
            composes = true;
        }
        Ok(Self {
            added: spec.added,
            composes,
            pattern: pattern(spec)?,
            ignores_merges: bpe.ignores_merges,
            merges,
            ends: Ends::from_spec(spec)?,
        })
    }
}

/// How texts are cut into words.
fn pattern<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, bpe::Pattern> {
    let (mut pattern, mut is_bytes) = (None, false);
    for step in &spec.pre_tokenizer {
        match step.does {
            PreTokenizer::Split { at, behavior, inverted } if pattern.is_none() && !is_bytes => {
                pattern = Some(words(step, at, behavior, inverted)?);
            }
            PreTokenizer::ByteLevel { adds_space: true, .. } if !is_bytes => {
                return Err(step.place.unsupported(&["add_prefix_space"], ONLY));
            }
            PreTokenizer::ByteLevel { splits, .. } if !is_bytes => {
                is_bytes = true;
                match (splits, pattern) {
                    (true, None) => pattern = Some(bpe::Pattern::Gpt2),
                    (false, Some(_)) => {}
                    _ => return Err(step.place.unsupported(&["use_regex"], ONLY)),
                }
            }
            _ => return Err(step.unsupported(ONLY)),
        }
    }
    let none = spec.place.unsupported(&[PRE_TOKENIZER], ONLY);
    pattern.filter(|_| is_bytes).ok_or(none)
}

/// The words of a step `Split`, whose expression every character is part of.
fn words<'a>(
    step: &Step<'a, PreTokenizer<'a>>,
    at: SplitAt<'a>,
    behavior: Behavior,
    inverted: bool,
) -> Read<'a, bpe::Pattern> {
    if behavior != Behavior::Isolated {
        return Err(step.place.unsupported(&["behavior"], ONLY));
    }
    if inverted {
        return Err(step.place.unsupported(&["invert"], ONLY));
    }
    match at {
        SplitAt::Words(words) => Ok(words),
        SplitAt::Pattern(_) => {
            let only = "no such expression is known";
            Err(step.place.unsupported(&["pattern", "Regex"], only))
        }
    }
}
