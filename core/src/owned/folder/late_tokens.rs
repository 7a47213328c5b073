//! The tokens of texts in a model for late interaction, with memory of their own.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult};
use crate::describe::folder::{
    Expansion, LateInteraction, LateOrigin, MASK_TOKENS, PUNCTUATION, SideTokens, Skipped,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{push, spelled};
use crate::owned::Pipeline;
use crate::text::json::{Fault, Value, chars};

/// The tokens of texts in a model for late interaction: see [`LateInteraction`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateTokens {
    /// The tokens of texts that ask.
    pub query: LateSideTokens,
    /// The tokens of texts that answer.
    pub document: LateSideTokens,
    /// The tokens that queries are filled up with, whose vectors count.
    pub expansion: Option<LateExpansion>,
    /// The tokens whose vectors are left out on the sides that skip them.
    pub skipped: Vec<String>,
    /// The files that state all this.
    pub origin: LateOrigin,
}

/// The tokens of texts on one side: see [`SideTokens`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateSideTokens {
    /// The token that is put after the first one; none if empty.
    pub prefix: String,
    /// The number of tokens that are used, if stated.
    pub length: Option<usize>,
    /// True if the vectors of skipped tokens are left out.
    pub skips: bool,
}

/// The tokens that short queries are filled up with: see
/// [`Expansion`](crate::describe::folder::Expansion).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateExpansion {
    /// The number of tokens that a query has at least.
    pub length: usize,
    /// True if the tokens are attended to.
    pub is_attended: bool,
    /// The token; the tokenizer's mask token if `None`.
    pub token: Option<String>,
}

impl LateSideTokens {
    fn from_described(described: SideTokens<'_>) -> Result<Self> {
        let SideTokens { prefix, length, skips, .. } = described;
        Ok(Self { prefix: spelled(chars(prefix))?, length, skips })
    }
}

impl LateExpansion {
    /// The id of the token.
    pub(in crate::owned) fn id(&self, pipeline: &Pipeline) -> Option<u32> {
        match &self.token {
            Some(token) => pipeline.id(token),
            None => MASK_TOKENS.iter().find_map(|token| pipeline.id(token)),
        }
    }
}

impl LateTokens {
    pub(super) fn from_described(described: &LateInteraction<'_>) -> Result<Self> {
        let mut skipped = Vec::new();
        match &described.skipped {
            Skipped::Listed(words) => {
                for word in words.iter().flat_map(Value::items) {
                    let word = spelled(chars(word.as_text().unwrap_or_default()))?;
                    push(&mut skipped, word)?;
                }
            }
            Skipped::Punctuation => {
                for mark in PUNCTUATION.chars() {
                    push(&mut skipped, spelled([mark])?)?;
                }
            }
        }
        let expansion = match described.expansion {
            Some(Expansion { length, is_attended, token, .. }) => {
                let token = token.map(|token| spelled(chars(token))).transpose()?;
                Some(LateExpansion { length, is_attended, token })
            }
            None => None,
        };
        Ok(Self {
            query: LateSideTokens::from_described(described.query)?,
            document: LateSideTokens::from_described(described.document)?,
            expansion,
            skipped,
            origin: described.origin,
        })
    }

    /// The largest number of tokens on either side, in a model that takes `limit` where nothing is
    /// stated.
    pub(super) fn most_tokens(&self, limit: usize) -> usize {
        let most = |side: &LateSideTokens| side.length.unwrap_or(limit);
        most(&self.query).max(most(&self.document))
    }

    /// Rejects a tokenizer without the tokens that are put before texts and that queries are filled
    /// up with.
    pub(super) fn check(&self, pipeline: &Pipeline) -> FolderResult<()> {
        let lacks =
            |side: &LateSideTokens| !side.prefix.is_empty() && pipeline.id(&side.prefix).is_none();
        let expands = |expansion: &LateExpansion| expansion.id(pipeline).is_none();
        let (file, [query, document, expansion]) = self.origin.settings();
        let key = match () {
            () if lacks(&self.query) => query,
            () if lacks(&self.document) => document,
            () if self.expansion.as_ref().is_some_and(expands) => expansion,
            () => return Ok(()),
        };
        let error = Error::without_offset(ErrorKind::UnsupportedSetting);
        let only = "the tokenizer has no such token";
        Err(FolderFault::new(file, Fault { error, key, only }))
    }
}
