//! `config_sentence_transformers.json`: the prompts of a model.

#[cfg(feature = "folder-models")]
use crate::text::json::{Object, Read, Value, chars, is};

/// The file.
pub(crate) const FILE: &str = "config_sentence_transformers.json";
/// The member with prompts by their names.
pub(crate) const PROMPTS: &str = "prompts";
/// The member with the name of the one that stands before every text.
pub(crate) const DEFAULT: &str = "default_prompt_name";
/// Of the file: versions, packages that are to be installed, and how who has two embeddings compares
/// them.
pub(crate) const IRRELEVANT: &[&str] =
    &["__version__", "model_type", "requirements", "similarity_fn_name"];

/// What prompts for texts that answer questions are called.
pub(crate) const DOCUMENT: [&str; 3] = ["document", "passage", "corpus"];
/// What the prompt for questions is called.
pub(crate) const QUERY: &str = "query";

/// The prompts of a model, where they are spelled.
#[cfg(feature = "folder-models")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FolderPrompts<'a> {
    by_name: Option<Value<'a>>,
    default: Option<&'a str>,
    /// Whether a prompt's tokens count in pooling.
    pub are_pooled: bool,
}

/// Which prompt is asked for.
#[cfg(feature = "folder-models")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FolderPrompt<'n> {
    /// The one that stands before every text unless another is asked for.
    Usual,
    /// The one for questions.
    Query,
    /// The one for texts that answer questions.
    Document,
    /// The one of this name.
    Named(&'n str),
}

#[cfg(feature = "folder-models")]
impl<'a> FolderPrompts<'a> {
    /// No prompts.
    pub(crate) const fn none(are_pooled: bool) -> Self {
        Self { by_name: None, default: None, are_pooled }
    }

    /// Reads the file's members.
    pub(crate) fn read(config: &Object<'a>, are_pooled: bool) -> Read<'a, Self> {
        let by_name = config.object(PROMPTS)?.map(|prompts| prompts.value());
        for (_, prompt) in by_name.iter().flat_map(Value::members) {
            if prompt.as_text().is_none() && !prompt.is_null() {
                return Err(config.bad(PROMPTS, "each of them has to be a text"));
            }
        }
        let default = config.text(DEFAULT)?;
        config.finish(IRRELEVANT)?;
        let prompts = Self { by_name, default, are_pooled };
        let is_there = |default: &str| prompts.named(|name| chars(default).eq(chars(name)));
        match default.is_none_or(|default| is_there(default).is_some()) {
            true => Ok(prompts),
            false => Err(config.bad(DEFAULT, "it names none of the prompts")),
        }
    }

    /// The prompt that is asked for, as JSON spells it; `None` if the model does not have it. Where
    /// the model has no usual one, that is an empty text.
    #[must_use]
    pub fn choose(&self, wanted: FolderPrompt<'_>) -> Option<&'a str> {
        let called = |wanted: &str| self.named(|name| is(name, wanted));
        match (wanted, self.default) {
            (FolderPrompt::Usual, None) => Some(""),
            (FolderPrompt::Usual, Some(default)) => {
                self.named(|name| chars(default).eq(chars(name)))
            }
            (FolderPrompt::Query, _) => called(QUERY),
            (FolderPrompt::Document, _) => DOCUMENT.iter().find_map(|name| called(name)),
            (FolderPrompt::Named(name), _) => called(name),
        }
    }

    /// The names of the prompts, as JSON spells them, in the order of the file.
    #[cfg(feature = "alloc")]
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.by_name.into_iter().flat_map(|prompts| prompts.members().map(|(name, _)| name))
    }

    /// Bytes that suffice for any of the prompts.
    #[must_use]
    pub fn longest(&self) -> usize {
        let prompts = self.by_name.iter().flat_map(Value::members);
        prompts.filter_map(|(_, prompt)| prompt.as_text()).map(str::len).max().unwrap_or(0)
    }

    /// The last one of whose name this holds.
    fn named(&self, is_it: impl Fn(&str) -> bool) -> Option<&'a str> {
        let prompts = self.by_name.iter().flat_map(Value::members);
        let found = prompts.filter(|(name, _)| is_it(name)).last();
        found.map(|(_, prompt)| prompt.as_text().unwrap_or_default())
    }
}

#[cfg(test)]
#[cfg(feature = "folder-models")]
mod tests {
    use super::*;

    fn read(text: &str) -> Read<'_, FolderPrompts<'_>> {
        FolderPrompts::read(&Object::new(Value::parse(text, 0).unwrap())?, true)
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
        assert_eq!(read("{}").unwrap().choose(FolderPrompt::Query), None);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let key = |text| read(text).unwrap_err().key;
        assert_eq!(key(r#"{"default_prompt_name": "query"}"#), "default_prompt_name");
        assert_eq!(key(r#"{"prompts": {"query": 1}}"#), "prompts");
        assert_eq!(key(r#"{"prompts": []}"#), "prompts");
        assert_eq!(key(r#"{"odd": 1}"#), "odd");
    }
}
