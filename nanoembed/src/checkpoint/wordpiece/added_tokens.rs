//! Tokens that files add to a vocabulary, with how they are found in texts.

use std::collections::HashMap;

use nanoembed_core::limit::Limit;
use nanoembed_core::owned::AddedWord;
use nanoembed_core::token::{AddedRules, spec};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::error::{Error, Result};
use crate::folder::settings_rule::Members;
use crate::hashed;

/// An added token as a file describes it. It does not matter here whether it is `special`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedToken {
    pub(super) spelling: String,
    pub(super) normalized: bool,
    pub(super) rules: AddedRules,
}

impl AddedToken {
    /// One that is found in texts as it is, as special tokens are.
    pub(super) fn special(spelling: &str) -> Result<Self, CoreError> {
        let spelling = limit::copied(spelling)?;
        Ok(Self { spelling, normalized: false, rules: AddedRules::default() })
    }

    /// From an object of `tokenizer_config.json`.
    pub(super) fn read(members: &Members<'_>) -> Result<Self> {
        let spelling = members.text("content")?.unwrap_or_default();
        let most = Limit::ADDED_TOKEN_BYTES.most;
        if !(1..=most).contains(&spelling.len()) {
            return Err(members.bad("content", length()));
        }
        let special = members.truth("special")?.unwrap_or(false);
        let token = Self {
            spelling: limit::copied(spelling).map_err(failed)?,
            normalized: members.truth("normalized")?.unwrap_or(!special),
            rules: AddedRules {
                strips_before: members.truth("lstrip")?.unwrap_or(false),
                strips_after: members.truth("rstrip")?.unwrap_or(false),
                single_word: members.truth("single_word")?.unwrap_or(false),
            },
        };
        Ok(token)
    }

    /// From a description.
    pub(super) fn from_spec(token: &spec::AddedTokenSpec<'_>) -> Result<Self> {
        let spelling = limit::formatted(format_args!("{}", token.content)).map_err(failed)?;
        let most = Limit::ADDED_TOKEN_BYTES.most;
        if !(1..=most).contains(&spelling.len()) {
            let message = format!("`content` of an added token {}", length());
            return Err(Error::input(ErrorKind::BadMetadata, message));
        }
        Ok(Self { spelling, normalized: token.normalized, rules: token.rules })
    }
}

fn length() -> String {
    format!("has to have 1 to {} bytes", Limit::ADDED_TOKEN_BYTES.most)
}

fn failed(error: CoreError) -> Error {
    Error::in_file("added tokens", error)
}

/// Added tokens by their ids.
#[derive(Debug, Default)]
pub(super) struct AddedTokens {
    /// In the order in which they were added.
    tokens: Vec<(u32, AddedToken)>,
    /// The place of each id in `tokens`.
    places: HashMap<u32, usize>,
    ids: HashMap<String, u32>,
}

impl AddedTokens {
    /// Adds a token, or changes how the one that is there is found; refuses other tokens with its
    /// id or spelling.
    pub(super) fn add(&mut self, id: u32, token: AddedToken) -> Result<()> {
        let bad = |message: String| Err(Error::input(ErrorKind::BadVocabulary, message));
        if let Some(other) = self.spelling(id).filter(|other| *other != token.spelling) {
            return bad(format!(
                "the id {id} is that of two added tokens, {other:?} and {:?}",
                token.spelling
            ));
        }
        if let Some(other) = self.id(&token.spelling).filter(|other| *other != id) {
            let spelling = token.spelling;
            return bad(format!("the added token {spelling:?} has two ids, {other} and {id}"));
        }
        match self.places.get(&id).and_then(|place| self.tokens.get_mut(*place)) {
            Some((_, known)) => *known = token,
            None => self.append(id, token).map_err(failed)?,
        }
        Ok(())
    }

    fn append(&mut self, id: u32, token: AddedToken) -> Result<(), CoreError> {
        let spelling = limit::copied(&token.spelling)?;
        hashed::insert(&mut self.places, id, self.tokens.len())?;
        hashed::insert(&mut self.ids, spelling, id)?;
        limit::push(&mut self.tokens, (id, token))
    }

    pub(super) fn id(&self, spelling: &str) -> Option<u32> {
        self.ids.get(spelling).copied()
    }

    pub(super) fn spelling(&self, id: u32) -> Option<&str> {
        let place = self.places.get(&id)?;
        self.tokens.get(*place).map(|(_, token)| token.spelling.as_str())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &AddedToken)> {
        self.tokens.iter().map(|(id, token)| (*id, token))
    }

    /// All of them with their ids.
    pub(super) fn into_tokens(self) -> Vec<(u32, AddedToken)> {
        self.tokens
    }

    /// All but the `special` ones, which are found without being named, in the order of their ids.
    pub(super) fn words(&self, special: &[u32]) -> Result<Vec<AddedWord>> {
        let mut words = Vec::new();
        for (id, token) in self.iter() {
            // Normalisation may put spaces around ideographs, which such a token would take.
            if token.normalized && token.spelling.trim() != token.spelling {
                let message = format!(
                    "the added token {:?} is found in normalised text with the white space at its ends, which is not done here",
                    token.spelling
                );
                return Err(Error::input(ErrorKind::UnsupportedSetting, message));
            }
            if !special.contains(&id) {
                let spelling = limit::copied(&token.spelling).map_err(failed)?;
                let AddedToken { normalized, rules, .. } = *token;
                let word = AddedWord { id, spelling, normalized, rules };
                limit::push(&mut words, word).map_err(failed)?;
            } else if token.rules.single_word || token.normalized {
                let message = format!(
                    "the special token {:?} is found only as a word of its own or in normalised text, which is not done here",
                    token.spelling
                );
                return Err(Error::input(ErrorKind::UnsupportedSetting, message));
            }
        }
        words.sort_unstable_by_key(|word: &AddedWord| word.id);
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normalized_token_with_white_space_at_its_ends_is_refused_by_name() {
        let special = AddedToken::special;
        let token =
            |spelling: &str, normalized| AddedToken { normalized, ..special(spelling).unwrap() };
        let words = |token| {
            let mut added = AddedTokens::default();
            added.add(7, token).unwrap();
            added.words(&[])
        };
        assert!(format!("{:?}", words(token(" x", true)).unwrap_err()).contains("\\\" x\\\""));
        assert_eq!(words(token(" x", false)).unwrap().len(), 1);
        assert_eq!(words(token("x y", true)).unwrap().len(), 1);
    }
}
