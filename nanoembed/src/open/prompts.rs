//! Prompts: texts that a model wants before others, such as `query: `.
//!
//! | source | where |
//! |---|---|
//! | a folder | `config_sentence_transformers.json` |
//! | `.weights`, `.amb`, GGUF | the keys below in metadata, configuration, and behind `nanoembed.` |
//!
//! | key | value |
//! |---|---|
//! | `prompt.NAME` | the prompt called NAME |
//! | `default_prompt_name` | the one that stands before every text unless another is asked for |
//! | `include_prompt` | `false` if the prompt's tokens are left out of the mean |

use std::collections::BTreeMap;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Value;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::ModelSource;

use crate::convert::checkpoint::settings::read_json;
use crate::error::{Error, Result, name_of};
use crate::open::settings_rule::{Members, irrelevant};

const PROMPT: &str = "prompt.";
const DEFAULT: &str = "default_prompt_name";
const POOLED: &str = "include_prompt";
const OWN: &str = "nanoembed.";

/// The prompts of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    by_name: BTreeMap<String, String>,
    default: Option<String>,
    /// Whether a prompt's tokens count for the mean.
    pub are_pooled: bool,
}

impl Default for Prompts {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), default: None, are_pooled: true }
    }
}

/// What stands before texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefix {
    /// The model's default prompt, if it has one.
    #[default]
    Usual,
    /// This text.
    Text(String),
    /// The model's prompt of this name.
    Named(String),
    /// The model's prompt for questions.
    Query,
    /// The model's prompt for texts that answer questions.
    Document,
}

impl Prompts {
    /// Adds what the folder of a model says.
    pub fn read_folder(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join("config_sentence_transformers.json");
        let Some(value) = read_json(&path)? else { return Ok(()) };
        let config = Members::new(&value, name_of(&path))?;
        if let Some(prompts) = config.nested("prompts")? {
            for name in prompts.names() {
                let prompt = prompts.text(&name)?.unwrap_or_default().to_owned();
                self.by_name.insert(name, prompt);
            }
        }
        self.default = config.text(DEFAULT)?.map(str::to_owned);
        if self.default.as_ref().is_some_and(|name| !self.by_name.contains_key(name)) {
            return Err(config.bad(DEFAULT, "names none of the prompts"));
        }
        config.finish(irrelevant::SENTENCE_TRANSFORMERS)
    }

    /// Takes one of a file's keys and its value; answers whether it is about prompts.
    pub fn take(&mut self, key: &str, value: &str) -> bool {
        if let Some(name) = key.strip_prefix(PROMPT) {
            self.by_name.insert(name.to_owned(), value.to_owned());
        } else if key == DEFAULT {
            self.default = Some(value.to_owned());
        } else if key == POOLED {
            self.are_pooled = value != "false";
        } else {
            return false;
        }
        true
    }

    /// Those of a model's file.
    pub(crate) fn of_model(model: &ModelSource<'_>) -> Self {
        match model {
            ModelSource::Amb(amb) => Self::of_amb(amb),
            ModelSource::Embd(embd) => Self::of_embd(embd),
            ModelSource::Gguf(gguf) => Self::of_gguf(gguf),
            _ => Self::default(),
        }
    }

    /// Those in the configuration of an `.amb` file.
    pub fn of_amb(amb: &Amb<'_>) -> Self {
        let mut prompts = Self::default();
        let config: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(amb.config()).unwrap_or_default();
        for (key, value) in &config {
            let spelled = value.to_string();
            prompts.take(key, value.as_str().unwrap_or(&spelled));
        }
        prompts
    }

    /// Those in the metadata of a GGUF file.
    pub fn of_gguf(gguf: &Gguf<'_>) -> Self {
        let mut prompts = Self::default();
        for (key, value) in gguf.metadata() {
            let Some(key) = key.strip_prefix(OWN) else { continue };
            match value {
                Value::Text(text) => prompts.take(key, text),
                Value::Bool(truth) => prompts.take(key, &truth.to_string()),
                _ => false,
            };
        }
        prompts
    }

    /// Those in the metadata of a `.weights` file.
    pub fn of_embd(embd: &Embd<'_>) -> Self {
        let mut prompts = Self::default();
        for (key, value) in embd.metadata() {
            prompts.take(key, value);
        }
        prompts
    }

    /// The keys and values for a file's metadata.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let prompt =
            |(name, prompt): (&String, &String)| (format!("{PROMPT}{name}"), prompt.clone());
        let mut metadata: Vec<_> = self.by_name.iter().map(prompt).collect();
        // An empty one is none, and readers that know no prompts refuse a file that names one.
        let is_text = |name: &&String| self.by_name.get(*name).is_none_or(|text| !text.is_empty());
        let default = self.default.iter().filter(is_text);
        metadata.extend(default.map(|name| (DEFAULT.to_owned(), name.clone())));
        if !self.are_pooled {
            metadata.push((POOLED.to_owned(), "false".to_owned()));
        }
        metadata
    }

    /// The text that is to stand before others.
    pub fn choose(&self, wanted: &Prefix) -> Result<String> {
        let named = |name: &str| {
            self.by_name
                .get(name)
                .cloned()
                .ok_or_else(|| self.refuse(&format!("no prompt {name:?}")))
        };
        let first_of = |names: &[&str], role: &str| {
            let found = names.iter().find_map(|name| self.by_name.get(*name));
            found.cloned().ok_or_else(|| self.refuse(&format!("no prompt for a {role}")))
        };
        match wanted {
            Prefix::Text(text) => Ok(text.clone()),
            Prefix::Named(name) => named(name),
            Prefix::Query => first_of(&["query"], "query"),
            Prefix::Document => first_of(&["document", "passage", "corpus"], "document"),
            Prefix::Usual => match &self.default {
                Some(name) => named(name),
                None => Ok(String::new()),
            },
        }
    }

    /// That the tokens of a prompt are to be left out of the mean where that is not done.
    pub(crate) fn refuse_left_out(&self) -> Error {
        let message = "the model leaves the tokens of a prompt out of the mean (`include_prompt` is false), which is not done for this kind of model";
        Error::input(ErrorKind::UnsupportedSetting, message)
            .with_hint("`--prompt \"\"` embeds texts without one")
    }

    /// The same as [`choose`](Self::choose), but where nothing is asked for, the prompt for `role`
    /// if the model has one.
    pub fn choose_for(&self, role: &Prefix, wanted: &Prefix) -> Result<String> {
        match self.choose(role) {
            Ok(prompt) if *wanted == Prefix::Usual => Ok(prompt),
            _ => self.choose(wanted),
        }
    }

    fn refuse(&self, what: &str) -> Error {
        let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        let failure = Error::not_found(format!("the model has {what}"));
        match known.as_slice() {
            [] => failure
                .with_hint("it has no prompts; `--prompt TEXT` puts any text before every text"),
            known => failure.with_hint(format!("its prompts are {}", known.join(", "))),
        }
    }
}
