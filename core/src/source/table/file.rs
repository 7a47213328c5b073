//! A static model's settings in a `.weights` file.

use super::model::StaticModel;
use crate::describe::folder::{
    Base, CONFIG, CONFIG_SENTENCE_TRANSFORMERS, MODULES, ModuleList, TableSettings, TextFault,
    TextPath, Texts as _, described_table,
};
use crate::describe::tokenizer::{self, Layout};
use crate::error::{Error, ErrorKind};
use crate::format::embd::{Embd, EmbdTokenEntries};
use crate::model::TokenTable;
use crate::source::folder_tokenizer::FolderTokenizerSource;
use crate::source::stored::{TokenIndex, TokenPlaces};
use crate::source::word_pieces::settings::WordSettings;
use crate::tensor::TensorHeader;
use crate::text::json::{Fault, Object, Read, Value};
use crate::token::spec::ModelKind;
use crate::token::spec::TokenizerSpec;
use crate::token::{LengthPrefix, Normalization, SpecialIds, Vocabulary};

/// The tensor with the settings of the tokenizer.
const TOKENIZER: &str = "tokenizer.json";
/// The name of static models in the metadata.
const STATIC: &str = "static";

/// Suffixes of the texts of the encoder's module and its tokenizer, which a table does not use.
const UNUSED: [&str; 3] = ["_config.json", "sentence_bert_config.json", "tokenizer_config.json"];

/// A `.weights` file in memory whose model is a table with a vector for each token.
///
/// ```
/// use nanoembed_core::event::Mode;
/// use nanoembed_core::format::embd::{DecoderOver, Embd, TensorRecord};
/// use nanoembed_core::source::TableSource;
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// # let file = std::fs::read(path)?;
/// let mut room = [TensorRecord::EMPTY; 64];
/// let embd = Embd::parse_with(DecoderOver::lent(Mode::Lenient, &mut room), &file)?;
/// assert!(!TableSource::is_in(&embd)); // a transformer
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableSource<'a> {
    file: Embd<'a>,
    entries: EmbdTokenEntries<'a>,
    settings: TableSettings,
    /// `None` if the tokenizer is not BERT's.
    words: Option<WordSettings<'a>>,
}

impl<'a> TableSource<'a> {
    /// Returns true if the model of a file is a table.
    #[must_use]
    pub fn is_in(file: &Embd<'a>) -> bool {
        file.metadata_value("architecture") == Some(STATIC)
    }

    /// Reads the settings of a file's table.
    ///
    /// # Errors
    ///
    /// Any fault of the settings; [`ErrorKind::UnsupportedSetting`] for unsupported ones, such as a
    /// prompt before every text; [`ErrorKind::MissingVocabulary`] without a tokenizer.
    pub fn read(file: Embd<'a>) -> Read<'a, Self> {
        Self::from_embd(file, |spec, tokens| WordSettings::from_spec(spec, tokens).map(Some))
    }

    /// As [`read`](Self::read), but also for a table with a Unigram tokenizer, which
    /// [`tokenizer`](Self::tokenizer) returns.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_any(file: Embd<'a>) -> Read<'a, Self> {
        Self::from_embd(file, |spec, tokens| match spec.model.kind {
            ModelKind::Unigram(_) => Ok(None),
            _ => WordSettings::from_spec(spec, tokens).map(Some),
        })
    }

    fn from_embd(
        file: Embd<'a>,
        words: impl FnOnce(&TokenizerSpec<'a>, u32) -> Read<'a, Option<WordSettings<'a>>>,
    ) -> Read<'a, Self> {
        let settings = settings(&file)?;
        check_texts(&file)?;
        let entries = file.token_entries();
        let entries = entries.ok_or(missing("tokenizer.json", ErrorKind::MissingVocabulary))?;
        let tokenizer = file.tensor(TOKENIZER);
        let tokenizer = tokenizer.ok_or(missing("tokenizer.json", ErrorKind::MissingVocabulary))?;
        let at = tokenizer.header().offset;
        let mut spec = TokenizerSpec::default();
        tokenizer::read_into(tokenizer.data(), at, Layout::Apart, &mut spec)?;
        let settings = settings.with_truncation(spec.truncation);
        let words = words(&spec, entries.count)?;
        words.map_or(Ok(()), |words| words.check_added())?;
        Ok(Self { file, entries, settings, words })
    }

    /// Rejects a file with optional prompts. Empty ones are allowed: sentence-transformers writes
    /// one for queries and one for documents.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] at the first prompt that is not empty.
    #[cfg(feature = "alloc")]
    pub(crate) fn check_prompts(&self) -> Read<'a, ()> {
        let texts =
            self.file.metadata().filter(|(path, _)| path.ends_with(CONFIG_SENTENCE_TRANSFORMERS));
        for (_, text) in texts {
            let config = Object::new(Value::parse(text, 0).map_err(Fault::from_error)?)?;
            let prompts = config.object("prompts")?;
            let mut prompts = prompts.iter().flat_map(|it| it.value().members());
            let is_empty = |it: Value<'_>| it.is_null() || it.as_text() == Some("");
            if let Some((_, prompt)) = prompts.find(|&(_, prompt)| !is_empty(prompt)) {
                let error = Error::new(prompt.offset(), ErrorKind::UnsupportedSetting);
                let only = "no prompt is put before texts here";
                return Err(Fault { error, key: "prompts", only });
            }
        }
        Ok(())
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'a>> {
        self.file.tensor(name).map(|tensor| *tensor.header())
    }

    /// The normalisation of texts before they are split into words.
    #[must_use]
    pub const fn normalization(&self) -> Normalization {
        match &self.words {
            Some(words) => words.normalization(),
            None => Normalization::new(false, None),
        }
    }

    /// The tokenizer, if it is not BERT's.
    ///
    /// # Errors
    ///
    /// A setting that is not supported.
    pub fn tokenizer(&self) -> Read<'a, Option<FolderTokenizerSource<'a>>> {
        if self.words.is_some() {
            return Ok(None);
        }
        let table = TokenTable::open(&|name| self.header(name)).map_err(Fault::from_error)?;
        let tokenizer =
            FolderTokenizerSource::with_file(&self.file.into(), table.tokens(), |tokenizer, _| {
                Ok(tokenizer)
            })?;
        // Model2Vec finds unknown tokens by the vocabulary alone.
        if self.settings.drops_unknown && tokenizer.adds_beyond(self.entries.count) {
            return Err(missing("added_tokens", ErrorKind::UnsupportedSetting));
        }
        Ok(Some(tokenizer))
    }

    /// The ids of the special tokens that a text may contain.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the vocabulary lacks one;
    /// [`ErrorKind::UnsupportedTokenizer`] if the tokenizer is not BERT's.
    pub fn special(&self, vocabulary: &impl Vocabulary) -> Read<'a, SpecialIds> {
        let other = missing("tokenizer.json", ErrorKind::UnsupportedTokenizer);
        self.words.as_ref().ok_or(other)?.special(vocabulary)
    }

    /// The locations of the tokens.
    #[must_use]
    pub const fn tokens(&self) -> TokenPlaces {
        let prefix = match self.entries.length_bytes {
            2 => LengthPrefix::U16,
            _ => LengthPrefix::U32,
        };
        TokenPlaces { offset: self.entries.offset, count: self.entries.count, prefix }
    }

    /// The entries of the tokens, contiguous.
    #[must_use]
    pub const fn token_bytes(&self) -> &'a [u8] {
        self.entries.bytes
    }

    /// The location of the index over the tokens, if the file has one.
    #[must_use]
    pub fn token_index(&self) -> Option<TokenIndex> {
        TokenIndex::find(self.entries.count, |name| self.header(name))
    }

    /// Opens the model.
    ///
    /// # Errors
    ///
    /// As [`TokenTable::open`]; [`ErrorKind::WrongShape`] for a table without a row for one of the
    /// tokens; [`ErrorKind::BadVocabulary`] for tokens that are not UTF-8.
    pub fn model(&self) -> Read<'a, StaticModel> {
        let find = |name: &str| self.header(name);
        let table = TokenTable::open(&find).map_err(Fault::from_error)?;
        table.check_tokens(self.entries.count, &find).map_err(Fault::from_error)?;
        let bad = Error::new(self.entries.offset, ErrorKind::BadVocabulary);
        let median = match self.settings.drops_unknown {
            true => Some(self.median_characters().ok_or(Fault::from_error(bad))?),
            false => None,
        };
        Ok(StaticModel::new(table, &self.settings, median))
    }

    /// The median number of characters of the tokens, rounded down; `None` if one is not UTF-8.
    /// Without memory to sort them, the vocabulary is read about ten times.
    fn median_characters(&self) -> Option<usize> {
        let tokens = || self.file.tokens().filter(|token| !token.is_empty());
        // Counts the characters of valid UTF-8.
        let characters = |token: &[u8]| token.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let (mut count, mut most) = (0_usize, 0);
        for token in tokens() {
            core::str::from_utf8(token).ok()?;
            (count, most) = (count.saturating_add(1), characters(token).max(most));
        }
        // The smallest length that is at least that of `rank` tokens.
        let at = |rank: usize| {
            let (mut low, mut high) = (0_usize, most);
            while low < high {
                let middle = low.midpoint(high);
                let upto = tokens().filter(|token| characters(token) <= middle);
                match upto.count() > rank {
                    true => high = middle,
                    false => low = middle.saturating_add(1),
                }
            }
            low
        };
        let half = count / 2;
        Some(match count % 2 {
            1 => at(half),
            _ if count == 0 => 0,
            _ => at(half.saturating_sub(1)).midpoint(at(half)),
        })
    }
}

/// The settings of a table, whose only further modules scale its vectors.
fn settings<'a>(file: &Embd<'a>) -> Read<'a, TableSettings> {
    let modules = ModuleList::read(file).map_err(TextFault::setting_fault)?;
    check_modules(&modules)?;
    let path = TextPath { folder: modules.folder, name: CONFIG };
    let config = file.text(path).map_err(Fault::from_error)?;
    let config =
        config.map(|config| Value::parse(config, 0).map_err(Fault::from_error)).transpose()?;
    let settings = described_table(path, config, &modules).map_err(TextFault::setting_fault)?;
    settings.ok_or(missing(
        CONFIG,
        match config {
            Some(_) => ErrorKind::UnsupportedArchitecture,
            None => ErrorKind::MissingMetadata,
        },
    ))
}

/// Rejects modules that are not supported for tables.
fn check_modules<'a>(modules: &ModuleList<'a>) -> Read<'a, ()> {
    let is_table =
        modules.base == Base::Table && modules.pooling.is_none() && modules.head.is_empty();
    if is_table || !modules.are_listed() {
        return Ok(());
    }
    let error = Error::new(0, ErrorKind::UnsupportedSetting);
    let only = "only a table and what brings its vectors to length 1 are done here";
    Err(Fault { error, key: "type", only })
}

/// Rejects a prompt before every text, and unknown texts.
fn check_texts<'a>(file: &Embd<'a>) -> Read<'a, ()> {
    for (path, text) in file.metadata() {
        let slash = path.bytes().rposition(|byte| byte == b'/');
        let name = path.get(slash.map_or(0, |slash| slash.saturating_add(1))..).unwrap_or_default();
        match name {
            CONFIG_SENTENCE_TRANSFORMERS => {
                let prompts = Object::new(Value::parse(text, 0).map_err(Fault::from_error)?)?;
                let only = "no prompt is put before texts here";
                prompts.neutral("default_prompt_name", only, |_| false)?;
            }
            CONFIG | MODULES => {}
            // Not a file of the folder but a note of the file's writer.
            name if !name.as_bytes().contains(&b'.') => {}
            name if UNUSED.iter().any(|unused| name.ends_with(unused)) => {}
            _ => {
                let error = Error::without_offset(ErrorKind::UnsupportedSetting);
                return Err(Fault { error, key: path, only: "" });
            }
        }
    }
    Ok(())
}

const fn missing(key: &'static str, kind: ErrorKind) -> Fault<'static> {
    Fault { error: Error::without_offset(kind), key, only: "" }
}
