//! The tokenizer of a file that keeps the texts of a folder.

use super::FolderTokenizerSource;
use super::vocabulary::TokenizerParts;
use crate::error::{Error, ErrorKind};
use crate::model::folder::bpe_model::BpeModel;
use crate::model::folder::fallback_settings::FallbackSettings;
use crate::model::folder::pair_settings::PairSettings;
use crate::model::folder::tokenizer_root;
use crate::model::folder::unigram_settings::UnigramSettings;
use crate::model::folder::word_settings::WordSettings;
use crate::model::folder_file::{FolderFile, TokenizerSections};
use crate::model::source::word_pieces::WordPieceSource;
use crate::text::json::{Fault, Object, Read, Value};

/// The parts of a file.
struct Parts<'a> {
    sections: TokenizerSections<'a>,
    /// All ids are below.
    vocabulary: usize,
}

impl<'a> FolderTokenizerSource<'a> {
    /// The tokenizer of a file whose model has rows for so many ids, and its settings.
    ///
    /// # Errors
    ///
    /// The setting that is not done here; [`ErrorKind::MissingVocabulary`] without a tokenizer.
    pub(in crate::model) fn of_file(
        file: &FolderFile<'a>,
        vocabulary: usize,
    ) -> Read<'a, (Self, Value<'a>)> {
        let sections = file.tokenizer()?;
        let root = tokenizer_root::read(sections.settings, sections.offset)?;
        let value = root.value();
        let kind = value.member("model").and_then(|model| model.member("type"));
        let is = |name| kind.is_some_and(|kind| kind.is_text(name));
        let parts = Parts { sections, vocabulary };
        let source = if is("Unigram") {
            parts.unigram(&root)?
        } else if is("BPE") {
            parts.pairs(&root)?
        } else {
            parts.word_pieces(root)?
        };
        Ok((source, value))
    }
}

impl<'a> Parts<'a> {
    #[inline(never)] // with its stack to itself
    fn unigram(&self, root: &Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let scores = self.sections.scores()?;
        let settings = UnigramSettings::read(root, self.sections.entries.count)?;
        FolderTokenizerSource::unigram(self.with(settings, scores))
    }

    #[inline(never)] // with its stack to itself
    fn pairs(&self, root: &Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let merges = self.sections.merges()?;
        let model = BpeModel::read(root, self.sections.entries.count)?;
        if model.byte_fallback {
            let settings = FallbackSettings::read(root, model)?;
            return FolderTokenizerSource::fallback(self.with(settings, merges));
        }
        let settings = PairSettings::read(root, model)?;
        FolderTokenizerSource::byte_pairs(self.with(settings, merges))
    }

    #[inline(never)] // with its stack to itself
    fn word_pieces(&self, root: Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let Self { sections, vocabulary } = self;
        let entries = sections.entries;
        let settings = WordSettings::of(root, entries.count)?;
        let [first, last] = settings.ends()?;
        let tokens = (0..).zip(sections.tokens());
        let unknown = tokens.filter(|(_, token)| settings.is_unknown(token)).last();
        let bad = Error::new(entries.offset, ErrorKind::BadVocabulary);
        let (unknown, _) = unknown.ok_or(Fault::of(bad))?;
        let ids = [unknown, first, last];
        let (added, normalization) = (settings.added()?, settings.normalization());
        let words = WordPieceSource::of_folder(&entries, added, ids, normalization, *vocabulary)?;
        Ok(FolderTokenizerSource::word_pieces(words, added))
    }

    fn with<S>(&self, settings: S, beside: &'a [u8]) -> TokenizerParts<'a, S> {
        let longest = self.sections.tokens().map(<[u8]>::len).max().unwrap_or(0);
        let Self { sections: TokenizerSections { entries, .. }, vocabulary } = *self;
        TokenizerParts { settings, entries, beside, longest, vocabulary }
    }
}
