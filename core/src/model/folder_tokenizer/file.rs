//! The tokenizer of a `.weights` file that keeps the texts of a folder.

use super::FolderTokenizerSource;
use super::vocabulary::TokenizerParts;
use crate::error::{Error, ErrorKind};
use crate::format::embd::{Embd, TokenEntries};
use crate::model::folder::bpe_model::BpeModel;
use crate::model::folder::fallback_settings::FallbackSettings;
use crate::model::folder::pair_settings::PairSettings;
use crate::model::folder::tokenizer_root;
use crate::model::folder::unigram_settings::UnigramSettings;
use crate::model::folder::word_settings::WordSettings;
use crate::model::source::word_pieces::WordPieceSource;
use crate::text::json::{Fault, Object, Read, Value};

/// The tensor with the settings of the tokenizer.
const TOKENIZER: &str = "tokenizer.json";
/// The tensor with the scores of a Unigram tokenizer.
const SCORES: &str = "tokenizer.scores";
/// The tensor with the merges of BPE.
const MERGES: &str = "tokenizer.merges";

/// The parts of a file.
struct Parts<'f, 'a> {
    file: &'f Embd<'a>,
    entries: TokenEntries<'a>,
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
        file: &Embd<'a>,
        vocabulary: usize,
    ) -> Read<'a, (Self, Value<'a>)> {
        let entries = file.token_entries().ok_or(missing(TOKENIZER))?;
        let settings = file.tensor(TOKENIZER).ok_or(missing(TOKENIZER))?;
        let root = tokenizer_root::read(settings.data(), settings.header().offset)?;
        let value = root.value();
        let kind = value.member("model").and_then(|model| model.member("type"));
        let is = |name| kind.is_some_and(|kind| kind.is_text(name));
        let parts = Parts { file, entries, vocabulary };
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

impl<'a> Parts<'_, 'a> {
    fn unigram(&self, root: &Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let scores = self.beside_tokens(SCORES)?;
        let settings = UnigramSettings::read(root, self.entries.count)?;
        FolderTokenizerSource::unigram(self.with(settings, scores))
    }

    fn pairs(&self, root: &Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let merges = self.beside_tokens(MERGES)?;
        let model = BpeModel::read(root, self.entries.count)?;
        if model.byte_fallback {
            let settings = FallbackSettings::read(root, model)?;
            return FolderTokenizerSource::fallback(self.with(settings, merges));
        }
        let settings = PairSettings::read(root, model)?;
        FolderTokenizerSource::byte_pairs(self.with(settings, merges))
    }

    fn word_pieces(&self, root: Object<'a>) -> Read<'a, FolderTokenizerSource<'a>> {
        let Self { file, entries, vocabulary } = self;
        let settings = WordSettings::of(root, entries.count)?;
        let [first, last] = settings.ends()?;
        let tokens = (0..).zip(file.tokens());
        let unknown = tokens.filter(|(_, token)| settings.is_unknown(token)).last();
        let bad = Error::new(entries.offset, ErrorKind::BadVocabulary);
        let (unknown, _) = unknown.ok_or(Fault::of(bad))?;
        let ids = [unknown, first, last];
        let (added, normalization) = (settings.added()?, settings.normalization());
        let words = WordPieceSource::of_folder(entries, added, ids, normalization, *vocabulary)?;
        Ok(FolderTokenizerSource::word_pieces(words, added))
    }

    /// What the file has beside the tokens under this name.
    fn beside_tokens(&self, name: &'static str) -> Read<'a, &'a [u8]> {
        let mut fault = Fault::of(Error::without_offset(ErrorKind::MissingTensor));
        fault.key = name;
        Ok(self.file.tensor(name).ok_or(fault)?.data())
    }

    fn with<S>(&self, settings: S, beside: &'a [u8]) -> TokenizerParts<'a, S> {
        let longest = self.file.tokens().map(<[u8]>::len).max().unwrap_or(0);
        let Self { entries, vocabulary, .. } = *self;
        TokenizerParts { settings, entries, beside, longest, vocabulary }
    }
}

const fn missing(name: &'static str) -> Fault<'static> {
    let mut fault = Fault::of(Error::without_offset(ErrorKind::MissingVocabulary));
    fault.key = name;
    fault
}
