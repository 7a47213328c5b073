//! A decoder of one layer as a Hugging Face folder, without its tokenizer; weights from a fixed
//! sequence.

use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use crate::tiny_model::filled;

pub const HIDDEN: usize = 8;
pub const INTERMEDIATE: usize = 12;

/// Writes `config.json`, with `further` members or other values for some, and `model.safetensors`.
pub fn write(folder: &Path, tokens: usize, further: Value) {
    let mut config = json!({
        "model_type": "llama", "hidden_act": "silu", "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
        "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1, "max_position_embeddings": 64,
        "vocab_size": tokens, "rms_norm_eps": 1e-5, "bos_token_id": 1, "eos_token_id": 2, "rope_theta": 1e4,
        "tie_word_embeddings": true, "rope_scaling": null,
    });
    config.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let tensors = tensors(tokens);
    let named = tensors.iter().map(|(name, shape, data)| {
        (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
    });
    safetensors::serialize_to_file(named, None, &folder.join("model.safetensors")).unwrap();
}

/// Name, shape and f32 bytes of every tensor.
pub fn tensors(tokens: usize) -> Vec<(String, Vec<usize>, Vec<u8>)> {
    let layer = |part: &str| format!("model.layers.0.{part}.weight");
    let shapes = [
        ("model.embed_tokens.weight".to_owned(), vec![tokens, HIDDEN]),
        ("model.norm.weight".to_owned(), vec![HIDDEN]),
        (layer("input_layernorm"), vec![HIDDEN]),
        (layer("post_attention_layernorm"), vec![HIDDEN]),
        (layer("self_attn.q_proj"), vec![HIDDEN, HIDDEN]),
        (layer("self_attn.k_proj"), vec![HIDDEN / 2, HIDDEN]),
        (layer("self_attn.v_proj"), vec![HIDDEN / 2, HIDDEN]),
        (layer("self_attn.o_proj"), vec![HIDDEN, HIDDEN]),
        (layer("mlp.gate_proj"), vec![INTERMEDIATE, HIDDEN]),
        (layer("mlp.up_proj"), vec![INTERMEDIATE, HIDDEN]),
        (layer("mlp.down_proj"), vec![HIDDEN, INTERMEDIATE]),
    ];
    filled(shapes.into(), 3)
}
