//! The reference sentences, and the published model as a source of tensors.

use std::path::PathBuf;

use nanoembed_core::describe::BertConfig;
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};
use serde_json::Value;

/// Elements of an embedding of all-MiniLM-L6-v2.
pub const WIDTH: usize = 384;

/// One of the reference sentences.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// The text.
    pub text: String,
    /// Its BERT-uncased token ids, special tokens included, not truncated.
    pub ids: Vec<u32>,
    /// Its row in the reference embeddings.
    pub row: usize,
}

impl Sentence {
    /// The ids as the tokenizer truncates them to `most`: the last id is kept, since it ends the
    /// text.
    #[must_use]
    pub fn truncated(&self, most: usize) -> Vec<u32> {
        let mut ids = self.ids.clone();
        if ids.len() > most {
            let end = ids[ids.len() - 1];
            ids.truncate(most - 1);
            ids.push(end);
        }
        ids
    }
}

/// The reference sentences.
///
/// # Panics
///
/// If the data is invalid.
#[must_use]
pub fn sentences() -> Vec<Sentence> {
    read_sentences("sentences.json")
}

fn read_sentences(name: &str) -> Vec<Sentence> {
    let text = std::fs::read_to_string(data(name)).expect("sentences");
    let values: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let number = |value: &Value| value.as_u64().expect("a number");
    values
        .iter()
        .map(|value| Sentence {
            text: value["text"].as_str().expect("a text").to_owned(),
            ids: value["ids"]
                .as_array()
                .expect("ids")
                .iter()
                .map(|id| u32::try_from(number(id)).expect("an id"))
                .collect(),
            row: value["row"].as_u64().map_or(0, |row| usize::try_from(row).expect("a row")),
        })
        .collect()
}

/// The reference embeddings for texts truncated to 256 or 512 tokens, row after row.
///
/// # Panics
///
/// If there are none for `most_tokens`.
#[must_use]
pub fn references(most_tokens: usize) -> Vec<f32> {
    let bytes = std::fs::read(data(&format!("embeddings_max{most_tokens}.f32"))).expect("f32");
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/minilm").join(name)
}

/// A safetensors file in memory as a source of tensors.
#[derive(Debug)]
pub struct Safetensors {
    /// The whole file.
    pub file: Vec<u8>,
    headers: Vec<(String, Dtype, Shape, u64, u64)>,
}

impl Safetensors {
    /// Reads the file; tensors that are not f32, f16 or bf16 are left out.
    ///
    /// # Panics
    ///
    /// If it is not a safetensors file.
    #[must_use]
    pub fn read(path: &std::path::Path) -> Self {
        let file = std::fs::read(path).expect("the model's weights");
        let (size, metadata) = safetensors::SafeTensors::read_metadata(&file).expect("safetensors");
        let mut headers = Vec::new();
        for (name, info) in metadata.tensors() {
            let dtype = match info.dtype {
                safetensors::Dtype::F32 => Dtype::F32,
                safetensors::Dtype::F16 => Dtype::F16,
                safetensors::Dtype::BF16 => Dtype::BF16,
                _ => continue,
            };
            let dims: Vec<u64> = info.shape.iter().map(|&dim| dim as u64).collect();
            let (start, end) = info.data_offsets;
            headers.push((
                name.clone(),
                dtype,
                Shape::new(&dims).expect("a shape"),
                (8 + size + start) as u64,
                (end - start) as u64,
            ));
        }
        Self { file, headers }
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, ..)| name.as_str())
    }

    /// The elements of an f32 tensor.
    ///
    /// # Panics
    ///
    /// If there is no such tensor.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<f32> {
        let header = self.find(name).expect("a tensor");
        let place = |offset: u64| usize::try_from(offset).expect("in memory");
        let bytes = &self.file[place(header.offset)..][..place(header.bytes)];
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// Aligns the data of the tensors to multiples of 64 bytes, as a converter writes it; updates
    /// the headers.
    #[must_use]
    pub fn realigned(&mut self) -> Vec<u8> {
        let mut aligned = Vec::new();
        for (_, _, _, offset, bytes) in &mut self.headers {
            let start = usize::try_from(*offset).unwrap_or(usize::MAX);
            let length = usize::try_from(*bytes).unwrap_or(usize::MAX);
            *offset = aligned.len() as u64;
            aligned.extend(&self.file[start..start + length]);
            aligned.resize(aligned.len().next_multiple_of(64), 0);
        }
        aligned
    }

    /// The header of a tensor.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TensorHeader<'_>> {
        let (name, dtype, shape, offset, bytes) =
            self.headers.iter().find(|(known, ..)| known == name)?;
        Some(TensorHeader { name, dtype: *dtype, shape: *shape, offset: *offset, bytes: *bytes })
    }
}

/// The sizes of all-MiniLM-L6-v2.
///
/// # Panics
///
/// Never: the metadata is complete.
#[must_use]
pub fn config() -> BertConfig {
    BertConfig::from_metadata(|key| {
        Some(match key {
            "num_layers" => "6",
            "num_attention_heads" => "12",
            "hidden_size" | "embedding_dim" => "384",
            "intermediate_size" => "1536",
            "max_position_emb" => "512",
            "vocab_size" => "30522",
            _ => return None,
        })
    })
    .expect("complete metadata")
}

/// The cosine of the angle between two vectors, in f64.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
