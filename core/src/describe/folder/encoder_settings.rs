//! The settings of an encoder's module: the limit on a text's tokens, and the processing of texts
//! before the tokenizer.

use super::SENTENCE_BERT_CONFIG;
use super::modules::Output;
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, LexemeKind, Object, Read, Value, is};

/// The names of the settings file in different versions.
pub(super) const FILES: [&str; 7] = [
    SENTENCE_BERT_CONFIG,
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// Irrelevant members of these files: naming and loading of the module.
const IRRELEVANT: &[&str] = &["architecture", "backend", "unpad_inputs"];

/// Irrelevant options of loading a model.
const LOADING: &[&str] = &[
    "add_pooling_layer",
    "attn_implementation",
    "device_map",
    "dtype",
    "low_cpu_mem_usage",
    "revision",
    "torch_dtype",
    "trust_remote_code",
    "use_safetensors",
];

/// The member with the task of the transformer.
const TASK: &str = "transformer_task";

/// The member with the kinds of input.
const MODALITIES: &str = "modality_config";
/// The kind of input that a chat template makes a text of.
const MESSAGES: &str = "message";

/// Irrelevant options of batching texts.
const BATCHING: &[&str] = &["padding", "return_tensors", "pad_to_multiple_of"];

/// The settings of an encoder's module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncoderSettings {
    /// The number of tokens of a text that are used, if stated.
    pub max_tokens: Option<u64>,
    /// True if texts are converted to lower case before tokenisation.
    pub lower_case: bool,
    /// True if the module outputs the scores of the transformer's own head.
    pub classifies: bool,
    /// True if the module takes messages, which a chat template makes a text of; `None` if it takes
    /// what the model's files are made for.
    pub takes_messages: Option<bool>,
}

impl EncoderSettings {
    /// The number of tokens of a text that a model uses, at most `positions`: the module's own
    /// setting if stated, else `model_max_length` of the tokenizer's settings.
    #[must_use]
    pub fn token_limit(&self, tokenizer: Option<u64>, positions: usize) -> usize {
        // Some tokenizers state 1e30 for "no limit".
        let said = self.max_tokens.or(tokenizer.filter(|limit| *limit > 0));
        said.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(positions).min(positions)
    }

    /// Reads the settings of a module of which the next one takes this output.
    pub(super) fn from_object<'t>(settings: &Object<'t>, taken: Output) -> Read<'t, Self> {
        let max_tokens = settings.integer("max_seq_length")?.filter(|limit| *limit > 0);
        let lower_case = settings.truth("do_lower_case")?.unwrap_or(false);
        let task = settings.get(TASK);
        let is = |name| task.is_some_and(|task| task.is_text(name));
        let classifies = is("sequence-classification");
        let (states, output) = match taken {
            Output::CausalLogits if !is("text-generation") => {
                let only = "LogitScore scores the output of \"text-generation\" alone";
                return Err(settings.unsupported(TASK, only));
            }
            Output::CausalLogits => ("logits", "causal_logits"),
            Output::MaskedLogits { is_default } => {
                if !(is("fill-mask") || task.is_none() && is_default) {
                    let only = "SpladePooling takes the output of \"fill-mask\" alone";
                    return Err(settings.unsupported(TASK, only));
                }
                ("logits", "token_embeddings")
            }
            Output::States if classifies => ("logits", "scores"),
            Output::States => {
                settings.neutral(TASK, "only \"feature-extraction\" is done", |task| {
                    task.is_text("feature-extraction")
                })?;
                ("last_hidden_state", "token_embeddings")
            }
        };
        for name in ["tokenizer_args", "config_args", "processor_kwargs", "config_kwargs"] {
            settings.neutral(name, "nothing in it is honoured", |value| {
                value.kind() == LexemeKind::BeginObject && value.members().count() == 0
            })?;
        }
        for name in ["model_args", "model_kwargs"] {
            settings.neutral(name, "it changes the model", |value| has_only(value, LOADING))?;
        }
        settings.neutral("processing_kwargs", "it changes what texts become", |value| {
            value.kind() == LexemeKind::BeginObject
                && value.members().all(|(_, modality)| has_only(modality, BATCHING))
        })?;
        for (name, usual) in [("method_output_name", states), ("module_output_name", output)] {
            settings.neutral(name, "only the usual output is taken", |it| it.is_text(usual))?;
        }
        let compares = output != "token_embeddings";
        settings.neutral(MODALITIES, "only the usual output of texts is taken", |value| {
            let has_usual = |name, formats| {
                value.member(name).is_none_or(|texts| is_usual(texts, states, formats))
            };
            has_usual("text", &[]) && (!compares || has_usual(MESSAGES, &["flat"]))
        })?;
        let modalities = settings.get(MODALITIES).filter(|_| compares);
        let takes_messages = modalities.map(|value| value.member(MESSAGES).is_some());
        settings.finish(IRRELEVANT)?;
        Ok(Self { max_tokens, lower_case, classifies, takes_messages })
    }
}

/// Returns true if it is an object without members other than these.
fn has_only(value: Value<'_>, names: &[&str]) -> bool {
    value.kind() == LexemeKind::BeginObject
        && value.members().all(|(name, _)| names.iter().any(|known| is(name, known)))
}

/// Returns true if texts, or messages of one of these `formats`, are run in the usual way: the
/// output called `states` is used.
fn is_usual(texts: Value<'_>, states: &str, formats: &[&str]) -> bool {
    texts.members().all(|(name, value)| {
        is(name, "method") && value.is_text("forward")
            || is(name, "method_output_name") && value.is_text(states)
            || is(name, "format") && formats.iter().any(|format| value.is_text(format))
    })
}

/// `model_max_length` of a `tokenizer_config.json`, called `max_len` in older ones, unless it
/// stands for "no limit".
pub(super) fn tokenizer_limit<'t>(config: &Object<'t>) -> Read<'t, Option<u64>> {
    /// Values for "no limit" are far larger, usually 1e30.
    const NO_LIMIT: f64 = 1e15;
    for name in ["model_max_length", "max_len"] {
        let Some(limit) = config.get(name) else { continue };
        let is_huge = limit.as_f64().is_some_and(|limit| limit >= NO_LIMIT);
        if limit.as_u64().is_none() && !is_huge {
            let error = Error::new(limit.offset(), ErrorKind::BadMetadata);
            return Err(Fault { error, key: name, only: "a whole number is needed" });
        }
        return Ok(limit.as_u64());
    }
    Ok(None)
}
