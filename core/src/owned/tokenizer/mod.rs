//! A tokenizer of any kind with memory of its own.

mod byte_pairs;
mod detokenizer;
mod first;
mod kinds;
mod limits;
mod word_pieces;

pub use byte_pairs::BytePairs;
pub use detokenizer::Detokenizer;
pub use kinds::{AllKinds, Kinds, TextKinds};
pub use limits::Cuts;
pub use word_pieces::WordPieces;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{SentencePieceModel, TextSession};
use crate::error::Result;
use crate::leaf::{self, Part};
use crate::limit::{Boxed, Growing, collected, extend, push};
use crate::owned::Pipeline;
use crate::source::ModelSource;
use crate::source::tokenizer::TokenizerSource;
use crate::token::{AddedRules, SentencePiece, SpecialTokens, TextEnds};
use limits::TokenLimits;

/// The tokenizer of any model, and how many tokens of a text an encoder uses. It may borrow from a
/// file that lives as long as `'f`. An encoder's has other `K`inds left out: programs that only
/// embed do not have their code.
///
/// ```
/// use nanoembed_core::source::ModelSource;
/// use nanoembed_core::owned::{TextSession, Tokenizer};
/// use nanoembed_core::token::SpecialTokens;
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let file = std::fs::read(path)?;
/// let tokenizer = Tokenizer::from_source(&file, &ModelSource::parse(&file)?)?;
/// let ids = tokenizer.encode("it is in", SpecialTokens::AsText, &mut TextSession::default())?;
/// assert_eq!(tokenizer.token(ids[1]).as_deref(), Some("it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer<'f, K: Kinds = AllKinds> {
    spelling: Spelling<'f, K>,
    begin: Option<u32>,
    ends: TextEnds,
    limits: TokenLimits,
}

/// A SentencePiece model, and the ids of the pieces that are found in a text as they are.
pub type PiecesAndAdded = (Boxed<SentencePieceModel<Vec<u8>>>, Vec<u32>);

/// A tokenizer of one of the kinds `K`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Spelling<'f, K: Kinds = AllKinds> {
    /// WordPiece.
    WordPiece(Boxed<WordPieces>),
    /// Byte-level BPE.
    BytePairs(K::Continuing<Boxed<BytePairs<Cow<'f, [u8]>>>>),
    /// SentencePiece, and the ids of the pieces that are found in a text as they are.
    SentencePiece(K::Continuing<PiecesAndAdded>),
    /// Any that a `tokenizer.json` can describe, of an encoder.
    Pipeline(Part<leaf::Pipeline, (Boxed<Pipeline>, Cuts)>),
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
                Self::from_word_pieces(WordPieces::new(file, &source)?, TokenLimits::NONE)
            }
            TokenizerSource::BytePairs(source) => {
                let pairs = BytePairs::new(&source)?.over(Cow::Borrowed(file));
                let begin = begin.or(pairs.index().ends.begin);
                Self::from_byte_pairs(pairs, begin)
            }
            TokenizerSource::SentencePiece(source) => {
                let (mut model, mut added) = (Growing::new(), Vec::new());
                source.write_model(&mut |bytes| model.append(bytes))?;
                source.each_added(|id| push(&mut added, id))?;
                let model = SentencePieceModel::open(model.into_vec()?, source.offset())?;
                let begin = begin.or(source.ends().begin);
                Self::from_pieces(model, added, begin, *source.ends())
            }
        }
    }

    /// From byte pairs that know the tokens which are added to them; `begin` is the model's
    /// beginning-of-text token.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn from_byte_pairs(pairs: BytePairs<Cow<'f, [u8]>>, begin: Option<u32>) -> Result<Self> {
        let ends = pairs.index().ends;
        let spelling = Spelling::BytePairs(Boxed::new(pairs)?);
        Ok(Self { spelling, begin, ends, limits: TokenLimits::NONE })
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
        let model = Boxed::new(model.with_added_by(&added, rules)?)?;
        let spelling = Spelling::SentencePiece((model, added));
        Ok(Self { spelling, begin, ends, limits: TokenLimits::NONE })
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

    /// The same for a shorter life.
    #[must_use]
    pub fn within<'s>(self) -> Tokenizer<'s>
    where
        'f: 's,
    {
        let Self { spelling, begin, ends, limits } = self;
        #[allow(clippy::needless_match, reason = "it is of another lifetime")]
        let spelling = match spelling {
            Spelling::WordPiece(pieces) => Spelling::WordPiece(pieces),
            Spelling::BytePairs(pairs) => Spelling::BytePairs(pairs),
            Spelling::SentencePiece(pieces) => Spelling::SentencePiece(pieces),
            Spelling::Pipeline(pipeline) => Spelling::Pipeline(pipeline),
        };
        Tokenizer { spelling, begin, ends, limits }
    }

    /// The tokenizer without the file that it is from.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has changed.
    pub fn detached(self) -> Result<Tokenizer<'static>> {
        let Self { spelling, begin, ends, limits } = self;
        let spelling = match spelling {
            Spelling::WordPiece(pieces) => Spelling::WordPiece(pieces),
            Spelling::BytePairs(pairs) => {
                Spelling::BytePairs(Boxed::new(pairs.into_inner().detached()?)?)
            }
            Spelling::SentencePiece(pieces) => Spelling::SentencePiece(pieces),
            Spelling::Pipeline(pipeline) => Spelling::Pipeline(pipeline),
        };
        Ok(Tokenizer { spelling, begin, ends, limits })
    }
}

impl<'f> Tokenizer<'f, TextKinds> {
    /// The same among all kinds.
    #[must_use]
    pub fn into_all_kinds(self) -> Tokenizer<'f> {
        let Self { spelling, begin, ends, limits } = self;
        let spelling = match spelling {
            Spelling::WordPiece(pieces) => Spelling::WordPiece(pieces),
            Spelling::Pipeline(pipeline) => Spelling::Pipeline(pipeline),
            Spelling::BytePairs(none) | Spelling::SentencePiece(none) => match none {},
        };
        Tokenizer { spelling, begin, ends, limits }
    }
}

impl<'f, K: Kinds> Tokenizer<'f, K> {
    fn from_word_pieces(pieces: WordPieces, limits: TokenLimits) -> Result<Self> {
        let ends = pieces.ends()?;
        let spelling = Spelling::WordPiece(Boxed::new(pieces)?);
        Ok(Self { spelling, begin: ends.begin, ends, limits })
    }

    /// The tokenizer of its kind.
    #[must_use]
    pub const fn spelling(&self) -> &Spelling<'f, K> {
        &self.spelling
    }

    /// The pieces, if the tokenizer is SentencePiece.
    #[must_use]
    pub fn pieces(&self) -> Option<SentencePiece<'_>> {
        match &self.spelling {
            Spelling::SentencePiece(pieces) => Some(K::get(pieces).0.tokenizer()),
            _ => None,
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.count(),
            Spelling::BytePairs(pairs) => K::get(pairs).index().count,
            Spelling::SentencePiece(pieces) => K::get(pieces).0.tokenizer().spec().pieces(),
            Spelling::Pipeline(pipeline) => pipeline.0.count(),
        }
    }

    /// The beginning-of-text token of a model that continues texts, even if it is not put before
    /// every text.
    #[must_use]
    pub const fn begin(&self) -> Option<u32> {
        self.begin
    }

    /// The tokens around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Returns true if a sampled token says that the model has finished.
    #[must_use]
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.end.contains(id)
    }

    /// The ids of the tokens that are found in a text as they are, but for those of encoders.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        match &self.spelling {
            Spelling::BytePairs(pairs) => K::get(pairs).added(),
            Spelling::SentencePiece(pieces) => &K::get(pieces).1,
            _ => &[],
        }
    }

    /// Returns true if there is a token of this id.
    #[must_use]
    pub fn has_token(&self, id: u32) -> bool {
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.has_token(id),
            Spelling::BytePairs(pairs) => K::get(pairs).token(id).is_ok(),
            Spelling::SentencePiece(pieces) => K::get(pieces).0.tokenizer().piece(id).is_some(),
            Spelling::Pipeline(pipeline) => pipeline.0.token(id).is_some(),
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
                core::str::from_utf8(K::get(pairs).token(id).ok()?).ok().map(Cow::Borrowed)
            }
            Spelling::SentencePiece(pieces) => {
                K::get(pieces).0.tokenizer().piece(id).map(|piece| Cow::Borrowed(piece.0))
            }
            Spelling::Pipeline(pipeline) => pipeline.0.token(id).map(String::from_utf8_lossy),
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
        session: &mut TextSession,
    ) -> Result<Vec<u32>> {
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.encode(text, special),
            Spelling::BytePairs(pairs) => K::get(pairs).encode(text, special),
            Spelling::SentencePiece(pieces) => {
                let mut ids = collected(self.ends.begin)?;
                K::get(pieces).0.encode(text, special, session.pieces()?, &mut ids)?;
                extend(&mut ids, self.ends.append)?;
                Ok(ids)
            }
            Spelling::Pipeline(pipeline) => {
                let (pipeline, cuts) = &**pipeline;
                cuts.first(pipeline, text, (usize::MAX, special), session).map(|found| found.ids)
            }
        }
    }

    /// Keeps so many of a text's ids, the one that is put after every text among them; returns true
    /// if there were more.
    pub fn truncate(&self, ids: &mut Vec<u32>, limit: usize) -> bool {
        let is_longer = ids.len() > limit;
        ids.truncate(limit);
        if let (true, Some(append), Some(last)) = (is_longer, self.ends.append, ids.last_mut()) {
            *last = append;
        }
        is_longer
    }
}
