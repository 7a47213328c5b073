//! GGUF files: metadata, tokenizer and tensors.

use nanoembed_core::describe::gguf::Key;
use nanoembed_core::event::{Mode, Value as Stored};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};

use super::tensors::{Tensor, Totals};
use crate::error::{Error, Result, name_of};
use crate::stored::{FileSet, diagnosis, gguf_parts};

/// Arrays up to this length are shown whole, longer ones by their length.
const SHOWN_ELEMENTS: u64 = 16;

/// The description of a GGUF file or its parts. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct GgufSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub version: u16,
    pub file_bytes: u64,
    /// The files of a split model; offsets are in the tensor's file.
    #[serde(skip_serializing_if = "is_alone")]
    pub parts: Vec<String>,
    pub data_offset: u64,
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<GgufTokenizer>,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
}

fn is_alone(parts: &[String]) -> bool {
    parts.len() < 2
}

#[derive(Debug, Serialize)]
pub struct GgufTokenizer {
    pub kind: String,
    pub tokens: usize,
}

pub(super) fn inspect(set: &FileSet) -> Result<GgufSummary> {
    let mut parts = Vec::new();
    for (path, file) in set.iter() {
        let parsed = Gguf::parse(file, Mode::Lenient);
        parts.push(parsed.map_err(|error| diagnosis::failure(&name_of(path), file, error))?);
    }
    gguf_parts::check(&parts, |index| set.name_of(index))?;
    let tensors: Vec<Tensor> =
        parts.iter().flat_map(Gguf::tensors).map(|tensor| tensor.header().into()).collect();
    let missing = || Error::in_file(set.name(), CoreError::new(0, ErrorKind::UnknownFormat));
    let gguf = parts.first().ok_or_else(missing)?;
    let tokens = gguf.tokens().count();
    let tokenizer = (tokens > 0).then(|| {
        let kind = match gguf.value(Key::TokenizerModel.name()) {
            Some(Stored::Text(kind)) => kind.to_owned(),
            _ => "unknown".into(),
        };
        GgufTokenizer { kind, tokens }
    });
    Ok(GgufSummary {
        file: set.name(),
        format: "gguf",
        variant: "gguf",
        version: gguf.version(),
        file_bytes: set.iter().map(|(_, file)| file.len() as u64).sum(),
        parts: set.iter().map(|(path, _)| name_of(path)).collect(),
        data_offset: gguf.data_offset(),
        metadata: metadata(gguf),
        tokenizer,
        totals: Totals::from_tensors(&tensors),
        tensors,
    })
}

fn metadata(gguf: &Gguf<'_>) -> Map<String, Value> {
    let shown = |key: &str, value: Stored<'_>| match value {
        Stored::Array { count } if count <= SHOWN_ELEMENTS => {
            let elements = gguf.elements(key).into_iter().flatten();
            Value::Array(elements.map(plain).collect())
        }
        other => plain(other),
    };
    gguf.metadata().map(|(key, value)| (key.to_owned(), shown(key, value))).collect()
}

fn plain(value: Stored<'_>) -> Value {
    match value {
        Stored::Unsigned(number) => number.into(),
        Stored::Signed(number) => number.into(),
        // JSON has no NaN and no infinities.
        Stored::Float(number) if !number.is_finite() => number.to_string().into(),
        Stored::Float(number) => shortest(number).into(),
        Stored::Bool(truth) => truth.into(),
        Stored::Text(text) => text.into(),
        Stored::Array { count } => format!("{count} elements").into(),
    }
}

/// A number that was stored as f32 with no more digits than that has.
fn shortest(number: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "that is the question")]
    let single = number as f32;
    let is_single = f64::from(single).to_bits() == number.to_bits();
    if is_single { single.to_string().parse().unwrap_or(number) } else { number }
}
