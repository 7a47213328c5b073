//! The settings of an encoder's module: how many tokens of a text it uses, and what is done to
//! texts before its tokenizer.

use crate::text::json::{Kind, Object, Read};

/// The names that the file of these settings has had.
pub(crate) const FILES: [&str; 7] = [
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
    /// How many tokens of a text a model uses: the first of these that is said, never more than
    /// `positions`: the module's own setting, `model_max_length` of the tokenizer's settings.
    #[must_use]
    pub fn token_limit(&self, tokenizer: Option<u64>, positions: usize) -> usize {
        // Some tokenizers say 1e30 for "no limit".
        let said = self.max_tokens.or(tokenizer.filter(|limit| *limit > 0));
        said.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(positions).min(positions)
    }

    pub(crate) fn of<'t>(settings: &Object<'t>) -> Read<'t, Self> {
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

/// `model_max_length` of a `tokenizer_config.json`, if it is a number that texts can have.
pub(crate) fn tokenizer_limit(config: &Object<'_>) -> Option<u64> {
    config.get("model_max_length").and_then(|limit| limit.as_u64())
}
