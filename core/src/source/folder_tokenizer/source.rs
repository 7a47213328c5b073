//! The tokenizer of a file and the memory that it takes.

use super::added::AddedList;
use super::bpe_settings::BpeSettings;
use super::byte_pairs::PairTokenizer;
use super::encoding::{FolderTokenizer, Kind};
use super::ends::Ends;
use super::fallback::FallbackTokenizer;
use super::memory::TokenizingNeeds;
use super::merges::{MergeList, WORD};
use super::prompt_text::may_be_cut;
use super::unigram::UnigramSource;
use super::vocabulary::TokenList;
use crate::error::Result;
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::source::word_pieces::WordPieceSource;
use crate::token::added_words::AddedTokens;
use crate::token::spec::IdTemplate;

/// Bytes of a prompt with a text after it that there is room for at least.
const PROMPTED: usize = 1024;

/// Bytes of a text without spaces that can be composed at least.
const COMPOSED: usize = 1024;

/// A tokenizer as its file describes it.
#[derive(Clone, Debug)]
pub struct FolderTokenizerSource<'a> {
    pub(super) model: ModelSource<'a>,
    pub(super) added: AddedList<'a>,
    pub(super) ends: Ends,
    pub(super) pair: Option<IdTemplate>,
}

/// A model and its tokens.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub(super) enum ModelSource<'a> {
    WordPiece(WordPieceSource<'a>),
    Unigram(UnigramSource<'a>, TokenList<'a>),
    Bpe(BpeSettings, MergeList<'a>, TokenList<'a>),
}

impl<'a> FolderTokenizerSource<'a> {
    /// Returns true if a token is added whose id is not below `count`.
    pub(in crate::source) fn adds_beyond(&self, count: u32) -> bool {
        let mut tokens = self.added.listed().iter();
        tokens.any(|token| token.is_ok_and(|token| token.id >= count))
    }

    /// The same of a model that compares two texts, around and between which it puts these.
    pub(in crate::source) fn with_pair(self, pair: IdTemplate) -> Self {
        Self { pair: Some(pair), ..self }
    }

    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> TokenizerNeeds {
        match &self.model {
            ModelSource::WordPiece(words) => words.needs(),
            ModelSource::Unigram(unigram, tokens) => {
                let mut needs = tokens.needs(&self.added);
                unigram.add_needs(&mut needs);
                needs
            }
            ModelSource::Bpe(_, merges, tokens) => {
                let mut needs = tokens.needs(&self.added);
                merges.add_needs(&mut needs);
                needs
            }
        }
    }

    /// The memory that tokenising takes. With it every text has room that is used whole where so many tokens
    /// are used; longer ones do, too, but for words without end of which nothing is settled before
    /// all of them has been seen.
    #[must_use]
    pub fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let needs = match &self.model {
            ModelSource::WordPiece(_) => TokenizingNeeds::default(),
            ModelSource::Unigram(_, list) => UnigramSource::tokenizing(list, tokens),
            ModelSource::Bpe(settings, ..) => {
                // Words of up to four bytes or characters for each token.
                let word = tokens.saturating_mul(4).max(WORD);
                let text = if settings.composes() { word.max(COMPOSED) } else { 0 };
                TokenizingNeeds::words(word, text)
            }
        };
        TokenizingNeeds { after: tokens.saturating_mul(8).max(PROMPTED), ..needs }
    }

    /// Makes the index in the memory lent.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if tokens, scores or added tokens are not
    /// those of one tokenizer; [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if the memory
    /// is less than [`needs`](Self::needs) says; what is wrong with the rules of normalisation.
    pub fn open(&self, mut memory: TokenizerMemory<'a>) -> Result<FolderTokenizer<'a>> {
        let added = (&self.added, self.ends);
        let memory = &mut memory;
        match &self.model {
            ModelSource::WordPiece(words) => self.ready(|| {
                let words = words.open(core::mem::take(memory))?;
                // Its vocabulary has the added tokens.
                Ok((Kind::WordPiece(words), AddedTokens::NONE))
            }),
            ModelSource::Unigram(unigram, list) => self.ready(|| {
                let rules = unigram.rules(memory)?;
                let tables = list.index(added, memory)?;
                let added = tables.added;
                Ok((Kind::Unigram(unigram.open(rules, tables)?), added))
            }),
            ModelSource::Bpe(settings, merges, list) => self.ready(|| {
                let tables = list.index(added, memory)?;
                let (added, table) = (tables.added, merges.index(&tables.tokens, memory)?);
                let kind = match *settings {
                    BpeSettings::Bytes { composes, pattern, ignores_merges } => {
                        let settings = (pattern, ignores_merges, composes);
                        Kind::BytePairs(PairTokenizer::new(settings, table, tables)?)
                    }
                    BpeSettings::Characters { mark } => {
                        Kind::Fallback(FallbackTokenizer::new(mark, merges, table, tables)?)
                    }
                };
                Ok((kind, added))
            }),
        }
    }

    #[inline(never)] // each kind is large, and has its stack to itself
    fn ready(
        &self,
        open: impl FnOnce() -> Result<(Kind<'a>, AddedTokens<'a>)>,
    ) -> Result<FolderTokenizer<'a>> {
        let (kind, added) = open()?;
        let may_cut = kind.has_words() && may_be_cut(self.added.listed());
        Ok(FolderTokenizer { kind, added, ends: self.ends, may_cut, pair: self.pair.clone() })
    }
}
