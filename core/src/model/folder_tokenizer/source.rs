//! Which tokenizer a file has.

use super::behind::may_be_cut;
use super::byte_pairs::PairSource;
use super::fallback::FallbackSource;
use super::fallback_settings::FallbackSettings;
use super::memory::TokenizingNeeds;
use super::pair_settings::PairSettings;
use super::pair_template::PairTemplate;
use super::ready::{self, FolderTokenizer};
use super::unigram::UnigramSource;
use super::unigram_settings::UnigramSettings;
use super::vocabulary::TokenizerParts;
use crate::error::Result;
use crate::model::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::model::source::word_pieces::WordPieceSource;
use crate::text::json::Read;
use crate::token::spec::AddedTokens;

/// Bytes of a prompt with a text behind it that there is room for at least.
const BEHIND: usize = 1024;

/// What a file says of its tokenizer.
#[derive(Clone, Debug)]
pub struct FolderTokenizerSource<'a> {
    kind: Kind<'a>,
    added: AddedTokens<'a>,
    pair: Option<PairTemplate>,
}

/// Which one it is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
enum Kind<'a> {
    WordPiece(WordPieceSource<'a>),
    Unigram(UnigramSource<'a>),
    BytePairs(PairSource<'a>),
    Fallback(FallbackSource<'a>),
}

impl<'a> FolderTokenizerSource<'a> {
    pub(super) const fn word_pieces(words: WordPieceSource<'a>, added: AddedTokens<'a>) -> Self {
        Self { kind: Kind::WordPiece(words), added, pair: None }
    }

    pub(super) fn unigram(parts: TokenizerParts<'a, UnigramSettings<'a>>) -> Read<'a, Self> {
        let added = parts.settings.added;
        Ok(Self { kind: Kind::Unigram(UnigramSource::new(parts)?), added, pair: None })
    }

    pub(super) fn byte_pairs(parts: TokenizerParts<'a, PairSettings<'a>>) -> Read<'a, Self> {
        let added = parts.settings.added;
        Ok(Self { kind: Kind::BytePairs(PairSource::new(parts)?), added, pair: None })
    }

    pub(super) fn fallback(parts: TokenizerParts<'a, FallbackSettings<'a>>) -> Read<'a, Self> {
        let added = parts.settings.added;
        Ok(Self { kind: Kind::Fallback(FallbackSource::new(parts)?), added, pair: None })
    }

    /// Whether a token is added whose id is not below `count`.
    pub(in crate::model) fn adds_beyond(&self, count: u32) -> bool {
        let mut tokens = self.added.iter();
        tokens.any(|token| token.is_ok_and(|token| token.id >= count))
    }

    /// The same of a model that compares two texts, around and between which it puts these.
    pub(in crate::model) fn with_pair(self, pair: PairTemplate) -> Self {
        Self { pair: Some(pair), ..self }
    }

    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> TokenizerNeeds {
        match &self.kind {
            Kind::WordPiece(words) => words.needs(),
            Kind::Unigram(unigram) => unigram.needs(),
            Kind::BytePairs(pairs) => pairs.needs(),
            Kind::Fallback(pairs) => pairs.needs(),
        }
    }

    /// What tokenising takes. With it every text has room that is used whole where so many tokens
    /// are used; longer ones do, too, but for words without end of which nothing is settled before
    /// all of them has been seen.
    #[must_use]
    pub fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let needs = match &self.kind {
            Kind::WordPiece(_) => TokenizingNeeds::default(),
            Kind::Unigram(unigram) => unigram.tokenizing(tokens),
            Kind::BytePairs(pairs) => pairs.tokenizing(tokens),
            Kind::Fallback(pairs) => pairs.tokenizing(tokens),
        };
        TokenizingNeeds { behind: tokens.saturating_mul(8).max(BEHIND), ..needs }
    }

    /// Makes the index in the memory lent.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if tokens, scores or added tokens are not
    /// those of one tokenizer; [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if the memory
    /// is less than [`needs`](Self::needs) says; what is wrong with the rules of normalisation.
    pub fn open(&self, memory: TokenizerMemory<'a>) -> Result<FolderTokenizer<'a>> {
        use ready::Kind as Ready;
        match &self.kind {
            Kind::WordPiece(words) => self.ready(|| words.open(memory).map(Ready::WordPiece)),
            Kind::Unigram(unigram) => self.ready(|| unigram.open(memory).map(Ready::Unigram)),
            Kind::BytePairs(pairs) => self.ready(|| pairs.open(memory).map(Ready::BytePairs)),
            Kind::Fallback(pairs) => self.ready(|| pairs.open(memory).map(Ready::Fallback)),
        }
    }

    #[inline(never)] // each kind is large, and has its stack to itself
    fn ready(&self, open: impl FnOnce() -> Result<ready::Kind<'a>>) -> Result<FolderTokenizer<'a>> {
        let kind = open()?;
        let may_cut = kind.has_words() && may_be_cut(self.added);
        Ok(FolderTokenizer { kind, may_cut, pair: self.pair.clone() })
    }
}
