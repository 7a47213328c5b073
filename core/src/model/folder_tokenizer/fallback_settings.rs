//! A BPE tokenizer over characters with byte fallback, as Gemma has it: spaces become a mark, and
//! the text is merged as a whole.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model;
use super::ends::Ends;
use crate::text::json::Read;
use crate::token::spec::{
    AddedTokens, Bpe, Normalizer, Pattern, PreTokenizer, SplitAt, TokenizerSpec,
};

/// Only these are done.
const ONLY: &str = "only what Gemma's tokenizers do is done without a heap";

/// What the description says.
#[derive(Clone, Debug)]
pub(crate) struct FallbackSettings<'a> {
    pub(crate) added: AddedTokens<'a>,
    /// What spaces become.
    pub(crate) mark: char,
    /// How many merges there are.
    pub(crate) merges: u64,
    pub(crate) ends: Ends,
}

impl<'a> FallbackSettings<'a> {
    /// Those of a description with this model over `tokens`.
    pub(crate) fn from_spec(
        spec: &TokenizerSpec<'a>,
        bpe: &Bpe<'a>,
        tokens: u32,
    ) -> Read<'a, Self> {
        if bpe.ignores_merges {
            return Err(spec.model.place.unsupported(&["ignore_merges"], ONLY));
        }
        let merges = bpe_model::check(&spec.model, bpe, tokens)?;
        let mark = normalizer(spec)?;
        pre_tokenizer(spec)?;
        Ok(Self { added: spec.added, mark, merges, ends: Ends::from_spec(spec)? })
    }
}

/// The character that spaces become.
fn normalizer<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, char> {
    let mut mark = None;
    for step in &spec.normalizer {
        let Normalizer::Replace(replace) = step.does else { return Err(step.unsupported(ONLY)) };
        if mark.is_some() {
            return Err(step.unsupported(ONLY));
        }
        if !is_space(replace.pattern) {
            return Err(step.place.unsupported(&["pattern", "String"], ONLY));
        }
        let content = replace.content.character();
        mark = Some(content.ok_or(step.place.unsupported(&["content"], ONLY))?);
    }
    let none = spec.place.unsupported(&["normalizer"], ONLY);
    mark.filter(|mark| *mark != ' ').ok_or(none)
}

/// Checks that texts are cut at spaces alone, of which none are left.
fn pre_tokenizer<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, ()> {
    for step in &spec.pre_tokenizer {
        // What becomes of spaces that there are not does not matter.
        let PreTokenizer::Split { at, inverted, .. } = step.does else {
            return Err(step.unsupported(ONLY));
        };
        if !matches!(at, SplitAt::Pattern(pattern) if is_space(pattern)) {
            return Err(step.place.unsupported(&["pattern", "String"], ONLY));
        }
        if inverted {
            return Err(step.place.unsupported(&["invert"], ONLY));
        }
    }
    Ok(())
}

fn is_space(pattern: Pattern<'_>) -> bool {
    matches!(pattern, Pattern::Text(text) if text.is(" "))
}
