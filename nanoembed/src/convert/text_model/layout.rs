//! Texts beside the weights in a file: see [`TOKENIZER`].

use nanoembed_core::describe::folder::CHAT_TEMPLATE;
use nanoembed_core::format::embd;
use nanoembed_core::owned::{
    Pipeline, PipelineParts, TOKENIZER, TOKENIZER_MERGES, TOKENIZER_SCORES,
};
use nanoembed_core::source::embd_names_decoder;
use nanoembed_core::tensor::Dtype;
use nanoembed_core::text::json::Value;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::{Map, json};

use crate::checkpoint::tensor::{OwnedTensor, Tensor};
use crate::convert::naming::Naming;
use crate::convert::weights_file::{Further, index};
use crate::error::Error;
use crate::pairs::{self, Pairs};

/// All that a model has beside its weights.
pub(crate) struct Beside {
    /// The family; empty for a table of vectors.
    pub(super) family: &'static str,
    pub(super) dimensions: usize,
    /// Texts by their paths.
    pub(super) texts: Pairs,
    pub(super) pipeline: Pipeline,
    /// The row of each token in a table of vectors, if not that of its number.
    pub(super) mapping: Option<Vec<u32>>,
    pub(super) license: Option<String>,
}

impl Beside {
    /// The architecture that readers for BERT and decoders alone are shown.
    fn architecture(&self) -> String {
        match self.family {
            "" => "static".to_owned(),
            family if embd_names_decoder(family) => format!("{family}-embedding"),
            family => family.to_owned(),
        }
    }

    /// The metadata of a `.weights` file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn metadata(&self) -> Result<Pairs, CoreError> {
        let mut metadata = Pairs::new();
        pairs::add(&mut metadata, "architecture", &self.architecture())?;
        pairs::add(&mut metadata, "embedding_dim", &self.dimensions.to_string())?;
        if let Some(license) = self.license() {
            pairs::add(&mut metadata, "license", license)?;
        }
        pairs::add_all(&mut metadata, &self.texts)?;
        Ok(metadata)
    }

    /// The model's licence.
    pub(crate) fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// The vocabulary of a `.weights` file, of `tokens`. Its section has special tokens, which the
    /// tokenizer does not look at.
    pub(crate) fn vocabulary<'a>(&self, tokens: &'a [&'a [u8]]) -> embd::EmbdVocabulary<'a> {
        embd::EmbdVocabulary { tokens, special: [self.pipeline.unknown().unwrap_or(0); 5] }
    }

    fn parts(&self) -> Result<PipelineParts<'_>, Error> {
        self.pipeline.parts().map_err(in_tokenizer)
    }

    /// The tokens of the vocabulary.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn tokens(&self) -> Result<Vec<&[u8]>, Error> {
        let tokens = self.parts()?.tokens.into_iter().map(str::as_bytes);
        limit::exactly(tokens).map_err(in_tokenizer)
    }

    /// The tensors of a `.weights` file that no model computes with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn further(&self) -> Result<Vec<Further>, Error> {
        self.further_of(&self.parts()?).map_err(in_tokenizer)
    }

    fn further_of(&self, parts: &PipelineParts<'_>) -> Result<Vec<Further>, CoreError> {
        let mut further = Vec::new();
        let mut add =
            |name, dtype, bytes| limit::push(&mut further, Further { name, dtype, bytes });
        add(TOKENIZER, Dtype::U8, limit::joined_bytes(&[parts.settings.as_bytes()])?)?;
        if let Some(scores) = parts.scores.as_ref().filter(|scores| !scores.is_empty()) {
            let bytes = spelled(scores.iter().map(|score| score.to_le_bytes()))?;
            add(TOKENIZER_SCORES, Dtype::U8, bytes)?;
        }
        if !parts.merges.is_empty() {
            add(TOKENIZER_MERGES, Dtype::U32, merge_bytes(&parts.merges)?)?;
        }
        if self.family.is_empty() && is_word_piece(parts.settings) {
            // For devices without memory for an index of their own.
            for Further { name, dtype, bytes } in index(&parts.tokens)? {
                add(name, dtype, bytes)?;
            }
        }
        if let Some(mapping) = &self.mapping {
            let bytes = spelled(mapping.iter().map(|row| row.to_le_bytes()))?;
            add("mapping", Dtype::U32, bytes)?;
        }
        Ok(further)
    }

    /// The table of a static model with a row for each token, for files that have no integers to
    /// say which row that is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WrongShape`] if there is no such row.
    pub(crate) fn unfolded(&self, tensors: &[Tensor<'_>]) -> Result<Option<Unfolded>, CoreError> {
        let Some(mapping) = &self.mapping else { return Ok(None) };
        let missing = CoreError::without_offset(ErrorKind::WrongShape);
        let table = tensors.iter().find(|tensor| Naming::Table.is_looked_up(&tensor.name));
        let table = table.ok_or(missing)?;
        let (values, width) = (table.to_f32()?, table.cols());
        let elements = mapping.len().checked_mul(width).and_then(|count| count.checked_mul(4));
        let mut data = limit::reserved(elements.ok_or(missing)?)?;
        for row in mapping {
            let start = usize::try_from(*row).ok().and_then(|row| row.checked_mul(width));
            let row = start.and_then(|start| values.get(start..)?.get(..width)).ok_or(missing)?;
            data.extend(row.iter().flat_map(|x| x.to_le_bytes()));
        }
        let (name, shape) = (limit::copied(&table.name)?, vec![mapping.len(), width]);
        Ok(Some(Unfolded(OwnedTensor { name, shape, data })))
    }

    /// The configuration of an `.amb` file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn config(&self) -> Result<serde_json::Value, CoreError> {
        let mut config: Map<String, serde_json::Value> = Map::new();
        for (path, text) in &self.texts {
            config.insert(path.clone(), limit::copied(text)?.into());
        }
        config.insert("architecture".to_owned(), json!("custom"));
        config.insert("model_type".to_owned(), json!(self.architecture()));
        config.insert("n_embd".to_owned(), json!(self.dimensions));
        Ok(serde_json::Value::Object(config))
    }

    /// The payload of the tokenizer section of an `.amb` file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn payload(&self) -> Result<Vec<u8>, Error> {
        payload(&self.parts()?).map_err(in_tokenizer)
    }
}

fn payload(parts: &PipelineParts<'_>) -> Result<Vec<u8>, CoreError> {
    let mut payload = Vec::new();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
    limit::append(&mut payload, &count(parts.settings.len()))?;
    limit::append(&mut payload, parts.settings.as_bytes())?;
    limit::append(&mut payload, &count(parts.tokens.len()))?;
    for token in &parts.tokens {
        let length = u16::try_from(token.len()).unwrap_or(u16::MAX);
        limit::append(&mut payload, &length.to_le_bytes())?;
        limit::append(&mut payload, token.as_bytes())?;
    }
    let scores = parts.scores.as_deref().unwrap_or_default();
    limit::append(&mut payload, &count(scores.len()))?;
    limit::append(&mut payload, &spelled(scores.iter().map(|score| score.to_le_bytes()))?)?;
    limit::append(&mut payload, &count(parts.merges.len()))?;
    limit::append(&mut payload, &merge_bytes(&parts.merges)?)?;
    Ok(payload)
}

fn in_tokenizer(error: CoreError) -> Error {
    Error::in_file("tokenizer.json", error)
}

/// A table of vectors in place of one with fewer rows.
pub(crate) struct Unfolded(OwnedTensor);

impl Unfolded {
    /// `tensors` with it in place of the one that it was made of.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn among<'a>(
        &'a self,
        tensors: &[Tensor<'a>],
    ) -> Result<Vec<Tensor<'a>>, CoreError> {
        let replaced = |tensor: &Tensor<'a>| match tensor.name == self.0.name {
            true => self.0.borrow(),
            false => tensor.copied(),
        };
        limit::gathered(tensors.iter().map(replaced))
    }
}

/// True if the settings of a tokenizer are those of WordPiece.
fn is_word_piece(settings: &str) -> bool {
    let model = Value::parse(settings, 0).ok().and_then(|settings| settings.member("model"));
    model.and_then(|model| model.member("type")).is_some_and(|kind| kind.is_text("WordPiece"))
}

fn merge_bytes(merges: &[(u32, u32)]) -> Result<Vec<u8>, CoreError> {
    let pair = |(first, second): &(u32, u32)| u64::from(*first) | u64::from(*second) << 32;
    spelled(merges.iter().map(|merge| pair(merge).to_le_bytes()))
}

/// The bytes of numbers, one after the other.
fn spelled<const N: usize>(
    numbers: impl ExactSizeIterator<Item = [u8; N]>,
) -> Result<Vec<u8>, CoreError> {
    let mut bytes = limit::reserved(numbers.len().saturating_mul(N))?;
    numbers.for_each(|number| bytes.extend(number));
    Ok(bytes)
}

/// The part of the text at `path` that goes into a file: of the tokenizer's settings, which have
/// been read already, the number of tokens that are used; of templates all; of others all but the
/// white space.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub(super) fn reduced(path: &str, text: &str) -> Result<Option<String>, CoreError> {
    if path.ends_with(CHAT_TEMPLATE) {
        return limit::copied(text).map(Some);
    }
    if !path.ends_with("tokenizer_config.json") {
        return without_spaces(text).map(Some);
    }
    let config = Value::parse(text, 0).ok();
    let said = config.and_then(|it| it.member("model_max_length").or_else(|| it.member("max_len")));
    let said = said.and_then(|limit| limit.as_u64());
    Ok(said.map(|limit| json!({"model_max_length": limit}).to_string()))
}

/// A JSON text without the spaces between its tokens.
fn without_spaces(text: &str) -> Result<String, CoreError> {
    let (mut is_inside, mut is_escaped) = (false, false);
    let keeps = |c: &char| {
        let keeps = is_inside || !c.is_ascii_whitespace();
        match *c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_inside => is_escaped = true,
            '"' => is_inside = !is_inside,
            _ => {}
        }
        keeps
    };
    limit::spelled(text.chars().filter(keeps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_stay_within_texts_alone() {
        let text = "{\n  \"a b\": [1, 2],\r\n\t\"c\": \"x \\\" y\", \"d\" : \"\\\\\" }\n";
        let without = r#"{"a b":[1,2],"c":"x \" y","d":"\\"}"#;
        assert_eq!(without_spaces(text).unwrap(), without);
        let reduced = |path, text| reduced(path, text).unwrap();
        assert_eq!(reduced("chat_template.jinja", " {{ a }}\n").as_deref(), Some(" {{ a }}\n"));
        assert_eq!(reduced("tokenizer_config.json", r#"{"a": 1}"#), None);
        let limit = reduced("x/tokenizer_config.json", r#"{"model_max_length": 64, "b": 2}"#);
        assert_eq!(limit.as_deref(), Some(r#"{"model_max_length":64}"#));
        let older = reduced("tokenizer_config.json", r#"{"max_len": 32}"#);
        assert_eq!(older.as_deref(), Some(r#"{"model_max_length":32}"#));
    }
}
