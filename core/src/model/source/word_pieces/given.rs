//! The added tokens that a file gives.

#[cfg(feature = "folder-models")]
use super::in_json::TokenInJson;
use crate::error::Result;
#[cfg(feature = "folder-models")]
use crate::text::json::Value;
use crate::token::AddedRules;
#[cfg(feature = "folder-models")]
use crate::token::Vocabulary;
use crate::token::added_list::{ListedToken, listed_tokens};

/// Where the file says which tokens were added to the vocabulary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Added<'a> {
    /// The value of [`ADDED_TOKENS`](crate::token::added_list::ADDED_TOKENS).
    Listed(&'a str),
    /// A list of JSON, which has all of them, those with a role too.
    #[cfg(feature = "folder-models")]
    InJson(Value<'a>),
}

/// A token that was added.
pub(super) struct AddedOne<'s> {
    pub(super) id: u32,
    pub(super) rules: AddedRules,
    pub(super) normalized: bool,
    pub(super) spelling: &'s mut dyn Iterator<Item = Result<char>>,
}

impl<'a> Added<'a> {
    /// Calls `take` with each token, until one is damaged.
    pub(super) fn each(&self, take: &mut dyn FnMut(AddedOne<'_>) -> Result<()>) -> Result<()> {
        match self {
            Self::Listed(list) => listed_tokens(list).try_for_each(|token| {
                let ListedToken { id, rules, normalized, mut spelling } = token?;
                take(AddedOne { id, rules, normalized, spelling: &mut spelling })
            }),
            #[cfg(feature = "folder-models")]
            Self::InJson(list) => list.items().try_for_each(|token| {
                let token = TokenInJson::read(token).map_err(|fault| fault.error)?;
                let TokenInJson { id, rules, normalized, .. } = token;
                take(AddedOne { id, rules, normalized, spelling: &mut token.spelling() })
            }),
        }
    }

    /// Whether tokens with a role are found in texts because they have it.
    pub(super) const fn finds_roles(&self) -> bool {
        match self {
            Self::Listed(_) => true,
            #[cfg(feature = "folder-models")]
            Self::InJson(_) => false,
        }
    }

    /// Refuses what has another id than the vocabulary says, of `count` tokens.
    #[cfg(feature = "folder-models")]
    pub(super) fn check(&self, vocabulary: &impl Vocabulary, count: u32) -> Result<()> {
        let Self::InJson(list) = self else { return Ok(()) };
        let mut next = count;
        list.items().try_for_each(|token| {
            TokenInJson::read(token).map_err(|fault| fault.error)?.check(vocabulary, &mut next)
        })
    }
}
