//! Special tokens: their ids, and finding them where a text spells them out.

use heapless::Vec;

use super::vocabulary::Vocabulary;
use crate::error::{Error, ErrorKind, Result};
use crate::event::SpecialRole;

/// The longest special token, in bytes, that is recognised in text.
pub const MAX_SPECIAL_BYTES: usize = 32;

const ROLES: usize = SpecialRole::ALL.len();

/// The treatment of control tokens that a text spells, such as `<|im_end|>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpecialTokens {
    /// Text like any other: for what users write, who must not be able to end their turn. Other
    /// tokens that were added to the vocabulary are not looked for either.
    AsText,
    /// The tokens themselves: for prompt templates.
    AsTokens,
}

/// The ids of the tokens with a special role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialIds {
    /// Fills texts up to one length, `[PAD]`.
    pub pad: Option<u32>,
    /// Stands for a word that the vocabulary cannot spell, `[UNK]`.
    pub unknown: u32,
    /// Starts a text, `[CLS]`.
    pub classify: u32,
    /// Ends a text, `[SEP]`.
    pub separate: u32,
    /// Stands for a word to be guessed, `[MASK]`.
    pub mask: Option<u32>,
}

impl SpecialIds {
    /// Looks BERT's own names up: `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`, `[MASK]`.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if `[UNK]`, `[CLS]` or `[SEP]` is not in the vocabulary, and whatever
    /// looking up answers.
    pub fn find<V: Vocabulary + ?Sized>(vocabulary: &V) -> Result<Self> {
        let required =
            |name| vocabulary.find(name)?.ok_or(Error::without_offset(ErrorKind::BadVocabulary));
        Ok(Self {
            pad: vocabulary.find(b"[PAD]")?,
            unknown: required(b"[UNK]")?,
            classify: required(b"[CLS]")?,
            separate: required(b"[SEP]")?,
            mask: vocabulary.find(b"[MASK]")?,
        })
    }

    /// The id of a role, if the model has one.
    #[must_use]
    pub const fn get(&self, role: SpecialRole) -> Option<u32> {
        match role {
            SpecialRole::Pad => self.pad,
            SpecialRole::Unknown => Some(self.unknown),
            SpecialRole::Classify => Some(self.classify),
            SpecialRole::Separate => Some(self.separate),
            SpecialRole::Mask => self.mask,
        }
    }
}

/// A special token that a text may spell out.
#[derive(Clone, Debug)]
struct Spelled {
    id: u32,
    bytes: Vec<u8, MAX_SPECIAL_BYTES>,
}

/// The spellings of the special tokens. As in Hugging Face `tokenizers` they are found in the text
/// as it is, before normalisation, even within words, the leftmost first and of those the longest.
#[derive(Clone, Debug, Default)]
pub(super) struct Spellings {
    tokens: Vec<Spelled, ROLES>,
    /// The distinct first bytes of the tokens.
    first_bytes: Vec<u8, ROLES>,
}

impl Spellings {
    /// Reads the spellings from the vocabulary. Those that are not UTF-8, empty or longer than
    /// [`MAX_SPECIAL_BYTES`] are not recognised in text.
    pub(super) fn read<V: Vocabulary + ?Sized>(vocabulary: &V, ids: &SpecialIds) -> Result<Self> {
        let mut spellings = Self::default();
        for id in SpecialRole::ALL.into_iter().filter_map(|role| ids.get(role)) {
            let mut buffer = [0; MAX_SPECIAL_BYTES];
            let length = vocabulary.token(id, &mut buffer)?;
            let spelling = buffer.get(..length).and_then(|bytes| core::str::from_utf8(bytes).ok());
            if let Some(spelling) = spelling {
                spellings.add(id, spelling);
            }
        }
        Ok(spellings)
    }

    fn add(&mut self, id: u32, spelling: &str) {
        let Some(&first) = spelling.as_bytes().first() else { return };
        if let Ok(bytes) = Vec::from_slice(spelling.as_bytes()) {
            // There are as many places as roles.
            let _ = self.tokens.push(Spelled { id, bytes });
            if !self.first_bytes.contains(&first) {
                let _ = self.first_bytes.push(first);
            }
        }
    }

    /// The longest special token that `text` starts with: its id and length in bytes.
    pub(super) fn at_start(&self, text: &[u8]) -> Option<(u32, usize)> {
        let first = text.first()?;
        if !self.first_bytes.contains(first) {
            return None;
        }
        self.tokens
            .iter()
            .filter(|token| text.starts_with(&token.bytes))
            .map(|token| (token.id, token.bytes.len()))
            .max_by_key(|&(_, length)| length)
    }

    /// How many bytes of `text`, at most `window`, may be passed before a special token can begin.
    pub(super) fn clear_bytes(&self, text: &[u8], window: usize) -> usize {
        let near = text.get(..window).unwrap_or(text);
        match self.first_bytes.as_slice() {
            [] => text.len(),
            [only] => near.iter().position(|byte| byte == only).unwrap_or(near.len()),
            several => near.iter().position(|byte| several.contains(byte)).unwrap_or(near.len()),
        }
    }
}
