//! `.fifu` files: chunks, metadata, vocabulary, vectors. Words are counted, vectors are not read.

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{BrokenUtf8, Finalfusion, FinalfusionDecoder, Storage};
use nanoembed_core::subword::Subwords;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tensors::{Tensor, Totals};
use crate::words::metadata;

pub(super) fn inspect(name: &str, bytes: &[u8]) -> Result<FinalfusionSummary, CoreError> {
    let decoder = FinalfusionDecoder::new(Mode::Lenient).broken_utf8(BrokenUtf8::Bytes);
    let file = Finalfusion::parse_with(decoder, bytes)?;
    Ok(FinalfusionSummary::from_file(name, &file))
}

/// The description of a finalfusion file. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct FinalfusionSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub version: &'static str,
    pub file_bytes: u64,
    pub chunks: Vec<Chunk>,
    /// The fault that strict mode would refuse.
    pub deviation: Option<Deviation>,
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<()>,
    pub vocabulary: Map<String, Value>,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
    #[serde(skip)]
    pub bad_metadata: Option<CoreError>,
    /// The metadata as the file spells them.
    #[serde(skip)]
    pub metadata_text: Option<String>,
    /// The number of vectors, their length, and whether their original lengths are there.
    #[serde(skip)]
    pub rows: u64,
    #[serde(skip)]
    pub cols: u32,
    #[serde(skip)]
    pub has_norms: bool,
}

#[derive(Debug, Serialize)]
pub struct Chunk {
    pub id: u32,
    pub name: &'static str,
    pub offset: u64,
    pub bytes: u64,
    pub declared_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Deviation {
    pub offset: u64,
    pub code: u16,
    pub name: &'static str,
    pub message: &'static str,
}

impl FinalfusionSummary {
    fn from_file(name: &str, file: &Finalfusion<'_>) -> Self {
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
                offset: error.offset().unwrap_or(0),
                code: error.code(),
                name: error.kind().name(),
                message: error.message(),
            }),
            metadata,
            tokenizer: None,
            vocabulary: vocabulary(file),
            totals: Totals::from_tensors(&tensors),
            tensors,
            bad_metadata,
            metadata_text: file.metadata().map(str::to_owned),
            rows: layout.storage.rows(),
            cols: layout.storage.cols(),
            has_norms: layout.norms.is_some(),
        }
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
