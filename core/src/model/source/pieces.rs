//! The SentencePiece model of a decoder's file, where it lies.

use crate::error::Result;
#[cfg(feature = "amb")]
use crate::error::{Error, ErrorKind};
#[cfg(feature = "amb")]
use crate::format::amb::{Amb, TokenizerKind};
#[cfg(feature = "amb")]
use crate::model::source::amb::{amb_added_tokens, amb_text_ends};
use crate::token::{EndTokens, TextEnds};

/// What a file says of its SentencePiece tokenizer.
#[derive(Clone, Copy, Debug)]
pub struct SentencePieceSource<'a> {
    bytes: &'a [u8],
    offset: u64,
    ends: TextEnds,
    #[cfg(feature = "amb")]
    file: Option<Amb<'a>>,
}

impl<'a> SentencePieceSource<'a> {
    /// The tokenizer of an `.amb` file, whose configuration has `added_tokens`, `add_bos`,
    /// `add_eos` and `end_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedTokenizer`] if
    /// it is another one.
    #[cfg(feature = "amb")]
    pub fn amb(file: &Amb<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let tokenizer = file.tokenizer().ok_or(missing)?;
        if tokenizer.kind() != TokenizerKind::SentencePiece {
            return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
        }
        let ends = amb_text_ends(file, &tokenizer)?;
        let (bytes, offset) = (tokenizer.payload(), tokenizer.payload_offset());
        Ok(Self { bytes, offset, ends, file: Some(*file) })
    }

    /// A serialized model alone: nothing is put around texts, and nothing found in them before the
    /// model's own rules.
    #[must_use]
    pub const fn model(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            offset: 0,
            ends: TextEnds { begin: None, append: None, end: EndTokens::NONE },
            #[cfg(feature = "amb")]
            file: None,
        }
    }

    /// The serialized model.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where it lies in the file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The pieces around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Calls `added` with the ids of the pieces that are found in a text as they are.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has something else in their
    /// place; what `added` returns.
    pub fn each_added(&self, mut added: impl FnMut(u32) -> Result<()>) -> Result<()> {
        #[cfg(feature = "amb")]
        if let Some(file) = &self.file {
            return amb_added_tokens(file).try_for_each(|id| added(id?));
        }
        #[cfg(not(feature = "amb"))]
        drop(added);
        Ok(())
    }
}
