//! A decoder on its way into an `.amb` or `.weights` file.

use std::time::SystemTime;

use nanoembed_core::format::embd::{self, MERGES, SENTENCEPIECE};
use nanoembed_core::source::embd_key;
use nanoembed_core::tensor::Dtype;
use nanoembed_core::{Error as CoreError, limit};
use serde_json::Value;

use crate::causal::tokenizer::{Tokenizer, begin_and_end, borrowed, serialized_model};
use crate::checkpoint::tensor::Tensor;
use crate::convert::weights_file::Further;
use crate::pairs::{self, Pairs};

/// A decoder as its file describes it.
pub struct DecoderModel<'a> {
    pub tensors: Vec<Tensor<'a>>,
    /// The members of an AMB configuration.
    pub config: Value,
    pub tokenizer: Tokenizer<'a>,
    /// Words about the model's origin.
    pub metadata: Pairs,
    /// When the source's newest file was changed.
    pub modified: Option<SystemTime>,
}

impl DecoderModel<'_> {
    /// The configuration as the metadata of a `.weights` file has it: see [`embd_key`].
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn settings(&self) -> Result<Pairs, CoreError> {
        let members = self.config.as_object().into_iter().flatten();
        let members = members.map(|(member, value)| (embd_key(member), Some(value)));
        let [begin, end] = begin_and_end(&self.tokenizer).map(|id| id.map(Value::from));
        let further = [
            ("embedding_dim", self.config.get("n_embd")),
            ("bos_token_id", begin.as_ref()),
            ("eos_token_id", end.as_ref()),
        ];
        let mut settings = Pairs::new();
        for (key, value) in members.chain(further) {
            if let Some(text) = value.map(spelled).transpose()?.flatten() {
                pairs::add(&mut settings, key, &text)?;
            }
        }
        Ok(settings)
    }

    /// The tensor that a `.weights` file has for the tokenizer beside its tokens.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn further(&self) -> Result<Further, CoreError> {
        let (name, bytes) = match serialized_model(&self.tokenizer) {
            Some(model) => (SENTENCEPIECE, limit::joined_bytes(&[model])?),
            None => {
                let (merges, _) = borrowed(&self.tokenizer)?;
                let mut lines = String::new();
                for part in merges.iter().flat_map(|(left, right)| [left, " ", right, "\n"]) {
                    limit::write(&mut lines, part)?;
                }
                (MERGES, lines.into_bytes())
            }
        };
        Ok(Further { name, dtype: Dtype::U8, bytes })
    }

    /// The vocabulary of a `.weights` file, whose tokens are `tokens`: none with a SentencePiece
    /// model, which has its own.
    pub fn vocabulary<'a>(&self, tokens: &'a [&'a [u8]]) -> Option<embd::EmbdVocabulary<'a>> {
        // Roles that a decoder has no token for are given to the one that ends a text.
        let [begin, end] = begin_and_end(&self.tokenizer);
        let end = end.or(begin).unwrap_or(0);
        let special = [end, end, begin.unwrap_or(end), end, end];
        (!tokens.is_empty()).then_some(embd::EmbdVocabulary { tokens, special })
    }
}

/// A value as text: lists with spaces between.
fn spelled(value: &Value) -> Result<Option<String>, CoreError> {
    let text = match value {
        Value::Null | Value::Object(_) => return Ok(None),
        Value::String(text) => limit::copied(text)?,
        Value::Array(values) => {
            let mut list = String::new();
            for value in values {
                if let Some(value) = spelled(value)? {
                    let space = if list.is_empty() { "" } else { " " };
                    limit::write(&mut list, space)?;
                    limit::write(&mut list, &value)?;
                }
            }
            list
        }
        Value::Bool(_) | Value::Number(_) => limit::formatted(format_args!("{value}"))?,
    };
    Ok(Some(text))
}
