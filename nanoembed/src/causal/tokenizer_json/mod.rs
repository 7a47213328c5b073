//! Byte-level BPE, and SentencePiece that merges, from a `tokenizer.json` of Hugging Face
//! `tokenizers`.

mod checks;
mod pieces;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::limit::Limit;
use nanoembed_core::token::TextEnds;
use nanoembed_core::token::bpe::Pattern;
use nanoembed_core::token::bpe::alphabet::character;
use serde_json::Value;

use super::byte_pairs::Parts;
use super::ends::FolderEnds;
use super::tokenizer::Tokenizer;
use crate::error::{Error, Result, name_of};

/// A parsed file.
pub struct TokenizerJson<'p> {
    path: &'p Path,
    value: Value,
}

impl<'p> TokenizerJson<'p> {
    pub const fn new(path: &'p Path, value: Value) -> Self {
        Self { path, value }
    }

    /// The tokenizer; `ends` is what the folder's other files say of the tokens around texts.
    pub fn tokenizer(&self, ends: &FolderEnds) -> Result<Tokenizer<'static>> {
        if self.escapes_spaces() {
            return self.sentence_pieces(ends);
        }
        let ignores_merges = self.check_model()?;
        self.check_decoder()?;
        let composes = self.composes()?;
        let added = self.added()?;
        let tokens = self.tokens(&added)?;
        let around = self.around(ends)?;
        let parts = Parts {
            pattern: self.pattern()?,
            tokens,
            merges: self.merges()?,
            added: added.into_keys().collect(),
            ignores_merges,
            composes,
            ends: around,
        };
        let pairs = parts.build().map_err(|error| Error::in_file(name_of(self.path), error))?;
        Ok(Tokenizer::from_byte_pairs(pairs, around.begin.or(ends.begin)))
    }

    /// Refuses models and settings of BPE that are not done here; says whether whole words go
    /// before merges.
    fn check_model(&self) -> Result<bool> {
        let kind = self.at("/model/type").and_then(Value::as_str).unwrap_or_default();
        if kind != "BPE" {
            return Err(self.unsupported(format!("its model is {kind:?}; only BPE is known")));
        }
        let model = self.at("/model").and_then(Value::as_object);
        let mut ignores_merges = false;
        for (name, value) in model.into_iter().flatten() {
            let is_off = match name.as_str() {
                "type" | "vocab" | "merges" => true,
                "ignore_merges" => {
                    ignores_merges = value == &Value::Bool(true);
                    value.is_boolean()
                }
                // Nothing is unknown where all bytes have tokens.
                "unk_token" | "fuse_unk" => self.has_all_bytes(),
                "dropout" => value.as_f64().unwrap_or_default() == 0.0,
                "continuing_subword_prefix" | "end_of_word_suffix" => {
                    value.as_str().unwrap_or_default().is_empty()
                }
                "byte_fallback" => value == &Value::Bool(false) || self.has_all_bytes(),
                _ => false,
            };
            if !(is_off || value.is_null()) {
                return Err(self.unsupported(format!("its model has `{name}`: {value}")));
            }
        }
        Ok(ignores_merges)
    }

    /// Whether texts are brought into Unicode's form NFC first; other normalisers are refused.
    fn composes(&self) -> Result<bool> {
        let Some(normalizer) = self.at("/normalizer").filter(|it| !it.is_null()) else {
            return Ok(false);
        };
        match kind_of(normalizer) {
            "NFC" if only(normalizer, &["type"]) => Ok(true),
            named => Err(self.unsupported(format!("it normalises texts (`normalizer`: {named})"))),
        }
    }

    fn has_all_bytes(&self) -> bool {
        let vocabulary = self.at("/model/vocab").and_then(Value::as_object);
        let mut room = [0; 4];
        vocabulary.is_some_and(|all| {
            (0..=u8::MAX).all(|byte| all.contains_key(&*character(byte).encode_utf8(&mut room)))
        })
    }

    /// Refuses other ways from tokens to texts than that of bytes.
    fn check_decoder(&self) -> Result<()> {
        let kind = self.at("/decoder/type").and_then(Value::as_str);
        match kind.unwrap_or("ByteLevel") {
            "ByteLevel" => Ok(()),
            other => Err(self.unsupported(format!("its decoder is {other:?}"))),
        }
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        self.value.pointer(pointer)
    }

    fn refuse(&self, kind: ErrorKind, message: String) -> Error {
        Error::input(kind, message).at(self.path.display())
    }

    fn unsupported(&self, why: String) -> Error {
        self.refuse(ErrorKind::UnsupportedTokenizer, format!("this tokenizer is not known: {why}"))
    }

    fn bad(&self, message: String) -> Error {
        self.refuse(ErrorKind::BadVocabulary, message)
    }

    fn pattern(&self) -> Result<Pattern> {
        let steps = self.steps("/pre_tokenizer", "/pre_tokenizer/pretokenizers");
        let kinds: Vec<&str> = steps.iter().map(|step| kind_of(step)).collect();
        let own = || self.unsupported(format!("it cuts texts by {kinds:?} in a way of its own"));
        let Some((bytes, before)) =
            steps.split_last().filter(|_| kinds.last() == Some(&"ByteLevel"))
        else {
            return Err(own());
        };
        // Of the two members that say how bytes are cut, one is on unless it is off.
        let members = ["type", "add_prefix_space", "use_regex", "trim_offsets"];
        if is_set(bytes, "add_prefix_space") || !only(bytes, &members) {
            return Err(own());
        }
        let by_gpt2 = bytes.get("use_regex") != Some(&Value::Bool(false));
        match (before, by_gpt2) {
            ([], true) => Ok(Pattern::Gpt2),
            ([digits], true)
                if kind_of(digits) == "Digits"
                    && is_set(digits, "individual_digits")
                    && only(digits, &["type", "individual_digits"]) =>
            {
                Ok(Pattern::SmolLm)
            }
            ([split], false) => {
                let cuts = |pattern: &Pattern| {
                    pattern.expression().is_some_and(|expression| cuts_by(split, expression))
                };
                [Pattern::Llama3, Pattern::Qwen2].into_iter().find(cuts).ok_or_else(own)
            }
            _ => Err(own()),
        }
    }

    /// The steps of a sequence under `inner`, or the one under `outer`.
    fn steps(&self, outer: &str, inner: &str) -> Vec<&Value> {
        match self.at(inner).and_then(Value::as_array) {
            Some(steps) => steps.iter().collect(),
            None => self.at(outer).into_iter().filter(|it| !it.is_null()).collect(),
        }
    }

    fn added(&self) -> Result<BTreeMap<u32, String>> {
        let tokens = self.at("/added_tokens").and_then(Value::as_array).into_iter().flatten();
        let token = |token: &Value| {
            let id = self.id(token.get("id")?)?;
            Some((id, token.get("content")?.as_str()?.to_owned()))
        };
        let mut all = BTreeMap::new();
        for added in tokens {
            let lacking = || self.bad("an added token lacks id or content".into());
            let (id, content) = token(added).ok_or_else(lacking)?;
            // `special` is about what is said, not about what is read.
            for rule in ["lstrip", "rstrip", "single_word"] {
                if is_set(added, rule) {
                    let message = format!("the added token {content:?} has `{rule}`");
                    return Err(self.unsupported(message));
                }
            }
            let other = all.insert(id, content.clone()).filter(|other| *other != content);
            if let Some(other) = other {
                let message = format!("the added tokens {other:?} and {content:?} have id {id}");
                return Err(self.bad(message));
            }
        }
        Ok(all)
    }

    fn id(&self, value: &Value) -> Option<u32> {
        u32::try_from(value.as_u64()?).ok().filter(|id| (*id as usize) < Limit::TOKENS.most)
    }

    /// All tokens in the order of their ids; ids that no token has get names that no text has.
    fn tokens(&self, added: &BTreeMap<u32, String>) -> Result<Vec<Vec<u8>>> {
        let vocabulary = self.at("/model/vocab").and_then(Value::as_object);
        let vocabulary = vocabulary.ok_or_else(|| self.bad("it has no vocabulary".into()))?;
        let mut by_id = BTreeMap::new();
        for (token, id) in vocabulary {
            let id = self.id(id).ok_or_else(|| self.bad(format!("{token:?} has no usable id")))?;
            if let Some(other) = by_id.insert(id, token.as_str()) {
                return Err(self.bad(format!("{other:?} and {token:?} both have id {id}")));
            }
        }
        by_id.extend(added.iter().map(|(id, token)| (*id, token.as_str())));
        let count = by_id.last_key_value().map_or(0, |(id, _)| id + 1);
        let most = Limit::ids_of(by_id.len());
        if count as usize > most {
            let tokens = by_id.len();
            let message = format!("its ids go up to {}, but it has {tokens} tokens", count - 1);
            return Err(self
                .refuse(ErrorKind::OverLimit, message)
                .with_hint(format!("so few tokens may have ids below {most}")));
        }
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
        let merges = merges.map(|merge| pair(merge).ok_or_else(|| bad(merge)));
        let merges = merges.collect::<Result<Vec<_>>>()?;
        // `tokenizers` takes the last one, others the first one.
        let mut seen = HashSet::with_capacity(merges.len());
        match merges.iter().find(|pair| !seen.insert(*pair)) {
            Some((left, right)) => {
                Err(self.unsupported(format!("{left:?} and {right:?} are merged twice")))
            }
            None => Ok(merges),
        }
    }

    /// The tokens around texts, by the template of a single text.
    fn around(&self, ends: &FolderEnds) -> Result<TextEnds> {
        let [begin, append] = self.template()?;
        Ok(TextEnds { begin, append, end: ends.end })
    }

    /// What the template of a single text puts before and behind it.
    fn template(&self) -> Result<[Option<u32>; 2]> {
        let mut around = [None, None];
        for step in self.steps("/post_processor", "/post_processor/processors") {
            match kind_of(step) {
                // It only moves offsets.
                "ByteLevel" => {}
                "TemplateProcessing" => around = self.template_of(step)?,
                other => {
                    let message = format!("it puts tokens around texts by `{other}`");
                    return Err(self.unsupported(message));
                }
            }
        }
        Ok(around)
    }

    fn template_of(&self, step: &Value) -> Result<[Option<u32>; 2]> {
        let own =
            || self.unsupported("its template puts more than one token before or behind".into());
        let no_text = || self.unsupported("its template has not one place for the text".into());
        let mut around = [None, None];
        let mut behind = 0;
        for item in step.get("single").and_then(Value::as_array).into_iter().flatten() {
            let Some(token) = item.pointer("/SpecialToken/id").and_then(Value::as_str) else {
                let is_text = item.pointer("/Sequence/id").is_some_and(|id| id == "A");
                behind += if is_text { 1 } else { 2 };
                continue;
            };
            let place = around.get_mut(behind).ok_or_else(own)?;
            let id = self.template_token(step, token)?;
            if place.replace(id).is_some() {
                return Err(own());
            }
        }
        if behind == 1 { Ok(around) } else { Err(no_text()) }
    }

    /// The id of a token of a template, which has ids of its own for its tokens.
    fn template_token(&self, step: &Value, token: &str) -> Result<u32> {
        let own = step.get("special_tokens").and_then(|all| all.get(token)?.get("ids"));
        let found = match own.and_then(Value::as_array).map(Vec::as_slice) {
            Some([id]) => self.id(id),
            Some(_) => {
                let message = format!("its template has several tokens for {token:?}");
                return Err(self.unsupported(message));
            }
            None => self.added()?.iter().find(|it| it.1 == token).map(|it| *it.0),
        };
        found.ok_or_else(|| self.bad(format!("its template has {token:?}, which is no token")))
    }
}

/// The type of a step.
fn kind_of(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_set(step: &Value, key: &str) -> bool {
    step.get(key).and_then(Value::as_bool) == Some(true)
}

/// Whether a step has no other members than these.
fn only(step: &Value, members: &[&str]) -> bool {
    let all = step.as_object().into_iter().flatten();
    all.into_iter().all(|(name, value)| members.contains(&name.as_str()) || value.is_null())
}

/// Whether a step cuts by an expression and keeps every piece.
fn cuts_by(split: &Value, expression: &str) -> bool {
    let text = |pointer: &str| split.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    kind_of(split) == "Split"
        && text("/pattern/Regex") == expression
        && text("/behavior") == "Isolated"
        && !is_set(split, "invert")
        && only(split, &["type", "pattern", "behavior", "invert"])
}
