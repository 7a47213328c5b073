//! `config_sentence_transformers.json`: the prompts of a model, and its similarity measure.

use super::CONFIG_SENTENCE_TRANSFORMERS;
use super::late_interaction::LateInteraction;
use super::similarity::Similarity;
use super::texts::{ReadText, TextPath, Texts};
use crate::leaf;
use crate::limit::Limit;
use crate::model::DenseActivation;
use crate::text::json::{Object, Read, Value, chars, is};

/// The member with the named prompts.
pub const PROMPTS: &str = "prompts";
/// The member with the name of the default prompt.
pub const DEFAULT_PROMPT: &str = "default_prompt_name";
/// The member with the number of elements of embeddings that are kept.
pub(super) const TRUNCATE_DIM: &str = "truncate_dim";
/// Irrelevant members: versions and required packages.
const IRRELEVANT: &[&str] = &["__version__", "model_type", "requirements"];

/// The names of prompts for documents.
pub const DOCUMENT: [&str; 3] = ["document", "passage", "corpus"];
/// The name of the prompt for queries.
pub const QUERY: &str = "query";

/// The prompts of a model, borrowed from its text.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FolderPrompts<'a> {
    by_name: Option<Value<'a>>,
    default: Option<&'a str>,
    /// True if a prompt's tokens count in pooling.
    pub are_pooled: bool,
    /// The similarity measure.
    pub similarity: Similarity,
    /// The activation that cross-encoders apply to logits.
    pub on_logits: Option<DenseActivation>,
    /// The number of elements of embeddings, if only the first ones are kept.
    pub truncate_dim: Option<usize>,
    /// The tokens of texts for late interaction, if stated; other models are the same without.
    pub late_interaction: Option<LateInteraction<'a>>,
}

/// A choice of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FolderPrompt<'n> {
    /// The default prompt.
    Usual,
    /// The prompt for queries, or none.
    Query,
    /// The prompt for documents, or none.
    Document,
    /// The prompt with this name.
    Named(&'n str),
}

impl<'a> FolderPrompts<'a> {
    /// Reads the prompts of a model; none if there is no such text. `are_pooled` tells whether its
    /// pooling includes their tokens.
    ///
    /// # Errors
    ///
    /// Any fault of the text.
    pub fn read(texts: &dyn Texts<'a>, are_pooled: bool) -> ReadText<'a, Self> {
        let path = TextPath::own(CONFIG_SENTENCE_TRANSFORMERS);
        match path.text(texts)? {
            Some(text) => Self::read_text(text, are_pooled),
            None => Ok(Self::none(are_pooled)),
        }
    }

    /// Reads the prompts in the text of the file.
    ///
    /// # Errors
    ///
    /// Any fault of the text.
    pub fn read_text(text: &'a str, are_pooled: bool) -> ReadText<'a, Self> {
        let path = TextPath::own(CONFIG_SENTENCE_TRANSFORMERS);
        path.object(text, |config| Self::from_config(config, are_pooled))
    }

    const fn none(are_pooled: bool) -> Self {
        Self {
            by_name: None,
            default: None,
            are_pooled,
            similarity: Similarity::Cosine,
            on_logits: None,
            truncate_dim: None,
            late_interaction: None,
        }
    }

    fn from_config(config: &Object<'a>, are_pooled: bool) -> Read<'a, Self> {
        let by_name = config.object(PROMPTS)?.map(|prompts| prompts.value());
        for (_, prompt) in by_name.iter().flat_map(Value::members) {
            if prompt.as_text().is_none() && !prompt.is_null() {
                return Err(config.bad(PROMPTS, "each of them has to be a text"));
            }
        }
        let default = config.text(DEFAULT_PROMPT)?;
        let prompts = Self { by_name, default, ..Self::none(are_pooled) };
        let is_there = |default: &str| prompts.named(|name| chars(default).eq(chars(name)));
        if default.is_some_and(|default| is_there(default).is_none()) {
            return Err(config.bad(DEFAULT_PROMPT, "it names none of the prompts"));
        }
        let similarity = Similarity::from_config(config)?;
        let on_logits = on_logits(config)?;
        let truncate_dim = truncate_dim(config)?;
        let late_interaction = match leaf::Pipeline::built_in() {
            Ok(leaf) => LateInteraction::from_config(config, leaf)?,
            Err(_) => None,
        };
        config.finish(IRRELEVANT)?;
        Ok(Self { similarity, on_logits, truncate_dim, late_interaction, ..prompts })
    }

    /// The name of the default prompt, as JSON spells it.
    #[must_use]
    pub const fn default_name(&self) -> Option<&'a str> {
        self.default
    }

    /// The chosen prompt, as JSON spells it; `None` if the model has none of this name. A model
    /// without a default prompt, or without one for queries or documents, has an empty one.
    #[must_use]
    pub fn choose(&self, wanted: FolderPrompt<'_>) -> Option<&'a str> {
        let called = |wanted: &str| self.named(|name| is(name, wanted));
        match (wanted, self.default) {
            (FolderPrompt::Usual, None) => Some(""),
            (FolderPrompt::Usual, Some(default)) => {
                self.named(|name| chars(default).eq(chars(name)))
            }
            (FolderPrompt::Query, _) => called(QUERY).or(Some("")),
            (FolderPrompt::Document, _) => {
                DOCUMENT.iter().find_map(|name| called(name)).or(Some(""))
            }
            (FolderPrompt::Named(name), _) => called(name),
        }
    }

    /// The prompts with their names, as JSON spells both, in file order; the last one with a
    /// repeated name counts.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let prompts = self.by_name.into_iter().flat_map(|prompts| prompts.members());
        prompts.map(|(name, prompt)| (name, prompt.as_text().unwrap_or_default()))
    }

    /// An upper bound of the size of any prompt in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.all().map(|(_, prompt)| prompt.len()).max().unwrap_or(0)
    }

    /// The last prompt whose name satisfies `is_it`.
    fn named(&self, is_it: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.all().filter(|(name, _)| is_it(name)).last().map(|(_, prompt)| prompt)
    }
}

/// The activation of a cross-encoder's scores.
fn on_logits<'t>(config: &Object<'t>) -> Read<'t, Option<DenseActivation>> {
    const ACTIVATION: &str = "activation_fn";
    let Some(class) = config.text(ACTIVATION)? else { return Ok(None) };
    let found = DenseActivation::from_torch_class(class);
    let only = "it is no activation that is known here";
    found.map(Some).ok_or_else(|| config.unsupported(ACTIVATION, only))
}

/// The number of elements that are kept.
fn truncate_dim<'t>(config: &Object<'t>) -> Read<'t, Option<usize>> {
    let Some(kept) = config.integer(TRUNCATE_DIM)? else { return Ok(None) };
    let kept = Limit::SIZE.check(kept).ok().filter(|kept| *kept > 0);
    kept.map(Some).ok_or_else(|| config.bad(TRUNCATE_DIM, "it is no number of elements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Read<'_, FolderPrompts<'_>> {
        FolderPrompts::read_text(text, true).map_err(|fault| fault.fault)
    }

    #[test]
    fn prompts_are_chosen_by_what_is_asked_for() {
        let prompts = read(
            r#"{"prompts": {"query": "q: ", "passage": "p: ", "none": null, "\u0061": "x"},
                "default_prompt_name": "a", "similarity_fn_name": "dot"}"#,
        );
        let prompts = prompts.unwrap();
        assert_eq!(prompts.choose(FolderPrompt::Usual), Some("x"));
        assert_eq!(prompts.choose(FolderPrompt::Query), Some("q: "));
        assert_eq!(prompts.choose(FolderPrompt::Document), Some("p: "));
        assert_eq!(prompts.choose(FolderPrompt::Named("a")), Some("x"));
        assert_eq!(prompts.choose(FolderPrompt::Named("none")), Some(""));
        assert_eq!(prompts.choose(FolderPrompt::Named("odd")), None);
        assert_eq!(prompts.longest(), 3);
        assert_eq!(read("{}").unwrap().choose(FolderPrompt::Usual), Some(""));
        assert_eq!(read("{}").unwrap().choose(FolderPrompt::Query), Some(""));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let key = |text| read(text).unwrap_err().key;
        assert_eq!(key(r#"{"default_prompt_name": "query"}"#), "default_prompt_name");
        assert_eq!(key(r#"{"prompts": {"query": 1}}"#), "prompts");
        assert_eq!(key(r#"{"prompts": []}"#), "prompts");
        assert_eq!(key(r#"{"odd": 1}"#), "odd");
        assert_eq!(key(r#"{"truncate_dim": 0}"#), "truncate_dim");
        assert_eq!(key(r#"{"truncate_dim": "8"}"#), "truncate_dim");
        assert_eq!(read(r#"{"truncate_dim": 8}"#).unwrap().truncate_dim, Some(8));
        assert_eq!(read(r#"{"truncate_dim": null}"#).unwrap().truncate_dim, None);
    }
}
