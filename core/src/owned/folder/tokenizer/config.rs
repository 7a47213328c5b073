//! What `tokenizer_config.json` says beside a `tokenizer.json`.

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};

use super::said::{spelled, truth};
use crate::error::{Error, ErrorKind};
use crate::owned::folder::vocabulary::WordSettings;
use crate::owned::folder::{FolderFault, FolderResult, Texts};
use crate::text::json::{Fault, Value};

const CONFIG: &str = "tokenizer_config.json";

/// Families whose tokenizer is BERT's unless the folder names another.
const BERT_FAMILIES: [&str; 2] = ["bert", "distilbert"];

/// Classes of transformers that set BERT's normaliser by `tokenizer_config.json`, without the
/// `Fast` behind some.
const BERT_CLASSES: [&str; 2] = ["BertTokenizer", "DistilBertTokenizer"];

/// The keys of tokens with a role, and BERT's own.
pub(super) const ROLES: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

pub(super) const OTHERWISE: &str = "`tokenizer.json` has it otherwise";

/// What `tokenizer_config.json` says.
#[derive(Clone, Debug)]
pub struct TokenizerConfig {
    /// The folder that it lies in.
    pub(super) folder: String,
    pub(super) text: String,
    pub(super) class: Option<String>,
}

impl TokenizerConfig {
    /// Reads that of the folder's `module`, which ends with `/` or is empty.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(texts: Texts<'_, '_>, module: &str) -> FolderResult<Self> {
        let path = [module, CONFIG].concat();
        let fault = |error| FolderFault::new(&path, Fault::from_error(error));
        let text = texts(&path).map_err(fault)?;
        let text = text.map_or_else(|| "{}".to_string(), Cow::into_owned);
        let config = Value::parse(&text, 0).map_err(fault)?;
        let class = config.member("tokenizer_class").and_then(spelled);
        let class = class.map(|class| class.strip_suffix("Fast").unwrap_or(&class).to_string());
        Ok(Self { folder: module.to_string(), text, class })
    }

    /// What it says of BERT's tokenizer.
    pub(super) fn word_settings(&self) -> WordSettings {
        let config = Value::parse(&self.text, 0).ok();
        let said = |name| config.and_then(|config| truth(config, name));
        let named = |role| config.and_then(|config| config.member(role)).and_then(spelled);
        WordSettings {
            names: ROLES.map(|(role, usual)| named(role).unwrap_or_else(|| usual.to_string())),
            splits_chinese: said("tokenize_chinese_chars"),
            strips_accents: said("strip_accents"),
            lowercase: said("do_lower_case"),
        }
    }

    /// Whether the tokenizer of a model of this family is BERT's own, whose normaliser transformers
    /// sets by this file, if it is one of WordPiece.
    #[must_use]
    pub fn is_bert(&self, family: &str) -> bool {
        match self.class.as_deref() {
            Some(class) => BERT_CLASSES.contains(&class),
            None => BERT_FAMILIES.contains(&family),
        }
    }

    /// Whether a `tokenizer.json` is one of WordPiece, as far as it says.
    #[must_use]
    pub fn has_word_pieces(tokenizer: &str) -> bool {
        let model = Value::parse(tokenizer, 0).ok().and_then(|file| file.member("model"));
        model.is_none_or(|model| model.member("type").is_none_or(|kind| kind.is_text("WordPiece")))
    }

    /// Refuses a setting, at its value if it is there.
    pub(super) fn refuse(
        &self,
        config: Value<'_>,
        name: &'static str,
        only: &'static str,
    ) -> FolderFault {
        self.refuse_value(config.member(name).unwrap_or(config), name, only)
    }

    pub(super) fn refuse_value(
        &self,
        at: Value<'_>,
        name: &'static str,
        only: &'static str,
    ) -> FolderFault {
        let error = Error::new(at.offset(), ErrorKind::UnsupportedSetting);
        FolderFault::new(&[&*self.folder, CONFIG].concat(), Fault { error, key: name, only })
    }
}
