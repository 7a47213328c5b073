//! The tokens of texts in a model for late interaction, with memory of their own.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult};
use crate::describe::folder::{
    CONFIG_SENTENCE_TRANSFORMERS, LateInteraction, MASK_TOKENS, PUNCTUATION,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{push, spelled};
use crate::owned::Pipeline;
use crate::text::json::{Fault, chars};

/// The tokens of texts in a model for late interaction: see [`LateInteraction`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateTokens {
    /// The token that is put after the first one of a query; none if empty.
    pub query_prefix: String,
    /// The same for a document.
    pub document_prefix: String,
    /// The number of tokens of a query.
    pub query_length: usize,
    /// The number of tokens of a document that are used.
    pub document_length: usize,
    /// True if queries are filled up with mask tokens, whose vectors count.
    pub expands_queries: bool,
    /// True if these tokens are attended to.
    pub attends_to_expansion: bool,
    /// The tokens of documents whose vectors are left out.
    pub skipped: Vec<String>,
}

impl LateTokens {
    pub(super) fn from_described(described: &LateInteraction<'_>) -> Result<Self> {
        let mut skipped = Vec::new();
        match &described.skipped {
            Some(words) => {
                for word in words.items() {
                    let word = spelled(chars(word.as_text().unwrap_or_default()))?;
                    push(&mut skipped, word)?;
                }
            }
            None => {
                for mark in PUNCTUATION.chars() {
                    push(&mut skipped, spelled([mark])?)?;
                }
            }
        }
        Ok(Self {
            query_prefix: spelled(chars(described.query_prefix))?,
            document_prefix: spelled(chars(described.document_prefix))?,
            query_length: described.query_length,
            document_length: described.document_length,
            expands_queries: described.expands_queries,
            attends_to_expansion: described.attends_to_expansion,
            skipped,
        })
    }

    /// The mask token of a tokenizer, which queries are filled up with.
    pub(in crate::owned) fn mask(pipeline: &Pipeline) -> Option<u32> {
        MASK_TOKENS.iter().find_map(|token| pipeline.id(token))
    }

    /// Rejects a tokenizer without the tokens that are put before texts and that queries are filled
    /// up with.
    pub(super) fn check(&self, pipeline: &Pipeline) -> FolderResult<()> {
        let lacks = |token: &str| !token.is_empty() && pipeline.id(token).is_none();
        let key = if lacks(&self.query_prefix) {
            "query_prefix"
        } else if lacks(&self.document_prefix) {
            "document_prefix"
        } else if self.expands_queries && Self::mask(pipeline).is_none() {
            "do_query_expansion"
        } else {
            return Ok(());
        };
        let error = Error::without_offset(ErrorKind::UnsupportedSetting);
        let only = "the tokenizer has no such token";
        Err(FolderFault::new(CONFIG_SENTENCE_TRANSFORMERS, Fault { error, key, only }))
    }
}
