//! Tokens that files add to a vocabulary, with how they are found in texts.

use std::collections::BTreeMap;

use nanoembed_core::ErrorKind;
use nanoembed_core::limit::Limit;
use nanoembed_core::owned::AddedWord;
use nanoembed_core::token::{AddedRules, spec};

use crate::error::{Error, Result};
use crate::folder::settings_rule::Members;

/// An added token as a file describes it. It does not matter here whether it is `special`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedToken {
    pub(super) spelling: String,
    pub(super) normalized: bool,
    pub(super) rules: AddedRules,
}

impl AddedToken {
    /// One that is found in texts as it is, as special tokens are.
    pub(super) fn special(spelling: &str) -> Self {
        Self { spelling: spelling.to_owned(), normalized: false, rules: AddedRules::default() }
    }

    /// From an object of `tokenizer_config.json`.
    pub(super) fn read(members: &Members<'_>) -> Result<Self> {
        let spelling = members.text("content")?.unwrap_or_default().to_owned();
        let most = Limit::ADDED_TOKEN_BYTES.most;
        if !(1..=most).contains(&spelling.len()) {
            return Err(members.bad("content", length()));
        }
        let special = members.truth("special")?.unwrap_or(false);
        let token = Self {
            spelling,
            normalized: members.truth("normalized")?.unwrap_or(!special),
            rules: AddedRules {
                strips_before: members.truth("lstrip")?.unwrap_or(false),
                strips_behind: members.truth("rstrip")?.unwrap_or(false),
                single_word: members.truth("single_word")?.unwrap_or(false),
            },
        };
        Ok(token)
    }

    /// From a description.
    pub(super) fn from_spec(token: &spec::AddedTokenSpec<'_>) -> Result<Self> {
        let spelling = token.content.to_string();
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

/// Added tokens by their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedTokens {
    by_id: BTreeMap<u32, AddedToken>,
    ids: BTreeMap<String, u32>,
}

impl AddedTokens {
    /// Adds a token, or changes how the one that is there is found; refuses other tokens with its
    /// id or spelling.
    pub(super) fn add(&mut self, id: u32, token: AddedToken) -> Result<()> {
        let bad = |message: String| Err(Error::input(ErrorKind::BadVocabulary, message));
        if let Some(other) = self.by_id.get(&id).filter(|other| other.spelling != token.spelling) {
            return bad(format!(
                "the id {id} is that of two added tokens, {:?} and {:?}",
                other.spelling, token.spelling
            ));
        }
        match self.ids.insert(token.spelling.clone(), id) {
            Some(other) if other != id => {
                bad(format!("the added token {:?} has two ids, {other} and {id}", token.spelling))
            }
            _ => {
                self.by_id.insert(id, token);
                Ok(())
            }
        }
    }

    pub(super) fn id(&self, spelling: &str) -> Option<u32> {
        self.ids.get(spelling).copied()
    }

    pub(super) fn spelling(&self, id: u32) -> Option<&str> {
        self.by_id.get(&id).map(|token| token.spelling.as_str())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &AddedToken)> {
        self.by_id.iter().map(|(id, token)| (*id, token))
    }

    /// All but the `special` ones, which are found without being named.
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
                words.push(AddedWord {
                    id,
                    spelling: token.spelling.clone(),
                    normalized: token.normalized,
                    rules: token.rules,
                });
            } else if token.rules.single_word || token.normalized {
                let message = format!(
                    "the special token {:?} is found only as a word of its own or in normalised text, which is not done here",
                    token.spelling
                );
                return Err(Error::input(ErrorKind::UnsupportedSetting, message));
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normalized_token_with_white_space_at_its_ends_is_refused_by_name() {
        let token =
            |spelling: &str, normalized| AddedToken { normalized, ..AddedToken::special(spelling) };
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
