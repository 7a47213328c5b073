//! Prompts: texts that a model wants before others, such as `query: `; and what else
//! `config_sentence_transformers.json` says.
//!
//! | source | where |
//! |---|---|
//! | a folder | `config_sentence_transformers.json` |
//! | `.weights`, `.amb`, GGUF | the keys below in metadata, configuration, and after `nanoembed.` |
//!
//! | key | value |
//! |---|---|
//! | `prompt.NAME` | the prompt called NAME |
//! | `default_prompt_name` | the one that stands before every text unless another is asked for |
//! | `include_prompt` | `false` if the prompt's tokens are left out of the mean |
//! | `similarity_fn_name` | how vectors are compared, if that is not by their cosine |

use alloc::string::String;
use alloc::vec::{self, Vec};
use core::fmt;

use super::text_loader::{no_memory, read};
use super::{FolderResult, Similarity, Texts};
use crate::describe::folder::{DEFAULT_PROMPT, DOCUMENT, FolderPrompts, QUERY, SIMILARITY};
use crate::error::Result;
use crate::event;
use crate::limit::{copied, joined, push, reserve, spelled};
use crate::source::ModelSource;
use crate::text::json::Value;
use crate::text::json::chars;

const PROMPT: &str = "prompt.";
const POOLED: &str = "include_prompt";

/// Before the keys in a GGUF file.
const OWN: &str = "nanoembed.";

/// The prompts of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompts {
    /// Prompts by their names.
    pub by_name: PromptTexts,
    /// The name of the one that stands before every text unless another is asked for.
    pub default: Option<String>,
    /// True if a prompt's tokens count in pooling.
    pub are_pooled: bool,
    /// How vectors are compared.
    pub similarity: Similarity,
}

impl Default for Prompts {
    fn default() -> Self {
        Self {
            by_name: PromptTexts::default(),
            default: None,
            are_pooled: true,
            similarity: Similarity::default(),
        }
    }
}

/// The choice of a prompt.
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
    /// The model's prompt for questions, or none.
    Query,
    /// The model's prompt for texts that answer questions, or none.
    Document,
}

/// The name of a prompt that a model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPrompt<'p>(pub &'p str);

impl fmt::Display for NoPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no prompt {:?}", self.0)
    }
}

/// Prompts in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptTexts(Vec<(String, String)>);

impl PromptTexts {
    /// The prompt called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&String> {
        let place = self.place(name).ok()?;
        self.0.get(place).map(|(_, text)| text)
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    /// Names and prompts.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter().map(|(name, text)| (name, text))
    }

    /// Adds a prompt, or changes that of this name.
    fn insert(&mut self, name: String, text: String) -> Result<()> {
        match self.place(&name) {
            Ok(place) => self.0[place].1 = text,
            Err(place) => {
                reserve(&mut self.0, 1)?;
                self.0.insert(place, (name, text));
            }
        }
        Ok(())
    }

    fn place(&self, name: &str) -> core::result::Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

impl IntoIterator for PromptTexts {
    type Item = (String, String);
    type IntoIter = vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Prompts {
    /// Reads `config_sentence_transformers.json`; none if the folder does not have it.
    ///
    /// # Errors
    ///
    /// The fault of the file.
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Self> {
        read(texts, &|texts| {
            Self::from_described(&FolderPrompts::read(texts, true)?).map_err(no_memory)
        })
    }

    fn from_described(prompts: &FolderPrompts<'_>) -> Result<Self> {
        let mut by_name = PromptTexts::default();
        for (name, text) in prompts.all() {
            by_name.insert(written(name)?, written(text)?)?;
        }
        Ok(Self {
            by_name,
            default: prompts.default_name().map(written).transpose()?,
            are_pooled: prompts.are_pooled,
            similarity: prompts.similarity,
        })
    }

    /// Those that a file has under keys of its own.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn from_source(source: &ModelSource<'_>) -> Result<Self> {
        let mut prompts = Self::default();
        match source {
            ModelSource::Amb(amb) => {
                let config = Value::parse(amb.config(), 0).ok();
                for (key, value) in config.iter().flat_map(Value::members) {
                    let text = value.as_text().unwrap_or(value.spelling());
                    prompts.take(&written(key)?, &written(text)?)?;
                }
            }
            ModelSource::Embd(embd) => {
                for (key, value) in embd.metadata() {
                    prompts.take(key, value)?;
                }
            }
            ModelSource::Gguf(gguf) => {
                for (key, value) in gguf.metadata() {
                    let Some(key) = key.strip_prefix(OWN) else { continue };
                    match value {
                        event::Value::Text(text) => prompts.take(key, text)?,
                        event::Value::Bool(true) => prompts.take(key, "true")?,
                        event::Value::Bool(false) => prompts.take(key, "false")?,
                        _ => false,
                    };
                }
            }
        }
        Ok(prompts)
    }

    /// Takes one of a file's keys and its value. Returns true if it is about prompts.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn take(&mut self, key: &str, value: &str) -> Result<bool> {
        if let Some(name) = key.strip_prefix(PROMPT) {
            self.by_name.insert(copied(name)?, copied(value)?)?;
        } else if key == DEFAULT_PROMPT {
            self.default = Some(copied(value)?);
        } else if key == POOLED {
            self.are_pooled = value != "false";
        } else if key == SIMILARITY {
            self.similarity = Similarity::named(value);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The keys and values for a file's metadata.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn metadata(&self) -> Result<Vec<(String, String)>> {
        let mut metadata = Vec::new();
        let mut add = |key: &[&str], value| push(&mut metadata, (joined(key)?, copied(value)?));
        for (name, prompt) in &self.by_name.0 {
            add(&[PROMPT, name], prompt)?;
        }
        // An empty one is none, and readers that know no prompts refuse a file that names one.
        let is_text = |name: &&String| self.by_name.get(name).is_none_or(|text| !text.is_empty());
        if let Some(name) = self.default.as_ref().filter(is_text) {
            add(&[DEFAULT_PROMPT], name)?;
        }
        if !self.are_pooled {
            add(&[POOLED], "false")?;
        }
        if self.similarity != Similarity::default() {
            add(&[SIMILARITY], self.similarity.name())?;
        }
        Ok(metadata)
    }

    /// The text that is to stand before others. There is none for queries or documents if the model
    /// has none for them: its default prompt is for texts without a role, as in
    /// sentence-transformers.
    ///
    /// # Errors
    ///
    /// [`NoPrompt`] if the model has no prompt of the given name.
    pub fn choose<'p>(&'p self, wanted: &'p Prefix) -> core::result::Result<&'p str, NoPrompt<'p>> {
        let found = |name: &str| self.by_name.get(name).map(String::as_str);
        let named = |name: &'p str| found(name).ok_or(NoPrompt(name));
        match wanted {
            Prefix::Text(text) => Ok(text),
            Prefix::Named(name) => named(name),
            Prefix::Query => Ok(found(QUERY).unwrap_or_default()),
            Prefix::Document => Ok(DOCUMENT.into_iter().find_map(found).unwrap_or_default()),
            Prefix::Usual => self.default.as_deref().map_or(Ok(""), named),
        }
    }

    /// The same as [`choose`](Self::choose), but where nothing is asked for, the prompt for `role`.
    ///
    /// # Errors
    ///
    /// As [`choose`](Self::choose) of what is asked for.
    pub fn choose_for<'p>(
        &'p self,
        role: &'p Prefix,
        wanted: &'p Prefix,
    ) -> core::result::Result<&'p str, NoPrompt<'p>> {
        self.choose(if *wanted == Prefix::Usual { role } else { wanted })
    }
}

/// A spelling with its escapes resolved.
fn written(spelling: &str) -> Result<String> {
    spelled(chars(spelling))
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;

    use super::*;
    use crate::describe::folder::CONFIG_SENTENCE_TRANSFORMERS as FILE;

    fn read(text: &str) -> FolderResult<Prompts> {
        Prompts::read(&|path: &str| Ok((path == FILE).then_some(Cow::Borrowed(text))))
    }

    #[test]
    fn prompts_are_chosen_by_what_is_asked_for() {
        let prompts = read(
            r#"{"prompts": {"query": "q: ", "passage": "p: ", "none": null},
                "default_prompt_name": "passage", "similarity_fn_name": "dot"}"#,
        );
        let prompts = prompts.unwrap();
        assert_eq!(prompts.similarity, Similarity::Dot);
        assert_eq!(prompts.choose(&Prefix::Usual), Ok("p: "));
        assert_eq!(prompts.choose(&Prefix::Query), Ok("q: "));
        assert_eq!(prompts.choose(&Prefix::Document), Ok("p: "));
        assert_eq!(prompts.choose(&Prefix::Text("x".into())), Ok("x"));
        let odd = Prefix::Named("odd".into());
        assert_eq!(prompts.choose(&odd), Err(NoPrompt("odd")));
        assert_eq!(prompts.choose_for(&Prefix::Query, &Prefix::Usual), Ok("q: "));
        assert_eq!(prompts.choose_for(&Prefix::Query, &Prefix::Named("none".into())), Ok(""));
        let mut again = Prompts::default();
        assert!(
            prompts.metadata().unwrap().iter().all(|(key, value)| again.take(key, value).unwrap())
        );
        assert_eq!(again, prompts);
        assert_eq!(Prompts::default().choose(&Prefix::Query), Ok(""));
        assert_eq!(Prompts::default().choose(&Prefix::Usual), Ok(""));
    }

    #[test]
    fn a_role_without_a_prompt_has_none_whatever_the_default_is() {
        let prompts = |text: &str| read(text).unwrap();
        let of_queries =
            prompts(r#"{"prompts": {"query": "q: "}, "default_prompt_name": "query"}"#);
        assert_eq!(of_queries.choose_for(&Prefix::Query, &Prefix::Usual), Ok("q: "));
        assert_eq!(of_queries.choose_for(&Prefix::Document, &Prefix::Usual), Ok(""));
        assert_eq!(of_queries.choose_for(&Prefix::Usual, &Prefix::Usual), Ok("q: "));
        let own = Prefix::Text("x: ".into());
        assert_eq!(of_queries.choose_for(&Prefix::Document, &own), Ok("x: "));
        let other = prompts(r#"{"prompts": {"sts": "s: "}, "default_prompt_name": "sts"}"#);
        for role in [Prefix::Query, Prefix::Document] {
            assert_eq!(other.choose_for(&role, &Prefix::Usual), Ok(""));
        }
        let aliased = prompts(
            r#"{"prompts": {"sts": "s: ", "passage": "p: "}, "default_prompt_name": "sts"}"#,
        );
        assert_eq!(aliased.choose_for(&Prefix::Document, &Prefix::Usual), Ok("p: "));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let key = |text: &str| read(text).unwrap_err().key;
        // Which packages are to be installed changes no result.
        read(r#"{"requirements": {"transformers": ">=5.15"}, "__version__": {}}"#).unwrap();
        assert_eq!(key(r#"{"default_prompt_name": "query"}"#), "default_prompt_name");
        assert_eq!(key(r#"{"prompts": {"query": 1}}"#), "prompts");
        assert_eq!(key(r#"{"prompts": []}"#), "prompts");
        assert_eq!(key(r#"{"similarity_fn_name": "hamming"}"#), "similarity_fn_name");
        assert_eq!(key(r#"{"odd": 1}"#), "odd");
    }
}
