//! The metadata of a GGUF file with an encoder, and which of its keys were asked for: a key that
//! nobody asks for is known to change nothing, or refused by name.

use alloc::collections::BTreeMap;
use core::cell::Cell;

use crate::describe::gguf::FURTHER;
use crate::describe::gguf::GgufRefusal;
use crate::error::Error;
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::Limit;

/// A result that says which key or tensor is at fault.
pub(super) type Outcome<'a, T> = Result<T, GgufRefusal<'a>>;

/// Why there is no encoder in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgufFault<'a> {
    /// What is wrong with the file.
    Error(Error),
    /// The key or tensor that is at fault.
    Refusal(GgufRefusal<'a>),
}

impl GgufFault<'_> {
    /// The same without words.
    #[must_use]
    pub const fn error(&self) -> Error {
        match self {
            Self::Error(error) => *error,
            Self::Refusal(refusal) => refusal.error(),
        }
    }
}

impl From<Error> for GgufFault<'_> {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl<'a> From<GgufRefusal<'a>> for GgufFault<'a> {
    fn from(refusal: GgufRefusal<'a>) -> Self {
        Self::Refusal(refusal)
    }
}

/// Before the keys of tokenizers.
const TOKENIZER: &str = "tokenizer.";
/// Before keys of this project's own.
const OWN: &str = "nanoembed.";
/// Copies of what other keys say, for other programs, and what models for chats have.
const COPIES: &[&str] = &["tokenizer.huggingface.json", "tokenizer.chat_template"];

/// Keys behind the architecture's name that change no embedding.
const OF_ARCHITECTURE: &[&str] = &[
    "classifier.output_labels",
    "classifier.pooling_type",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "vocab_size",
    // Of the other kind of norm.
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
];
/// Keys behind `tokenizer.ggml.` that change no embedding.
const OF_TOKENIZER: &[&str] = &[
    "added_tokens",
    "add_sep_token",
    "chat_template",
    "eom_token_id",
    "eot_token_id",
    "token_type_count",
];
/// What keys behind `nanoembed.` begin with that are prompts, about vectors that are there, or what
/// a file said of itself.
const OF_OWN: [&str; 4] = ["prompt.", "default_prompt_name", "similarity_fn_name", FURTHER];

const UNKNOWN: &str = "it is not known here, so what it changes would be lost";
const NUMBER: &str = "a number is needed here";
const ONE_VALUE: &str = "one value for all layers is honoured, not a list";

/// The metadata by key.
pub(super) struct Keys<'a> {
    pub(super) file: Gguf<'a>,
    pub(super) architecture: &'a str,
    settings: BTreeMap<&'a str, Setting<'a>>,
}

/// A value, and where its key stands.
struct Setting<'a> {
    key: &'a str,
    value: Value<'a>,
    offset: u64,
    is_asked: Cell<bool>,
}

impl<'a> Keys<'a> {
    /// The keys of `file`, whose architecture is called so.
    pub(super) fn read(file: Gguf<'a>, architecture: &'a str) -> Self {
        let mut settings = BTreeMap::new();
        let mut metadata = file.metadata();
        loop {
            let offset = metadata.offset();
            let Some((key, value)) = metadata.next() else { break };
            let setting = Setting { key, value, offset, is_asked: Cell::new(false) };
            // Keys of the architecture are asked for without its name.
            let own = key.strip_prefix(architecture).and_then(|key| key.strip_prefix('.'));
            settings.entry(own.unwrap_or(key)).or_insert(setting);
        }
        Self { file, architecture, settings }
    }

    fn asked(&self, key: &str) -> Option<&Setting<'a>> {
        let setting = self.settings.get(key)?;
        setting.is_asked.set(true);
        Some(setting)
    }

    /// The value of a key: of the architecture, without its name, or any other as a whole.
    pub(super) fn value(&self, key: &str) -> Option<Value<'a>> {
        self.asked(key).map(|setting| setting.value)
    }

    /// Takes keys for known that change nothing here.
    pub(super) fn known(&self, keys: &[&str]) {
        for key in keys {
            self.asked(key);
        }
    }

    /// Refuses the value of a key.
    pub(super) fn refuse(&self, key: &'static str, reason: &'static str) -> GgufRefusal<'a> {
        match self.settings.get(key) {
            Some(setting) => GgufRefusal::at(setting.key, setting.offset, reason),
            None => GgufRefusal::missing(key),
        }
    }

    /// The number under a key.
    pub(super) fn number(&self, key: &'static str) -> Outcome<'a, Option<f64>> {
        #[allow(clippy::cast_precision_loss)] // sizes are far below 2⁵³
        match self.value(key) {
            None => Ok(None),
            Some(Value::Unsigned(number)) => Ok(Some(number as f64)),
            Some(Value::Signed(number)) => Ok(Some(number as f64)),
            Some(Value::Float(number)) => Ok(Some(number)),
            Some(Value::Array { .. }) => Err(self.refuse(key, ONE_VALUE)),
            Some(_) => Err(self.refuse(key, NUMBER)),
        }
    }

    /// A positive number, such as the base of rotary frequencies.
    pub(super) fn positive(&self, key: &'static str) -> Outcome<'a, Option<f32>> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        #[allow(clippy::cast_possible_truncation)] // models are not this precise
        let number = number as f32;
        match number.is_finite() && number > 0.0 {
            true => Ok(Some(number)),
            false => Err(self.refuse(key, "a positive number is needed here")),
        }
    }

    /// A number of things.
    pub(super) fn size(&self, key: &'static str, limit: Limit) -> Outcome<'a, Option<usize>> {
        let number = match self.value(key) {
            None => return Ok(None),
            Some(Value::Unsigned(number)) => Some(number),
            Some(Value::Signed(number)) => u64::try_from(number).ok(),
            Some(Value::Array { .. }) => return Err(self.refuse(key, ONE_VALUE)),
            Some(_) => None,
        };
        let number = number.ok_or_else(|| self.refuse(key, NUMBER))?;
        let size = limit.check(number).map_err(|error| {
            self.refuse(key, "it is larger than in any model").of_kind(error.kind())
        })?;
        Ok(Some(size))
    }

    /// A number of things that is there, and not 0.
    pub(super) fn needed(&self, key: &'static str, limit: Limit) -> Outcome<'a, usize> {
        match self.size(key, limit)? {
            None => Err(GgufRefusal::missing(key)),
            Some(0) => Err(self.refuse(key, "a positive number is needed here")),
            Some(size) => Ok(size),
        }
    }

    /// The text under a key.
    pub(super) fn text(&self, key: &'static str) -> Outcome<'a, Option<&'a str>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.refuse(key, "a text is needed here")),
        }
    }

    /// The truth under a key; in this project's own keys it may be a word, as in other formats'
    /// metadata.
    pub(super) fn truth(&self, key: &'static str) -> Outcome<'a, Option<bool>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(truth)),
            Some(Value::Text(word @ ("true" | "false"))) => Ok(Some(word == "true")),
            Some(_) => Err(self.refuse(key, "true or false is needed here")),
        }
    }

    /// Refuses a key that nobody asked for, is not known to change nothing, and asks for something.
    pub(super) fn finish(&self) -> Outcome<'a, ()> {
        let lost = |setting: &&Setting<'a>| {
            !setting.is_asked.get() && self.is_of_model(setting.key) && !is_off(setting.value)
        };
        // The first one in the file.
        match self.settings.values().filter(lost).min_by_key(|setting| setting.offset) {
            Some(setting) => Err(GgufRefusal::at(setting.key, setting.offset, UNKNOWN)),
            None => Ok(()),
        }
    }

    /// Whether a key may change an embedding.
    fn is_of_model(&self, key: &str) -> bool {
        let behind = |prefix: &str| key.strip_prefix(prefix);
        let own = behind(self.architecture).and_then(|key| key.strip_prefix('.'));
        if let Some(own) = own {
            return !OF_ARCHITECTURE.contains(&own);
        }
        if let Some(own) = behind(OWN) {
            return !OF_OWN.iter().any(|known| own.starts_with(known));
        }
        if let Some(own) = behind("tokenizer.ggml.") {
            return !OF_TOKENIZER.contains(&own);
        }
        let is_copy = COPIES.iter().any(|copy| key.starts_with(copy));
        key.starts_with(TOKENIZER) && !is_copy
    }
}

/// Whether a value asks for nothing.
fn is_off(value: Value<'_>) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Unsigned(number) => number == 0,
        Value::Signed(number) => number == 0,
        Value::Float(number) => number == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::Array { count } => count == 0,
    }
}
