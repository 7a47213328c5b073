//! Writes prompts as the text of `config_sentence_transformers.json`.

use alloc::string::String;
use core::fmt::{self, Display, Formatter};

use super::{PromptTexts, Prompts, Similarity};
use crate::describe::folder::{DEFAULT_PROMPT, PROMPTS, SIMILARITY};
use crate::error::Result;
use crate::limit::formatted;
use crate::text::json::{Members, Quoted};

impl Prompts {
    /// The text of `config_sentence_transformers.json`; `None` for a model without prompts whose
    /// vectors are compared by their cosine. The pooling's settings tell whether the tokens of a
    /// prompt count.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn text(&self) -> Result<Option<String>> {
        let is_usual = self.similarity == Similarity::default();
        if is_usual && self.by_name == PromptTexts::default() && self.default.is_none() {
            return Ok(None);
        }
        formatted(format_args!("{}", PromptsJson(self))).map(Some)
    }
}

/// Displays all prompts.
struct PromptsJson<'p>(&'p Prompts);

impl Display for PromptsJson<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Prompts { by_name, default, similarity, .. } = self.0;
        let mut members = Members::new(f)?;
        members.put(PROMPTS, &ByName(by_name))?;
        members.put(SIMILARITY, &Quoted(similarity.name()))?;
        default.as_ref().map_or(Ok(()), |name| members.text(DEFAULT_PROMPT, name))?;
        members.finish()
    }
}

/// Displays prompts by their names.
struct ByName<'p>(&'p PromptTexts);

impl Display for ByName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut members = Members::new(f)?;
        self.0.iter().try_for_each(|(name, text)| members.text(name, text))?;
        members.finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;

    use super::*;

    #[test]
    fn prompts_are_read_again() {
        assert_eq!(Prompts::default().text(), Ok(None));
        let mut prompts = Prompts::default();
        for (key, value) in [
            ("prompt.query", "q \"1\": "),
            ("prompt.none", ""),
            ("default_prompt_name", "query"),
            ("similarity_fn_name", "dot"),
        ] {
            assert!(prompts.take(key, value).unwrap());
        }
        let text = prompts.text().unwrap().unwrap();
        let read = Prompts::read(&|path: &str| {
            let is_file = path == "config_sentence_transformers.json";
            Ok(is_file.then_some(Cow::Borrowed(&*text)))
        });
        assert_eq!(read.unwrap(), prompts);
    }
}
