//! A BPE tokenizer over characters with byte fallback, as Gemma has it: spaces become a mark, and
//! the text is merged as a whole.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model;
use super::ends::Ends;
use crate::text::json::Read;
use crate::token::spec::{AddedTokens, Bpe, TokenizerSpec};

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
        let mark = spec.space_mark(ONLY)?;
        spec.check_cuts_at_spaces(ONLY)?;
        Ok(Self { added: spec.added, mark, merges, ends: Ends::from_spec(spec)? })
    }
}
