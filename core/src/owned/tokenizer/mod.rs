//! A tokenizer of any kind with memory of its own.

mod byte_pairs;
mod continuation;
mod word_pieces;

pub use byte_pairs::BytePairs;
pub use continuation::Continuation;
pub use word_pieces::WordPieces;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{SentencePieceModel, TokenSession};
use crate::error::Result;
use crate::limit::{collected, extend};
use crate::model::ModelSource;
use crate::model::tokenizer::TokenizerSource;
use crate::token::sentencepiece;
use crate::token::{AddedRules, SentencePiece, SpecialTokens, TextEnds, bpe};

/// How texts become ids, and what they begin and end with, over a file that lives as long as `'f`.
///
/// ```
/// use nanoembed_core::model::ModelSource;
/// use nanoembed_core::owned::{TokenSession, Tokenizer};
/// use nanoembed_core::token::SpecialTokens;
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let file = std::fs::read(path)?;
/// let tokenizer = Tokenizer::from_source(&file, &ModelSource::parse(&file)?)?;
/// let ids = tokenizer.encode("it is in", SpecialTokens::AsText, &mut TokenSession::default())?;
/// assert_eq!(tokenizer.token(ids[1]).as_deref(), Some("it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer<'f> {
    spelling: Spelling<'f>,
    begin: Option<u32>,
    ends: TextEnds,
}

/// What texts become ids by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Spelling<'f> {
    /// WordPiece.
    WordPiece(Box<WordPieces>),
    /// Byte-level BPE.
    BytePairs(Box<BytePairs<'f>>),
    /// SentencePiece, and the ids of the pieces that are found in a text as they are.
    SentencePiece(Box<SentencePieceModel<Vec<u8>>>, Vec<u32>),
}

impl<'f> Tokenizer<'f> {
    /// The tokenizer of the model in a file, whose bytes are `file`.
    ///
    /// # Errors
    ///
    /// As [`ModelSource::tokenizer`], and what is wrong with the tokenizer.
    pub fn from_source(file: &'f [u8], model: &ModelSource<'f>) -> Result<Self> {
        let begin = model.begin_token();
        match model.tokenizer()? {
            TokenizerSource::WordPiece(source) => {
                let pieces = WordPieces::new(file, &source)?;
                let ends = pieces.ends()?;
                let spelling = Spelling::WordPiece(Box::new(pieces));
                Ok(Self { spelling, begin: ends.begin, ends })
            }
            TokenizerSource::BytePairs(source) => {
                let pairs = BytePairs::new(file, &source)?;
                let begin = begin.or(pairs.bpe().index().ends.begin);
                Ok(Self::from_byte_pairs(pairs, begin))
            }
            TokenizerSource::SentencePiece(source) => {
                let mut model = Vec::new();
                source.write_model(&mut |bytes| model.extend_from_slice(bytes))?;
                let mut added = Vec::new();
                source.each_added(|id| {
                    added.push(id);
                    Ok(())
                })?;
                let model = SentencePieceModel::open(model, source.offset())?;
                let begin = begin.or(source.ends().begin);
                Self::from_pieces(model, added, begin, *source.ends())
            }
        }
    }

    /// From byte pairs that know the tokens which are added to them; `begin` is what the model
    /// calls so.
    #[must_use]
    pub fn from_byte_pairs(pairs: BytePairs<'f>, begin: Option<u32>) -> Self {
        let ends = pairs.bpe().index().ends;
        Self { spelling: Spelling::BytePairs(Box::new(pairs)), begin, ends }
    }

    /// From pieces, of which those with the ids `added` are found in a text as they are.
    ///
    /// # Errors
    ///
    /// As [`SentencePieceModel::with_added`].
    pub fn from_pieces(
        model: SentencePieceModel<Vec<u8>>,
        added: Vec<u32>,
        begin: Option<u32>,
        ends: TextEnds,
    ) -> Result<Self> {
        Self::from_ruled_pieces(model, (added, |_| AddedRules::default()), begin, ends)
    }

    /// The same, where each of those is found by its `rules`.
    ///
    /// # Errors
    ///
    /// As [`SentencePieceModel::with_added`].
    pub fn from_ruled_pieces(
        model: SentencePieceModel<Vec<u8>>,
        (added, rules): (Vec<u32>, impl Fn(u32) -> AddedRules),
        begin: Option<u32>,
        ends: TextEnds,
    ) -> Result<Self> {
        let model = Box::new(model.with_added_by(&added, rules)?);
        Ok(Self { spelling: Spelling::SentencePiece(model, added), begin, ends })
    }

    /// From a serialized SentencePiece model alone: as `sentencepiece` encodes, without tokens
    /// around the text.
    ///
    /// # Errors
    ///
    /// As [`SentencePieceModel::open`].
    pub fn from_model(model: Vec<u8>) -> Result<Self> {
        let model = SentencePieceModel::open(model, 0)?;
        let (begin, end) = (model.tokenizer().begin(), model.tokenizer().end());
        let mut ends = TextEnds::default();
        end.map_or(Ok(()), |id| ends.end.push(id))?;
        Self::from_pieces(model, Vec::new(), begin, ends)
    }

    /// The tokenizer without the file that it is from.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has changed.
    pub fn detached(self) -> Result<Tokenizer<'static>> {
        let Self { spelling, begin, ends } = self;
        let spelling = match spelling {
            Spelling::WordPiece(pieces) => Spelling::WordPiece(pieces),
            Spelling::BytePairs(pairs) => Spelling::BytePairs(Box::new(pairs.detached()?)),
            Spelling::SentencePiece(model, added) => Spelling::SentencePiece(model, added),
        };
        Ok(Tokenizer { spelling, begin, ends })
    }

    /// What texts become ids by.
    #[must_use]
    pub const fn spelling(&self) -> &Spelling<'f> {
        &self.spelling
    }

    /// The pieces, if the tokenizer is SentencePiece.
    #[must_use]
    pub fn pieces(&self) -> Option<SentencePiece<'_>> {
        match &self.spelling {
            Spelling::SentencePiece(model, _) => Some(model.tokenizer()),
            _ => None,
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.count() as usize,
            Spelling::BytePairs(pairs) => pairs.bpe().index().count as usize,
            Spelling::SentencePiece(model, _) => model.tokenizer().spec().pieces() as usize,
        }
    }

    /// What the model calls the beginning of a text, whether it is put before every text or not.
    #[must_use]
    pub const fn begin(&self) -> Option<u32> {
        self.begin
    }

    /// The tokens around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Whether a token that was sampled says that the model has finished.
    #[must_use]
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.end.contains(id)
    }

    /// The ids of the tokens that are found in a text as they are, but for WordPiece's.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        match &self.spelling {
            Spelling::WordPiece(_) => &[],
            Spelling::BytePairs(pairs) => pairs.bpe().added(),
            Spelling::SentencePiece(_, added) => added,
        }
    }

    /// How a token is spelled, spaces and bytes as the vocabulary has them.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<Cow<'_, str>> {
        match &self.spelling {
            Spelling::WordPiece(pieces) => {
                Some(String::from_utf8_lossy(&pieces.token(id)?).into_owned().into())
            }
            Spelling::BytePairs(pairs) => {
                core::str::from_utf8(pairs.token(id)?).ok().map(Cow::Borrowed)
            }
            Spelling::SentencePiece(model, _) => {
                model.tokenizer().piece(id).map(|piece| Cow::Borrowed(piece.0))
            }
        }
    }

    /// The ids of `text`, between the tokens that are put around every text if there are any, in
    /// memory that is used for many texts. `special` says what added tokens become that the text
    /// spells.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has changed; as
    /// [`SentencePieceModel::encode`].
    pub fn encode(
        &self,
        text: &str,
        special: SpecialTokens,
        session: &mut TokenSession,
    ) -> Result<Vec<u32>> {
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.encode(text, special),
            Spelling::BytePairs(pairs) => pairs.encode(text, special),
            Spelling::SentencePiece(model, _) => {
                let mut ids = collected(self.ends.begin)?;
                model.encode(text, special, session, &mut ids)?;
                extend(&mut ids, self.ends.append)?;
                Ok(ids)
            }
        }
    }

    /// Keeps so many of a text's ids, the one that is put behind every text among them; whether
    /// there were more.
    pub fn truncate(&self, ids: &mut Vec<u32>, limit: usize) -> bool {
        let is_longer = ids.len() > limit;
        ids.truncate(limit);
        if let (true, Some(append), Some(last)) = (is_longer, self.ends.append, ids.last_mut()) {
            *last = append;
        }
        is_longer
    }

    /// A decoder of ids that follow a text.
    #[must_use]
    pub const fn decoder(&self) -> Continuation<'_, 'f> {
        match &self.spelling {
            Spelling::WordPiece(pieces) => Continuation::Words(pieces),
            Spelling::BytePairs(pairs) => Continuation::Bytes(pairs, bpe::Decoder::new()),
            Spelling::SentencePiece(model, _) => {
                Continuation::Pieces(model, sentencepiece::Decoder::within())
            }
        }
    }
}
