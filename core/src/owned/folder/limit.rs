//! How many tokens of a text a model uses, and what is done to texts before its tokenizer.

use super::{FolderFault, FolderResult, Texts, object};
use crate::text::json::{Kind, Object, Read};

/// The names that the settings of an encoder's module have had.
const ENCODER_SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// Of these files: how the module is called and loaded.
const IRRELEVANT: &[&str] = &[
    "architecture",
    "method_output_name",
    "modality_config",
    "model_kwargs",
    "module_output_name",
    "processing_kwargs",
    "model_args",
    "backend",
    "unpad_inputs",
];

/// The settings of an encoder's module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncoderSettings {
    /// How many tokens of a text are used, if that is said.
    pub max_tokens: Option<u64>,
    /// Whether texts are made lower case before the tokenizer sees them.
    pub lower_case: bool,
}

impl EncoderSettings {
    /// Reads `sentence_bert_config.json`, or what it is called for other models, of the folder's
    /// `module`, which ends with `/` or is empty.
    ///
    /// # Errors
    ///
    /// What is wrong with the file; settings that would change results are refused.
    pub fn read(texts: Texts<'_, '_>, module: &str) -> FolderResult<Self> {
        for name in ENCODER_SETTINGS {
            let path = [module, name].concat();
            let read = object(texts, &path, |settings| {
                Self::of(settings).map_err(|fault| FolderFault::new(&path, fault))
            });
            if let Some(settings) = read? {
                return Ok(settings);
            }
        }
        Ok(Self::default())
    }

    /// How many tokens of a text a model uses: the first of these that is said, never more than
    /// `positions`: the module's own setting, `model_max_length` of the tokenizer's settings.
    #[must_use]
    pub fn token_limit(&self, tokenizer: Option<u64>, positions: usize) -> usize {
        // Some tokenizers say 1e30 for "no limit".
        let said = self.max_tokens.or(tokenizer.filter(|limit| *limit > 0));
        said.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(positions).min(positions)
    }

    fn of<'t>(settings: &Object<'t>) -> Read<'t, Self> {
        let max_tokens = settings.integer("max_seq_length")?.filter(|limit| *limit > 0);
        let lower_case = settings.truth("do_lower_case")?.unwrap_or(false);
        settings.neutral("transformer_task", "only \"feature-extraction\" is done", |task| {
            task.is_text("feature-extraction")
        })?;
        for name in ["tokenizer_args", "config_args", "processor_kwargs", "config_kwargs"] {
            settings.neutral(name, "nothing in it is honoured", |value| {
                value.kind() == Kind::BeginObject && value.members().count() == 0
            })?;
        }
        settings.finish(IRRELEVANT)?;
        Ok(Self { max_tokens, lower_case })
    }
}

/// `model_max_length` of the `tokenizer_config.json` in the folder's `module`, which ends with `/`
/// or is empty, if it is a number that texts can have.
///
/// # Errors
///
/// What is wrong with the file.
pub fn tokenizer_limit(texts: Texts<'_, '_>, module: &str) -> FolderResult<Option<u64>> {
    let limit = object(texts, &[module, "tokenizer_config.json"].concat(), |config| {
        Ok(config.get("model_max_length").and_then(|limit| limit.as_u64()))
    })?;
    Ok(limit.flatten())
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;

    use super::*;

    fn settings(text: &str) -> FolderResult<EncoderSettings> {
        let find =
            |path: &str| Ok((path == "sentence_bert_config.json").then_some(Cow::Borrowed(text)));
        EncoderSettings::read(&find, "")
    }

    #[test]
    fn the_module_says_more_than_the_tokenizer_and_positions_bound_both() {
        let of = |said: Option<u64>, tokenizer| {
            let settings = EncoderSettings { max_tokens: said, lower_case: false };
            settings.token_limit(tokenizer, 512)
        };
        assert_eq!(of(Some(128), Some(256)), 128);
        assert_eq!(of(None, Some(256)), 256);
        assert_eq!(of(None, Some(u64::MAX)), 512);
        assert_eq!(of(Some(1000), None), 512);
        assert_eq!(of(None, None), 512);
    }

    #[test]
    fn what_would_change_results_is_refused_by_name() {
        let read = settings(r#"{"max_seq_length": 64, "do_lower_case": true}"#).unwrap();
        assert_eq!((read.max_tokens, read.lower_case), (Some(64), true));
        let fault = settings(r#"{"transformer_task": "fill-mask"}"#).unwrap_err();
        assert_eq!((&*fault.file, &*fault.key), ("sentence_bert_config.json", "transformer_task"));
        assert_eq!(settings(r#"{"tokenizer_args": {"a": 1}}"#).unwrap_err().key, "tokenizer_args");
        assert_eq!(settings(r#"{"further": 1}"#).unwrap_err().key, "further");
        settings(r#"{"config_args": {}, "backend": "torch"}"#).unwrap();
    }
}
