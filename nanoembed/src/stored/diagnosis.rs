//! The core's errors about a file, with the name of the type, architecture or version at fault.

use nanoembed_core::describe::gguf::{
    GgufArchitecture, GgufSetting, Key, gguf_architecture, gguf_bert_setting_at_fault,
    gguf_bert_tensor_at_fault, gguf_is_known_encoder, gguf_refusal,
};
use nanoembed_core::event::{Format, Mode, Value};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::tensor::TensorHeader;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::gguf_parts;
use crate::error::Error;
use crate::signature::foreign;

/// The failure that `error` is of the file called `name`, whose bytes are `file`.
pub fn failure(name: &str, file: &[u8], error: CoreError) -> Error {
    match message(file, error) {
        Some((message, hint)) => {
            let failure = Error::input(error.kind(), message).at(name);
            match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        }
        None => foreign::failure(name, file, error),
    }
}

/// The message and what helps, where more can be said than the kind of the error does.
fn message(file: &[u8], error: CoreError) -> Option<(String, Option<&'static str>)> {
    match sniff(file) {
        Some(Format::Gguf) => {}
        Some(Format::Finalfusion) if error.kind() == ErrorKind::BadMagic => {
            return Some((
                "the file has word vectors, not a model".to_owned(),
                Some("`nanoembed vector FILE WORD` gives the vectors of words"),
            ));
        }
        _ => return None,
    }
    let word = |offset: u64| {
        let start = usize::try_from(offset).ok()?;
        file.get(start..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    };
    Some(match error.kind() {
        ErrorKind::UnsupportedSetting | ErrorKind::MissingMetadata => {
            let gguf = Gguf::parse(file, Mode::Lenient).ok()?;
            let is_bert = gguf_architecture(&gguf) == Some(GgufArchitecture::Bert.name());
            if is_bert && let Some(setting) = gguf_bert_setting_at_fault(&gguf) {
                return Some((setting_message(setting), None));
            }
            let refusal = match is_bert {
                true => gguf_bert_tensor_at_fault(&gguf)?,
                false => gguf_refusal(&gguf)?,
            };
            (refusal_message(&gguf, refusal.error(), refusal.name, refusal.reason), None)
        }
        ErrorKind::UnsupportedVersion => (
            format!("version {} of GGUF is not read, only 2 and 3", word(error.offset()?)?),
            Some("make a new file of the model with a newer llama.cpp"),
        ),
        ErrorKind::BigEndian => (
            "the file is big-endian, made for another kind of machine; only little-endian GGUF is read"
                .to_owned(),
            Some("llama.cpp's `gguf_convert_endian.py FILE little` turns its bytes round"),
        ),
        ErrorKind::RemovedDtype => (
            format!(
                "byte {}: a tensor has the type {}, which ggml has removed",
                error.offset()?,
                word(error.offset()?)?
            ),
            Some("quantise the model anew to a type that ggml has"),
        ),
        ErrorKind::BadDtype => (
            format!(
                "byte {}: a tensor has the type {}, which is not known here",
                error.offset()?,
                word(error.offset()?)?
            ),
            None,
        ),
        ErrorKind::UnsupportedArchitecture => {
            let gguf = Gguf::parse(file, Mode::Lenient).ok()?;
            let name = gguf_architecture(&gguf)?;
            if gguf_is_known_encoder(&gguf) {
                let message = "an encoder in a GGUF file is not taken here".to_owned();
                return Some((
                    message,
                    Some(
                        "`nanoembed embed` runs it; a `.weights` or `.amb` file is made of the model's folder",
                    ),
                ));
            }
            let mut known: Vec<String> =
                GgufArchitecture::names().map(|known| format!("`{known}`")).collect();
            known.sort();
            let last = known.pop().unwrap_or_default();
            let known = known.join(", ");
            let message =
                format!("the model's architecture is `{name}`; known are {known} and {last}");
            (message, None)
        }
        ErrorKind::SplitFile => {
            let split = Gguf::parse(file, Mode::Lenient).ok()?.split()?;
            (gguf_parts::misnaming(split), Some(gguf_parts::HINT))
        }
        ErrorKind::UnsupportedDtype => {
            let gguf = Gguf::parse(file, Mode::Lenient).ok()?;
            let offset = error.offset()?;
            let at = |header: &TensorHeader<'_>| {
                let end = header.offset.saturating_add(header.bytes);
                (header.offset..end.max(header.offset.saturating_add(1))).contains(&offset)
            };
            let tensor = gguf.tensors().find(|tensor| at(tensor.header()))?;
            let header = tensor.header();
            let message = format!(
                "`{}` is stored as {}, which cannot be computed with here",
                header.name,
                header.dtype.name()
            );
            (message, Some("take a file of the model in another type, Q8_0 or Q4_K_M for example"))
        }
        _ => return None,
    })
}

/// Says which key or tensor of a file is not honoured.
pub(crate) fn refusal_message(
    gguf: &Gguf<'_>,
    error: CoreError,
    name: &str,
    reason: &str,
) -> String {
    let offset = error.offset().unwrap_or(0);
    let value = gguf.value(name).and_then(spelled);
    let value = value.map(|value| format!(" is {value}")).unwrap_or_default();
    format!("byte {offset}: `{name}`{value}: {reason}")
}

/// A value of the metadata, if it is one of some characters.
fn spelled(value: Value<'_>) -> Option<String> {
    match value {
        Value::Unsigned(number) => Some(number.to_string()),
        Value::Signed(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Text(text) => Some(format!("{text:?}")).filter(|text| text.len() < 80),
        Value::Array { .. } => None,
    }
}

/// Says which setting of an encoder is not honoured.
fn setting_message(setting: GgufSetting<'_>) -> String {
    let GgufSetting { key, value, is_known, .. } = setting;
    let value = spelled(value).unwrap_or_else(|| "of several values".to_owned());
    match (key, is_known) {
        (key, _) if key == Key::TokenizerModel.name() => {
            let kind = match value.as_str() {
                "\"t5\"" => "t5 (Unigram, SentencePiece)",
                "\"llama\"" => "llama (SentencePiece)",
                "\"gpt2\"" => "gpt2 (byte pairs)",
                other => other,
            };
            format!(
                "the encoder's tokenizer is of the kind {kind}; only \"bert\" (WordPiece) is known"
            )
        }
        (_, true) => format!("`{key}` is {value}, which is not done here"),
        (_, false) => format!("the setting `{key}` is not known, so what it changes would be lost"),
    }
}
