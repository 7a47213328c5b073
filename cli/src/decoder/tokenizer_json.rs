//! Byte-level BPE from a `tokenizer.json` of Hugging Face `tokenizers`.

use std::collections::BTreeMap;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::token::bpe::Pattern;
use serde_json::Value;

use super::byte_pairs::Parts;
use super::tokenizer::Tokenizer;
use crate::error::{Failure, Result, name_of};

/// Llama 3's pattern, as its file spells it.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// No vocabulary has more tokens.
const MAX_TOKENS: u32 = 1 << 24;

/// A parsed file.
pub(crate) struct TokenizerJson<'p> {
    path: &'p Path,
    value: Value,
}

impl<'p> TokenizerJson<'p> {
    pub(crate) const fn new(path: &'p Path, value: Value) -> Self {
        Self { path, value }
    }

    /// The tokenizer; `begin` and `end` stand for what the file does not say.
    pub(crate) fn tokenizer(
        &self,
        begin: Option<u32>,
        end: Option<u32>,
    ) -> Result<Tokenizer<'static>> {
        let model = self.at("/model/type").and_then(Value::as_str).unwrap_or_default();
        if model != "BPE" {
            return Err(self.unsupported(format!("its model is {model:?}; only BPE is known")));
        }
        if self.at("/normalizer").is_some_and(|it| !it.is_null()) {
            return Err(self.unsupported("it normalises texts".into()));
        }
        let added = self.added()?;
        let first = self.first_token();
        let first = first.and_then(|token| added.iter().find(|it| it.1 == token).map(|it| *it.0));
        let parts = Parts {
            pattern: self.pattern()?,
            tokens: self.tokens(&added)?,
            merges: self.merges()?,
            added: added.into_keys().collect(),
            begin: first,
            end,
        };
        let pairs = parts.build().map_err(|error| Failure::of_file(name_of(self.path), error))?;
        Ok(Tokenizer::of_byte_pairs(pairs, (first.or(begin), end), first.is_some()))
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        self.value.pointer(pointer)
    }

    fn refuse(&self, kind: ErrorKind, message: String) -> Failure {
        Failure::input(kind, message).at(self.path.display())
    }

    fn unsupported(&self, why: String) -> Failure {
        self.refuse(ErrorKind::UnsupportedVersion, format!("this tokenizer is not known: {why}"))
    }

    fn bad(&self, message: String) -> Failure {
        self.refuse(ErrorKind::BadVocabulary, message)
    }

    fn pattern(&self) -> Result<Pattern> {
        let steps = match self.at("/pre_tokenizer/pretokenizers").and_then(Value::as_array) {
            Some(steps) => steps.iter().collect(),
            None => self.at("/pre_tokenizer").into_iter().collect::<Vec<_>>(),
        };
        let text = |step: &Value, pointer: &str| {
            step.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let is_set = |step: &Value, key: &str| step.get(key).and_then(Value::as_bool) == Some(true);
        let kinds: Vec<String> = steps.iter().map(|step| text(step, "/type")).collect();
        let bytes = steps.last().filter(|step| !is_set(step, "add_prefix_space"));
        let uses_regex = bytes.is_some_and(|it| it.get("use_regex") != Some(&Value::Bool(false)));
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        match (kinds.as_slice(), steps.first(), bytes) {
            (["ByteLevel"], _, Some(_)) if uses_regex => Ok(Pattern::Gpt2),
            (["Digits", "ByteLevel"], Some(digits), Some(_))
                if uses_regex && is_set(digits, "individual_digits") =>
            {
                Ok(Pattern::SmolLm)
            }
            (["Split", "ByteLevel"], Some(split), Some(_))
                if !uses_regex && text(split, "/pattern/Regex") == LLAMA_3 =>
            {
                Ok(Pattern::Llama3)
            }
            _ => Err(self.unsupported(format!("it cuts texts by {kinds:?} in a way of its own"))),
        }
    }

    fn added(&self) -> Result<BTreeMap<u32, String>> {
        let tokens = self.at("/added_tokens").and_then(Value::as_array).into_iter().flatten();
        let token = |token: &Value| {
            let id = self.id(token.get("id")?)?;
            Some((id, token.get("content")?.as_str()?.to_owned()))
        };
        let bad = || self.bad("an added token lacks id or content".into());
        tokens.map(|it| token(it).ok_or_else(bad)).collect()
    }

    fn id(&self, value: &Value) -> Option<u32> {
        u32::try_from(value.as_u64()?).ok().filter(|id| *id < MAX_TOKENS)
    }

    /// All tokens in the order of their ids; ids that no token has get names that no text has.
    fn tokens(&self, added: &BTreeMap<u32, String>) -> Result<Vec<Vec<u8>>> {
        let vocabulary = self.at("/model/vocab").and_then(Value::as_object);
        let vocabulary = vocabulary.ok_or_else(|| self.bad("it has no vocabulary".into()))?;
        let mut by_id = BTreeMap::new();
        for (token, id) in vocabulary {
            let id = self.id(id).ok_or_else(|| self.bad(format!("{token:?} has no usable id")))?;
            by_id.insert(id, token.as_str());
        }
        by_id.extend(added.iter().map(|(id, token)| (*id, token.as_str())));
        let count = by_id.last_key_value().map_or(0, |(id, _)| id + 1);
        let token = |id: u32| match by_id.get(&id) {
            Some(token) => token.as_bytes().to_vec(),
            None => format!("[no token {id}]").into_bytes(),
        };
        Ok((0..count).map(token).collect())
    }

    /// Older files have both parts in one string.
    fn merges(&self) -> Result<Vec<(String, String)>> {
        let merges = self.at("/model/merges").and_then(Value::as_array).into_iter().flatten();
        let pair = |merge: &Value| match merge {
            Value::String(pair) => {
                pair.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned()))
            }
            Value::Array(pair) => match pair.as_slice() {
                [Value::String(left), Value::String(right)] => Some((left.clone(), right.clone())),
                _ => None,
            },
            _ => None,
        };
        let bad = |merge: &Value| self.bad(format!("{merge} is no merge"));
        merges.map(|merge| pair(merge).ok_or_else(|| bad(merge))).collect()
    }

    /// The token that the template of a single text begins with.
    fn first_token(&self) -> Option<&str> {
        let steps = match self.at("/post_processor/processors").and_then(Value::as_array) {
            Some(steps) => steps.iter().collect(),
            None => self.at("/post_processor").into_iter().collect::<Vec<_>>(),
        };
        let template = steps
            .into_iter()
            .find(|step| step.get("type").and_then(Value::as_str) == Some("TemplateProcessing"));
        template?.pointer("/single/0/SpecialToken/id")?.as_str()
    }
}
