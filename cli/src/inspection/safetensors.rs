//! safetensors files: metadata and tensors.

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::text::json;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Inspection;
use super::tensors::{self, Tensor, Totals};
use crate::stored::files::room;

/// What a file says of itself. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    format: &'static str,
    variant: &'static str,
    file_bytes: u64,
    metadata: Map<String, Value>,
    tokenizer: Option<Value>,
    #[serde(flatten)]
    totals: Totals,
    tensors: Vec<Tensor>,
}

pub(super) fn inspect(name: &str, file: &[u8]) -> Result<Inspection, Error> {
    let mut room = room(file);
    let parsed = Safetensors::parse(file, Mode::Lenient, &mut room)?;
    let tensors: Vec<Tensor> = parsed
        .tensors()
        .map(|tensor| {
            let tensor = Tensor::from(tensor.header());
            Tensor { name: meant(&tensor.name), ..tensor }
        })
        .collect();
    let summary = Summary {
        file: name.to_owned(),
        format: "safetensors",
        variant: "safetensors",
        file_bytes: file.len() as u64,
        metadata: metadata(&parsed),
        tokenizer: None,
        totals: Totals::of(&tensors),
        tensors,
    };
    let mut text = vec![summary.file.clone()];
    let facts = [
        ("format", "safetensors".to_owned()),
        ("size", tensors::size(summary.file_bytes)),
        ("tensors", summary.totals.text(summary.tensors.len())),
    ];
    text.extend(tensors::facts(facts).lines(2));
    text.extend(tensors::metadata(&summary.metadata));
    text.extend(tensors::listed(&summary.tensors));
    Ok(Inspection::new(&summary, text))
}

/// The metadata with JSON's escapes resolved.
pub(super) fn metadata(file: &Safetensors<'_, '_>) -> Map<String, Value> {
    file.metadata().map(|(key, value)| (meant(key), meant(value).into())).collect()
}

fn meant(spelling: &str) -> String {
    json::chars(spelling).collect()
}
