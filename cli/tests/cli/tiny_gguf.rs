//! The tiny BERT model as a GGUF file, as llama.cpp's converter writes them.

use nanoembed_core::format::gguf::{GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};

use crate::tiny_model::{HIDDEN, INTERMEDIATE, LAYERS, POSITIONS, TOKENS, tensors};

/// What llama.cpp's converter calls the parts of a BERT model.
const GGUF_PARTS: [(&str, &str); 12] = [
    ("embeddings.word_embeddings", "token_embd"),
    ("embeddings.position_embeddings", "position_embd"),
    ("embeddings.token_type_embeddings", "token_types"),
    ("embeddings.LayerNorm", "token_embd_norm"),
    ("attention.self.query", "attn_q"),
    ("attention.self.key", "attn_k"),
    ("attention.self.value", "attn_v"),
    ("attention.output.dense", "attn_output"),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("intermediate.dense", "ffn_up"),
    ("output.dense", "ffn_down"),
    ("output.LayerNorm", "layer_output_norm"),
];

/// How many tensors the file has.
pub const TENSORS: usize = 37;

/// The tiny model as llama.cpp's converter writes it.
pub fn file() -> Vec<u8> {
    let tensors = named_tensors();
    let tokens = tokens();
    let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    written(&metadata(&tokens), &tensors)
}

/// The same in so many parts, as `gguf-split` makes them: what each one's number is, how many they
/// shall be, and how many tensors they shall have together, is said later.
pub fn parts(count: usize) -> Vec<impl Fn(u16, u16, i32) -> Vec<u8>> {
    let tensors = named_tensors();
    assert_eq!(tensors.len(), TENSORS);
    let parts: Vec<Vec<Tensor>> =
        tensors.chunks(tensors.len().div_ceil(count)).map(<[Tensor]>::to_vec).collect();
    let part = |(index, tensors): (usize, Vec<Tensor>)| {
        move |number, count, all| {
            let tokens = tokens();
            let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
            let mut pairs = if index == 0 { metadata(&tokens) } else { Vec::new() };
            pairs.extend([
                ("split.no", WriteValue::U16(number)),
                ("split.count", WriteValue::U16(count)),
                ("split.tensors.count", WriteValue::I32(all)),
            ]);
            written(&pairs, &tensors)
        }
    };
    parts.into_iter().enumerate().map(part).collect()
}

/// Name, shape and data.
type Tensor = (String, Vec<usize>, Vec<u8>);

fn named_tensors() -> Vec<Tensor> {
    let renamed = |name: &str| {
        let (part, kind) = name.rsplit_once('.')?;
        let (layer, part) = match part.strip_prefix("encoder.layer.") {
            Some(rest) => {
                rest.split_once('.').map(|(layer, part)| (format!("blk.{layer}."), part))?
            }
            None => (String::new(), part),
        };
        let (_, gguf) = GGUF_PARTS.iter().find(|(known, _)| *known == part)?;
        Some(format!("{layer}{gguf}.{kind}"))
    };
    let named = tensors().into_iter();
    named.filter_map(|(name, shape, data)| Some((renamed(&name)?, shape, data))).collect()
}

/// `##` goes, and what begins a word is marked instead.
fn tokens() -> Vec<Vec<u8>> {
    let spelled = |token: &&str| match token.strip_prefix("##") {
        Some(rest) => rest.as_bytes().to_vec(),
        None if token.starts_with('[') => token.as_bytes().to_vec(),
        None => format!("▁{token}").into_bytes(),
    };
    TOKENS.iter().map(spelled).collect()
}

fn metadata<'a>(tokens: &'a [&'a [u8]]) -> Vec<(&'static str, WriteValue<'a>)> {
    let size = |size: usize| WriteValue::U32(u32::try_from(size).unwrap());
    vec![
        ("general.architecture", WriteValue::Text("bert")),
        ("bert.block_count", size(LAYERS)),
        ("bert.context_length", size(POSITIONS)),
        ("bert.embedding_length", size(HIDDEN)),
        ("bert.feed_forward_length", size(INTERMEDIATE)),
        ("bert.attention.head_count", size(2)),
        ("bert.attention.layer_norm_epsilon", WriteValue::F32(1e-12)),
        ("bert.pooling_type", size(1)),
        ("tokenizer.ggml.model", WriteValue::Text("bert")),
        ("tokenizer.ggml.tokens", WriteValue::Texts(tokens)),
        ("tokenizer.ggml.padding_token_id", size(0)),
        ("tokenizer.ggml.unknown_token_id", size(1)),
        ("tokenizer.ggml.bos_token_id", size(2)),
        ("tokenizer.ggml.seperator_token_id", size(3)),
        ("tokenizer.ggml.mask_token_id", size(4)),
    ]
}

fn written(metadata: &[(&str, WriteValue<'_>)], tensors: &[Tensor]) -> Vec<u8> {
    let specs: Vec<TensorSpec<'_>> = tensors
        .iter()
        .map(|(name, shape, _)| {
            let dims: Vec<u64> = shape.iter().map(|&dim| dim as u64).collect();
            TensorSpec { name, dtype: Dtype::F32, shape: Shape::new(&dims).unwrap() }
        })
        .collect();
    let plan = GgufPlan { metadata, tensors: &specs, alignment: 32 };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    tensors.iter().for_each(|(_, _, data)| writer.data(data).unwrap());
    writer.finish().unwrap()
}
