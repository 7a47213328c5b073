//! The prompt that a model in a file wants before every text, for builds without
//! [`Prompts`](super::folder::Prompts).

use alloc::borrow::Cow;
use alloc::string::String;

use super::metadata;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{copied, joined};
use crate::source::ModelSource;

/// The prompt before every text that is embedded by the model in a file; empty for most models.
///
/// # Errors
///
/// [`ErrorKind::MissingMetadata`] if the file names a prompt that it does not have,
/// [`ErrorKind::UnsupportedSetting`] if the prompt's tokens are to be left out of the mean,
/// [`ErrorKind::BadMetadata`] if it is no text.
pub fn usual_prompt(source: &ModelSource<'_>) -> Result<String> {
    default_prompt(|key| metadata::text(source, key))
}

/// The prompt before every text, of which `value` knows the metadata.
///
/// | key | value |
/// |---|---|
/// | `default_prompt_name` | the name of the prompt |
/// | `prompt.NAME` | its text |
/// | `include_prompt` | `false` if the prompt's tokens are left out of the mean, which is not done here |
fn default_prompt<'f>(value: impl Fn(&str) -> Result<Option<Cow<'f, str>>>) -> Result<String> {
    let Some(name) = value("default_prompt_name")? else { return Ok(String::new()) };
    let missing = Error::without_offset(ErrorKind::MissingMetadata);
    let prompt = value(&joined(&["prompt.", &name])?)?.ok_or(missing)?;
    if !prompt.is_empty() && value("include_prompt")?.as_deref() == Some("false") {
        return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
    }
    copied(&prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(metadata: &[(&str, &str)]) -> Result<String> {
        default_prompt(|key| {
            let found = metadata.iter().find(|(known, _)| *known == key);
            Ok(found.map(|(_, value)| Cow::Borrowed(*value)))
        })
    }

    #[test]
    fn the_default_is_found_by_its_name() {
        let prompts = [("prompt.query", "query: "), ("prompt.passage", "passage: ")];
        assert_eq!(read(&prompts).unwrap(), "");
        let chosen = [&prompts[..], &[("default_prompt_name", "passage")]].concat();
        assert_eq!(read(&chosen).unwrap(), "passage: ");
    }

    #[test]
    fn one_that_is_missing_or_left_out_of_the_mean_is_refused() {
        let named = ("default_prompt_name", "query");
        assert_eq!(read(&[named]).unwrap_err().kind(), ErrorKind::MissingMetadata);
        let apart = [named, ("prompt.query", "query: "), ("include_prompt", "false")];
        assert_eq!(read(&apart).unwrap_err().kind(), ErrorKind::UnsupportedSetting);
    }
}
