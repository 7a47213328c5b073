//! `.fifu` files: chunks, metadata, vocabulary, vectors. Words are counted, vectors are not read.

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{BrokenUtf8, Decoder, Finalfusion, Storage};
use nanoembed_core::subword::Subwords;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Inspection;
use super::tensors::{self, Tensor, Totals};
use crate::output::table::{Align, Table};
use crate::output::units;
use crate::word_vectors::metadata;

pub(super) fn inspect(name: &str, bytes: &[u8]) -> Result<Inspection, Error> {
    let decoder = Decoder::new(Mode::Lenient).broken_utf8(BrokenUtf8::Bytes);
    let file = Finalfusion::parse_with(decoder, bytes)?;
    let summary = Summary::of(name, &file);
    Ok(Inspection::new(&summary, summary.text(&file)))
}

/// What a file says of itself. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    format: &'static str,
    variant: &'static str,
    version: &'static str,
    file_bytes: u64,
    chunks: Vec<Chunk>,
    /// What strict mode would refuse.
    deviation: Option<Deviation>,
    metadata: Map<String, Value>,
    tokenizer: Option<()>,
    vocabulary: Map<String, Value>,
    #[serde(flatten)]
    totals: Totals,
    tensors: Vec<Tensor>,
    #[serde(skip)]
    bad_metadata: Option<Error>,
}

#[derive(Debug, Serialize)]
struct Chunk {
    id: u32,
    name: &'static str,
    offset: u64,
    bytes: u64,
    declared_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Deviation {
    offset: u64,
    code: u16,
    name: &'static str,
    message: &'static str,
}

impl Summary {
    fn of(name: &str, file: &Finalfusion<'_>) -> Self {
        let layout = file.layout();
        let chunks = layout.chunks().map(|chunk| Chunk {
            id: chunk.id,
            name: chunk_name(chunk.id),
            offset: chunk.offset,
            bytes: chunk.payload_bytes,
            declared_bytes: chunk.declared_bytes,
        });
        let tensors: Vec<Tensor> = file.tensors().map(|tensor| tensor.header().into()).collect();
        let (metadata, bad_metadata) = match metadata::json(file.metadata().unwrap_or("")) {
            Ok(metadata) => (metadata, None),
            Err(error) => (Map::new(), Some(error)),
        };
        Self {
            file: name.to_owned(),
            format: "finalfusion",
            variant: match layout.storage {
                Storage::Array(_) => "array",
                Storage::Quantized(_) => "quantized",
            },
            version: "0",
            file_bytes: file.bytes().len() as u64,
            chunks: chunks.collect(),
            deviation: file.deviation().map(|error| Deviation {
                offset: error.offset,
                code: error.code(),
                name: error.kind.name(),
                message: error.message(),
            }),
            metadata,
            tokenizer: None,
            vocabulary: vocabulary(file),
            totals: Totals::of(&tensors),
            tensors,
            bad_metadata,
        }
    }

    fn text(&self, file: &Finalfusion<'_>) -> Vec<String> {
        let layout = file.layout();
        let mut text = vec![self.file.clone()];
        let mut facts = Table::new(&[Align::Left, Align::Left]);
        let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
        fact("format", format!("finalfusion 0, {} storage", self.variant));
        fact("size", format!("{} ({} bytes)", units::bytes(self.file_bytes), self.file_bytes));
        fact("chunks", self.chunks.iter().map(|chunk| chunk.name).collect::<Vec<_>>().join(", "));
        if let Some(deviation) = &self.deviation {
            fact("deviates", format!("byte {}: {}", deviation.offset, deviation.message));
        }
        let described = self.vocabulary.iter().map(|(key, value)| match value {
            Value::String(text) => text.clone(),
            value => format!("{key} {value}"),
        });
        fact("vocabulary", described.collect::<Vec<_>>().join(", "));
        let rows = units::count(layout.storage.rows());
        let norms = if layout.norms.is_some() { ", with their original lengths" } else { "" };
        fact("vectors", format!("{rows} of {} columns{norms}", layout.storage.cols()));
        fact("tensors", self.totals.text(self.tensors.len()));
        text.extend(facts.lines(2));
        if let Some(metadata) = file.metadata() {
            text.extend(["".into(), "  metadata".into()]);
            if let Some(error) = self.bad_metadata {
                text.push(format!("    (not TOML: byte {} of it)", error.offset));
            }
            text.extend(metadata.lines().map(|line| format!("    {line}")));
        }
        text.extend(["".into(), "  tensors".into()]);
        text.extend(tensors::table(&self.tensors).lines(4));
        text
    }
}

/// The vocabulary's parameters under the names that the format gives them.
fn vocabulary(file: &Finalfusion<'_>) -> Map<String, Value> {
    let vocabulary = file.vocabulary();
    let mut described = Map::new();
    let mut put = |key: &str, value: Value| described.insert(key.to_owned(), value);
    put("kind", vocabulary.subwords.name().into());
    put("words", vocabulary.words.into());
    if vocabulary.subwords == Subwords::None {
        return described;
    }
    put("min_n", vocabulary.min_n.into());
    put("max_n", vocabulary.max_n.into());
    match vocabulary.subwords {
        Subwords::None => {}
        Subwords::Buckets { exponent } => _ = put("bucket_exponent", exponent.into()),
        Subwords::FastText { buckets } => _ = put("buckets", buckets.into()),
        Subwords::Explicit { ngrams } => {
            put("ngrams", ngrams.into());
            put("rows", json!(file.layout().distinct_ngram_indices));
        }
        Subwords::Floret { buckets, hashes, seed } => {
            put("buckets", buckets.into());
            put("hashes", hashes.into());
            put("seed", seed.into());
            put("begin", vocabulary.begin.as_str().into());
            put("end", vocabulary.end.as_str().into());
        }
    }
    described
}

const fn chunk_name(id: u32) -> &'static str {
    match id {
        1 => "simple vocabulary",
        2 => "array",
        3 => "bucket vocabulary",
        4 => "quantized array",
        5 => "metadata",
        6 => "norms",
        7 => "fasttext vocabulary",
        8 => "explicit vocabulary",
        9 => "floret vocabulary",
        _ => "unknown",
    }
}
