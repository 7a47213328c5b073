//! What GGUF calls the tensors of a BERT encoder.

use super::settings::GgufRefusal;
use super::{ENCODER, unsigned, value_of};
use crate::format::gguf::Gguf;
use crate::model::weights::Name;

/// What GGUF calls the parts of an encoder, and what Hugging Face does; `.weight` or `.bias`
/// follows.
const PARTS: [(&str, &str); 12] = [
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

/// Calls `found` with GGUF's name of the tensor that Hugging Face calls `name`; `None` if it is not
/// one of an encoder.
pub fn gguf_bert_tensor<T>(name: &str, found: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    // `rsplit_once` could panic for all that the linker knows.
    let dot = name.bytes().rposition(|byte| byte == b'.')?;
    let (part, kind) = (name.get(..dot)?, name.get(dot.saturating_add(1)..)?);
    let (layer, part) = match part.strip_prefix("encoder.layer.") {
        Some(part) => {
            let (layer, part) = part.split_once('.')?;
            (Some(layer), part)
        }
        None => (None, part),
    };
    let (_, renamed) = PARTS.into_iter().find(|(known, _)| *known == part)?;
    let mut name = Name::new("");
    if let Some(layer) = layer {
        ["blk.", layer, "."].into_iter().for_each(|text| name.push(text));
    }
    [renamed, ".", kind].into_iter().for_each(|text| name.push(text));
    found(name.as_str())
}

/// The first tensor that an encoder of as many layers as the file says would not use: with it
/// another model is meant. llama.cpp opens no file with such a tensor, but for those of a head that
/// compares texts, without which its score is lost.
#[must_use]
pub fn gguf_bert_tensor_at_fault<'a>(file: &Gguf<'a>) -> Option<GgufRefusal<'a>> {
    let layers = value_of(file, ENCODER, "block_count").and_then(unsigned).unwrap_or(0);
    let mut tensors = file.tensors();
    let tensor = tensors.find(|tensor| !is_encoders(tensor.header().name, layers))?;
    let header = tensor.header();
    Some(GgufRefusal::of_tensor(header.name, header.offset))
}

/// Whether an encoder of so many layers uses a tensor that is called so.
fn is_encoders(name: &str, layers: u32) -> bool {
    let (part, is_bias) = match (name.strip_suffix(".weight"), name.strip_suffix(".bias")) {
        (Some(part), _) => (part, false),
        (None, Some(part)) => (part, true),
        (None, None) => return false,
    };
    let (layer, part) = match part.strip_prefix("blk.").map(|part| part.split_once('.')) {
        None => (None, part),
        Some(Some((layer, part))) => (layer.parse::<u32>().ok(), part),
        Some(None) => return false,
    };
    let known = PARTS.into_iter().find(|(_, known)| *known == part);
    known.is_some_and(|(theirs, _)| match theirs.strip_prefix("embeddings.") {
        // Tables have no biases.
        Some(theirs) => layer.is_none() && (theirs == "LayerNorm" || !is_bias),
        None => layer.is_some_and(|layer| layer < layers),
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    fn renamed(name: &str) -> Option<String> {
        gguf_bert_tensor(name, |name| Some(name.into()))
    }

    #[test]
    fn tensors_are_called_as_llama_cpp_does() {
        let names = [
            ("embeddings.word_embeddings.weight", "token_embd.weight"),
            ("embeddings.LayerNorm.bias", "token_embd_norm.bias"),
            ("encoder.layer.0.attention.self.query.weight", "blk.0.attn_q.weight"),
            ("encoder.layer.11.output.LayerNorm.bias", "blk.11.layer_output_norm.bias"),
        ];
        for (ours, theirs) in names {
            assert_eq!(renamed(ours).as_deref(), Some(theirs));
        }
        for none in
            ["pooler.dense.weight", "encoder.layer.0.weight", "encoder.layer.", "weight", ""]
        {
            assert_eq!(renamed(none), None, "{none}");
        }
    }

    #[test]
    fn tensors_that_no_encoder_of_so_many_layers_has_are_known_as_such() {
        for name in [
            "token_embd.weight",
            "token_types.weight",
            "token_embd_norm.bias",
            "blk.0.attn_q.weight",
            "blk.1.layer_output_norm.bias",
        ] {
            assert!(is_encoders(name, 2), "{name}");
        }
        for name in [
            "token_embd.bias",
            "attn_q.weight",
            "blk.0.token_embd.weight",
            "blk.0.attn_q_norm.weight",
            "blk.0.ffn_gate.weight",
            "blk.2.attn_q.weight",
            "blk..attn_q.weight",
            "blk.weight",
            "blk.0.attn_q.scale",
            "cls.weight",
            "rope_freqs.weight",
            "",
        ] {
            assert!(!is_encoders(name, 2), "{name}");
        }
    }
}
