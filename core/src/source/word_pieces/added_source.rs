//! The added tokens that a file gives.

use super::added::check_id;
use crate::error::Result;
use crate::leaf;
use crate::token::AddedRules;
use crate::token::Vocabulary;
use crate::token::added_list::{ListedToken, listed_tokens};
use crate::token::spec;

/// Where the file says which tokens were added to the vocabulary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Added<'a> {
    /// The value of [`ADDED_TOKENS`](crate::token::added_list::ADDED_TOKENS).
    Listed(&'a str),
    /// A description, which has all of them, those with a role too.
    Described(spec::AddedTokenSpecs<'a>, leaf::Families),
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
            Self::Described(list, _) => list.iter().try_for_each(|token| {
                let token = token.map_err(|fault| fault.error)?;
                let spec::AddedTokenSpec { id, rules, normalized, content, .. } = token;
                let spelling = &mut content.chars().map(Ok);
                take(AddedOne { id, rules, normalized, spelling })
            }),
        }
    }

    /// Returns true if tokens with a role are found in texts because they have it.
    pub(super) const fn finds_roles(&self) -> bool {
        match self {
            Self::Listed(_) => true,
            Self::Described(..) => false,
        }
    }

    /// Refuses what has another id than the vocabulary says, of `count` tokens.
    pub(super) fn check(&self, vocabulary: &impl Vocabulary, count: u32) -> Result<()> {
        let Self::Described(list, _) = self else { return Ok(()) };
        let mut next = count;
        list.iter().try_for_each(|token| {
            check_id(&token.map_err(|fault| fault.error)?, vocabulary, &mut next)
        })
    }
}
