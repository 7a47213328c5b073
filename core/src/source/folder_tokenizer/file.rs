//! The tokenizer of a file that keeps the texts of a folder.

use super::FolderTokenizerSource;
use super::added::AddedList;
use super::bpe_settings::BpeSettings;
use super::byte_pairs::is_kept;
use super::ends::Ends;
use super::merges::MergeList;
use super::source::ModelSource;
use super::unigram::UnigramSource;
use super::unigram_settings::UnigramSettings;
use super::vocabulary::TokenList;
use crate::describe::{self, tokenizer::Layout};
use crate::error::{Error, ErrorKind};
use crate::source::folder_file::{FolderFile, TokenizerSections};
use crate::source::word_pieces::WordPieceSource;
use crate::source::word_pieces::settings::WordSettings;
use crate::text::json::{Fault, Read};
use crate::token::spec::{AddedTokenSpec, BpeSpec, ModelKind, TokenizerSpec, UnigramSpec};

/// Without a heap, no words are looked up as wholes.
const NO_WORDS: Error = Error::without_offset(ErrorKind::UnsupportedTokenizer);

/// The parts of a file.
struct Parts<'a> {
    sections: TokenizerSections<'a>,
    /// All ids are below.
    vocabulary: usize,
}

impl<'a> FolderTokenizerSource<'a> {
    /// Returns what `then` makes of the tokenizer of a file whose model has rows for so many ids, and
    /// of its description, which is large.
    ///
    /// # Errors
    ///
    /// The setting that is not supported; [`ErrorKind::MissingVocabulary`] without a tokenizer; what
    /// `then` returns.
    pub(in crate::source) fn with_file<R>(
        file: &FolderFile<'a>,
        vocabulary: usize,
        then: impl FnOnce(Self, &TokenizerSpec<'a>) -> Read<'a, R>,
    ) -> Read<'a, R> {
        let sections = file.tokenizer()?;
        let mut spec = TokenizerSpec::default();
        describe::tokenizer::read_into(
            sections.settings,
            sections.offset,
            Layout::Apart,
            &mut spec,
        )?;
        let parts = Parts { sections, vocabulary };
        let source = match &spec.model.kind {
            ModelKind::Unigram(unigram) => parts.unigram(&spec, unigram)?,
            ModelKind::Bpe(bpe) => parts.pairs(&spec, bpe)?,
            ModelKind::WordPiece(_) => parts.word_pieces(&spec)?,
            ModelKind::Words(_) => return Err(Fault::from_error(NO_WORDS)),
        };
        then(source, &spec)
    }
}

impl<'a> Parts<'a> {
    #[inline(never)] // with its stack to itself
    fn unigram(
        &self,
        spec: &TokenizerSpec<'a>,
        unigram: &UnigramSpec,
    ) -> Read<'a, FolderTokenizerSource<'a>> {
        let (scores, tokens) = (self.sections.scores()?, self.tokens());
        let settings = UnigramSettings::from_spec(spec, unigram, tokens.entries.count)?;
        tokens.check()?;
        let added = AddedList::read(spec.added, |_| false)?;
        let model = ModelSource::Unigram(UnigramSource { settings, scores }, tokens);
        Ok(FolderTokenizerSource { model, added, ends: Ends::from_spec(spec)?, pair: None })
    }

    #[inline(never)] // with its stack to itself
    fn pairs(
        &self,
        spec: &TokenizerSpec<'a>,
        bpe: &BpeSpec<'a>,
    ) -> Read<'a, FolderTokenizerSource<'a>> {
        let (merges, tokens) = (self.sections.merges()?, self.tokens());
        let (settings, said) = BpeSettings::from_spec(spec, bpe, tokens.entries.count)?;
        tokens.check()?;
        let merges = MergeList::read(merges, said, &tokens.entries)?;
        let is_bytes = matches!(settings, BpeSettings::Bytes { .. });
        let keeps = |token: &AddedTokenSpec<'a>| is_bytes && is_kept(token, settings.composes());
        let added = AddedList::read(spec.added, keeps)?;
        let model = ModelSource::Bpe(settings, merges, tokens);
        Ok(FolderTokenizerSource { model, added, ends: Ends::from_spec(spec)?, pair: None })
    }

    #[inline(never)] // with its stack to itself
    fn word_pieces(&self, spec: &TokenizerSpec<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let Self { sections, vocabulary } = self;
        let entries = sections.entries;
        let settings = WordSettings::from_spec(spec, entries.count)?;
        let ends = Ends::from_spec(spec)?;
        let [first, last] = ends.both(spec)?;
        let tokens = (0..).zip(sections.tokens());
        let unknown = tokens.filter(|(_, token)| settings.is_unknown(token)).last();
        let bad = Error::new(entries.offset, ErrorKind::BadVocabulary);
        let (unknown, _) = unknown.ok_or(Fault::from_error(bad))?;
        let ids = [unknown, first, last];
        let (added, normalization) = (settings.added()?, settings.normalization());
        let words = WordPieceSource::from_folder(&entries, added, ids, normalization, *vocabulary)
            .map_err(Fault::from_error)?;
        let (model, added) = (ModelSource::WordPiece(words), AddedList::checked(added));
        Ok(FolderTokenizerSource { model, added, ends, pair: None })
    }

    fn tokens(&self) -> TokenList<'a> {
        let longest = self.sections.tokens().map(<[u8]>::len).max().unwrap_or(0);
        let Self { sections: TokenizerSections { entries, .. }, vocabulary } = *self;
        TokenList { entries, longest, vocabulary }
    }
}
