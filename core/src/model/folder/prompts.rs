//! `config_sentence_transformers.json`: the prompts of a model.

#[cfg(feature = "folder-models")]
use crate::text::json::{Object, Read, is};

/// The file.
pub(crate) const FILE: &str = "config_sentence_transformers.json";
/// The member with prompts by their names.
pub(crate) const PROMPTS: &str = "prompts";
/// The member with the name of the one that stands before every text.
pub(crate) const DEFAULT: &str = "default_prompt_name";
/// Of the file: versions, and how who has two embeddings compares them.
pub(crate) const IRRELEVANT: &[&str] = &["__version__", "model_type", "similarity_fn_name"];

/// Whether a prompt stands before every text.
#[cfg(feature = "folder-models")]
pub(crate) fn have_default<'t>(config: &Object<'t>) -> Read<'t, bool> {
    let prompts = config.object(PROMPTS)?;
    let Some(name) = config.text(DEFAULT)? else {
        return config.finish(IRRELEVANT).map(|()| false);
    };
    let mut members = prompts.iter().flat_map(|prompts| prompts.value().members());
    let is_it = |known: &str| known == name || is(known, name);
    let prompt = members.find(|(known, _)| is_it(known)).map(|(_, prompt)| prompt);
    let prompt = prompt.ok_or_else(|| config.bad(DEFAULT, "it names none of the prompts"))?;
    config.finish(IRRELEVANT)?;
    Ok(prompt.as_text() != Some("") && !prompt.is_null())
}
