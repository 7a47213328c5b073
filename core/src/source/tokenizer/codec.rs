//! Text to ids and ids to bytes.

use super::kind::TokenizerKind;
use super::memory::{ScratchNeeds, TokenizerScratch};
use crate::error::{Error, ErrorKind, Result};
use crate::source::byte_pairs::FileBpe;
use crate::source::pieces::FilePieces;
use crate::token::bpe::TokenCount;
use crate::token::{Entries, HashVocabulary, SpecialTokens, Vocabulary as _, WordPiece};

/// WordPiece over an index in memory.
type Words<'a> = WordPiece<HashVocabulary<'a, Entries<'a>>>;

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub enum Tokenizer<'a> {
    /// WordPiece.
    WordPiece(Words<'a>),
    /// Byte-level BPE.
    BytePairs(FileBpe<'a>),
    /// SentencePiece.
    SentencePiece(FilePieces<'a>),
}

impl Tokenizer<'_> {
    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> TokenizerKind {
        match self {
            Self::WordPiece(_) => TokenizerKind::WordPiece,
            Self::BytePairs(_) => TokenizerKind::BytePairs,
            Self::SentencePiece(_) => TokenizerKind::SentencePiece,
        }
    }

    /// The number of tokens, without those that were added to WordPiece's vocabulary beyond its
    /// end.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::WordPiece(words) => words.vocabulary().count(),
            Self::BytePairs(pairs) => pairs.count(),
            Self::SentencePiece(pieces) => pieces.model().spec().pieces(),
        }
    }

    /// The token that is put before every text, if there is one.
    #[must_use]
    pub const fn begin(&self) -> Option<u32> {
        match self {
            Self::WordPiece(words) => Some(words.special().classify),
            Self::BytePairs(pairs) => pairs.text_ends().begin,
            Self::SentencePiece(pieces) => pieces.ends().begin,
        }
    }

    /// The usual token that ends a text, if there is one.
    #[must_use]
    pub fn end(&self) -> Option<u32> {
        match self {
            Self::WordPiece(words) => Some(words.special().separate),
            Self::BytePairs(pairs) => pairs.ends().first(),
            Self::SentencePiece(pieces) => pieces.ends().end.first(),
        }
    }

    /// Returns true if a token ends a text: sampled, it says that the model has finished.
    #[must_use]
    pub fn ends_text(&self, id: u32) -> bool {
        match self {
            Self::WordPiece(words) => words.special().separate == id,
            Self::BytePairs(pairs) => pairs.ends().contains(id),
            Self::SentencePiece(pieces) => pieces.ends().end.contains(id),
        }
    }

    /// The scratch memory that always suffices for `text`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if the rules of SentencePiece make more of the text than
    /// [`Limit::EXPANSION`](crate::limit::Limit::EXPANSION) allows.
    pub fn scratch(&self, text: &str) -> Result<ScratchNeeds> {
        Ok(match self {
            Self::WordPiece(_) => ScratchNeeds::default(),
            Self::BytePairs(_) => ScratchNeeds::for_words(text.len()),
            Self::SentencePiece(pieces) => pieces.model().needs(text)?.into(),
        })
    }

    /// The ids of `text`, as many as `ids` holds, with the tokens that are put around every text.
    /// `special` says what special and other added tokens become that the text spells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less than [`scratch`](Self::scratch) says, or if
    /// `ids` has no room for the two special tokens of WordPiece, which a text that is cut keeps.
    pub fn encode(
        &self,
        text: &str,
        special: SpecialTokens,
        ids: &mut [u32],
        scratch: &mut TokenizerScratch<'_>,
    ) -> Result<TokenCount> {
        let bytes = &mut scratch.bytes;
        match (self, special) {
            (Self::WordPiece(words), SpecialTokens::AsTokens) => by_words(words, text, ids),
            (Self::WordPiece(words), SpecialTokens::AsText) => {
                let vocabulary = words.vocabulary().clone().with_added(<_>::default());
                by_words(&words.without_spellings(vocabulary), text, ids)
            }
            (Self::BytePairs(pairs), SpecialTokens::AsTokens) => pairs.encode(text, ids, bytes),
            (Self::BytePairs(pairs), SpecialTokens::AsText) => {
                pairs.without_added().encode(text, ids, bytes)
            }
            (Self::SentencePiece(pieces), _) => {
                pieces.encode(text, special, ids, &mut scratch.pieces)
            }
        }
    }

    /// Writes the bytes that a token stands for into `out`, and says how many they are; they need
    /// not be whole characters. Tokens of WordPiece are as the vocabulary spells them, `##` before
    /// those that go on with a word.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`] for an id of no token; [`ErrorKind::BufferTooSmall`].
    pub fn token(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        match self {
            Self::WordPiece(words) => word_piece(words, id, out),
            Self::BytePairs(pairs) => pairs.bytes(id, out),
            Self::SentencePiece(pieces) => pieces.model().bytes(id, out),
        }
    }
}

fn by_words(words: &Words<'_>, text: &str, ids: &mut [u32]) -> Result<TokenCount> {
    let encoded = words.encode(text, ids)?;
    Ok(TokenCount { tokens: encoded.tokens, total: encoded.total })
}

fn word_piece(words: &Words<'_>, id: u32, out: &mut [u8]) -> Result<usize> {
    let vocabulary = words.vocabulary();
    let added = vocabulary.added();
    let length = match added.written.spelling(id).or_else(|| added.normalized.spelling(id)) {
        Some(spelling) => {
            out.iter_mut().zip(spelling).for_each(|(to, from)| *to = *from);
            spelling.len()
        }
        None if id >= vocabulary.count() => {
            return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
        }
        None => vocabulary.token(id, out)?,
    };
    let fits = length <= out.len();
    if fits { Ok(length) } else { Err(Error::without_offset(ErrorKind::BufferTooSmall)) }
}
