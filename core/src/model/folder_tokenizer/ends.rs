//! The tokens around a text: at most one before it and one after it.

use crate::text::json::Read;
use crate::token::spec::TokenizerSpec;

const POST: &str = "post_processor";
const ONLY: &str = "one token before texts and one behind them are done without a heap";

/// The ids of the tokens around texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) before: Option<u32>,
    pub(crate) behind: Option<u32>,
}

impl Ends {
    /// Those of a description.
    pub(super) fn from_spec<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, Self> {
        let many = spec.place.unsupported(&[POST, "single"], ONLY);
        let ends = spec.post_processor.ends().ok_or(many)?;
        let [before, behind] = ends.map(|token| token.map(|token| token.id));
        Ok(Self { before, behind })
    }

    /// Both ids.
    pub(super) fn both<'a>(self, spec: &TokenizerSpec<'a>) -> Read<'a, [u32; 2]> {
        let both = self.before.zip(self.behind).map(|(before, behind)| [before, behind]);
        both.ok_or(spec.place.unsupported(&[POST], ONLY))
    }
}
