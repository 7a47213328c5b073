//! The tokens of a GGUF file with what it says of each.

use alloc::string::String;
use alloc::vec::Vec;

use crate::describe::gguf::{Key, token_type, unsigned};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::{Limit, copied, grow, push, reserved};
use crate::token;
use crate::token::sentencepiece::PieceKind;
use crate::token::spec::{AddedTokenSpec, JsonPlace, SpecialToken, SpelledText};

/// The tokens by their ids.
pub(super) struct Vocabulary {
    pub(super) tokens: Vec<String>,
    pub(super) kinds: Vec<PieceKind>,
    /// Empty if the file has none.
    pub(super) scores: Vec<f64>,
}

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

impl Vocabulary {
    /// Reads the arrays of tokens, their types and their scores.
    pub(super) fn read(file: &Gguf<'_>) -> Result<Self> {
        let entries = file.token_entries();
        let entries = entries.ok_or(Error::without_offset(ErrorKind::MissingVocabulary))?;
        let count = Limit::TOKENS.check(entries.count.into())?;
        let mut tokens = reserved(count)?;
        for token in file.tokens() {
            let token = core::str::from_utf8(token).map_err(|_| BAD)?;
            push(&mut tokens, copied(token)?)?;
        }
        let mut kinds = reserved(count)?;
        for kind in file.elements(Key::TokenTypes.name()).into_iter().flatten().take(count) {
            push(&mut kinds, kind_of(kind).ok_or(BAD)?)?;
        }
        grow(&mut kinds, count, PieceKind::Normal)?;
        let mut scores = Vec::new();
        if let Some(found) = file.elements(Key::Scores.name()) {
            scores = reserved(count)?;
            for score in found.take(count) {
                scores.push(number(score).filter(|score| score.is_finite()).ok_or(BAD)?);
            }
            if scores.len() != count {
                return Err(BAD);
            }
        }
        if tokens.len() != count {
            return Err(BAD);
        }
        Ok(Self { tokens, kinds, scores })
    }

    pub(super) fn kind(&self, id: usize) -> PieceKind {
        self.kinds.get(id).copied().unwrap_or(PieceKind::Normal)
    }

    /// The token of an id.
    pub(super) fn named(&self, id: u32) -> Option<SpecialToken<'_>> {
        let name = SpelledText::plain(self.tokens.get(id as usize)?);
        Some(SpecialToken { id, name })
    }

    /// Takes out what only fills a table up: such ids have no token.
    pub(super) fn drop_unused(&mut self) {
        for (token, kind) in self.tokens.iter_mut().zip(&self.kinds) {
            if *kind == PieceKind::Unused {
                token.clear();
            }
        }
    }

    /// The tokens that are found in texts as they are: control tokens, and those that were added.
    pub(super) fn added(&self, rules: AddedRules) -> Result<Vec<AddedTokenSpec<'_>>> {
        let mut added = Vec::new();
        for (id, token) in self.tokens.iter().enumerate() {
            let is_special = match self.kind(id) {
                PieceKind::Control | PieceKind::Unknown => true,
                PieceKind::UserDefined => false,
                _ => continue,
            };
            let id = id as u32;
            let token = AddedTokenSpec {
                id,
                content: SpelledText::plain(token),
                rules: token::AddedRules {
                    strips_before: rules.strips_before == Some(id),
                    ..token::AddedRules::default()
                },
                normalized: !is_special && rules.normalizes,
                special: is_special,
                place: JsonPlace::NONE,
            };
            push(&mut added, token)?;
        }
        Ok(added)
    }
}

/// How added tokens are found, which GGUF does not say.
#[derive(Clone, Copy, Default)]
pub(super) struct AddedRules {
    /// Whether those that are no special tokens are looked for in normalised text.
    pub(super) normalizes: bool,
    /// The token that takes the white space before it.
    pub(super) strips_before: Option<u32>,
}

/// Tokens of the type 0, which nobody has said anything of, are normal ones.
fn kind_of(value: Value<'_>) -> Option<PieceKind> {
    match unsigned(value)? {
        0 => Some(PieceKind::Normal),
        _ => token_type(value),
    }
}

#[allow(clippy::cast_precision_loss)] // scores are small
fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(number) => Some(number),
        Value::Signed(number) => Some(number as f64),
        Value::Unsigned(number) => Some(number as f64),
        _ => None,
    }
}
