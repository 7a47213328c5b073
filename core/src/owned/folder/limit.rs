//! How many tokens of a text a model uses, and what is done to texts before its tokenizer.

use super::{FolderFault, FolderResult, Texts, object};
pub use crate::model::EncoderSettings;
use crate::model::encoder_settings;

impl EncoderSettings {
    /// Reads `sentence_bert_config.json`, or what it is called for other models, of the folder's
    /// `module`, which ends with `/` or is empty.
    ///
    /// # Errors
    ///
    /// What is wrong with the file; settings that would change results are refused.
    pub fn read(texts: Texts<'_, '_>, module: &str) -> FolderResult<Self> {
        for name in encoder_settings::FILES {
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
}

/// `model_max_length`, or `max_len`, of the `tokenizer_config.json` in the folder's `module`, which ends with `/`
/// or is empty, if it is a number that texts can have.
///
/// # Errors
///
/// What is wrong with the file.
pub fn tokenizer_limit(texts: Texts<'_, '_>, module: &str) -> FolderResult<Option<u64>> {
    let path = [module, "tokenizer_config.json"].concat();
    let limit = object(texts, &path, |config| {
        encoder_settings::tokenizer_limit(config).map_err(|fault| FolderFault::new(&path, fault))
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
