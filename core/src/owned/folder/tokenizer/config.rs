//! The settings of `tokenizer_config.json`, which complete those of `tokenizer.json`.

use alloc::borrow::Cow;
use alloc::string::String;

use super::members::{spelled_member, truth};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{copied, joined};
use crate::owned::folder::vocabulary::WordSettings;
use crate::owned::folder::{FolderFault, FolderResult, Texts};
use crate::text::json::{Fault, Value};

const CONFIG: &str = "tokenizer_config.json";

/// Families whose tokenizer is BERT's unless the folder names another.
const BERT_FAMILIES: [&str; 3] = ["bert", "distilbert", "jina_bert"];

/// Classes of transformers that set BERT's normaliser by `tokenizer_config.json`, without the
/// `Fast` after some.
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

/// The settings of `tokenizer_config.json`.
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
    /// The fault of the file.
    pub fn read(texts: Texts<'_, '_>, module: &str) -> FolderResult<Self> {
        let path = joined(&[module, CONFIG])?;
        let fault = |error| FolderFault::new(&path, Fault::from_error(error));
        let text = texts(&path).map_err(fault)?;
        let text = match text {
            None => copied("{}")?,
            Some(Cow::Borrowed(text)) => copied(text)?,
            Some(Cow::Owned(text)) => text,
        };
        let config = Value::parse(&text, 0).map_err(fault)?;
        let mut class = spelled_member(Some(config), "tokenizer_class")?;
        if let Some(class) = &mut class
            && let Some(length) = class.strip_suffix("Fast").map(str::len)
        {
            class.truncate(length);
        }
        Ok(Self { folder: copied(module)?, text, class })
    }

    /// The settings of BERT's tokenizer.
    pub(super) fn word_settings(&self) -> Result<WordSettings> {
        let config = Value::parse(&self.text, 0).ok();
        let said = |name| config.and_then(|config| truth(config, name));
        let mut names = ROLES.map(|_| String::new());
        for (name, (role, usual)) in names.iter_mut().zip(ROLES) {
            *name = match spelled_member(config, role)? {
                Some(said) => said,
                None => copied(usual)?,
            };
        }
        Ok(WordSettings {
            names,
            splits_chinese: said("tokenize_chinese_chars"),
            strips_accents: said("strip_accents"),
            lowercase: said("do_lower_case"),
        })
    }

    /// Returns true if models of this family have BERT's tokenizer, if theirs is WordPiece: this
    /// file then sets its normaliser, as in transformers.
    #[must_use]
    pub fn is_bert(&self, family: &str) -> bool {
        match self.class.as_deref() {
            Some(class) => BERT_CLASSES.contains(&class),
            None => BERT_FAMILIES.contains(&family),
        }
    }

    /// Returns true if a `tokenizer.json` names WordPiece or no kind.
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
        let path = joined(&[&self.folder, CONFIG]).unwrap_or_default();
        FolderFault::new(&path, Fault { error, key: name, only })
    }
}
