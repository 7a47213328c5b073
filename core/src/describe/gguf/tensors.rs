//! The tensors of encoders in GGUF files: GGUF's names of BERT's tensors, and the detection of
//! tensors that an encoder would not use.

use super::key::Key;
use super::refusal::GgufRefusal;
use super::refusal::Outcome;
use super::value::unsigned;
use super::{GgufArchitecture, value_of};
use crate::format::gguf::Gguf;
use crate::model::BERT_NAMES;
use crate::model::config::Config;
use crate::model::gguf_names::POST;
use crate::model::weights::Name;
use crate::model::{ClassifierModel, FamilyModel, Names, Tensor, TensorName};

/// Calls `found` with GGUF's name of the tensor that Hugging Face calls `name`; `None` if it does
/// not belong to a BERT encoder.
pub fn gguf_bert_tensor<T>(name: &str, found: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let mut renamed = Name::new("");
    POST.spell(&BERT_NAMES.parts(name)?, &mut |part| renamed.push(part))?;
    found(renamed.as_str())
}

/// The first tensor that an encoder with the file's number of layers would not use: it belongs to
/// another model. llama.cpp opens no file with such a tensor, except for those of a head that
/// compares texts, without which its score is lost.
#[must_use]
pub fn gguf_bert_tensor_at_fault<'a>(file: &Gguf<'a>) -> Option<GgufRefusal<'a>> {
    let layers = value_of(file, GgufArchitecture::Bert.name(), Key::BlockCount);
    let layers = layers.and_then(unsigned).unwrap_or(0);
    let mut tensors = file.tensors();
    let tensor = tensors.find(|tensor| !is_encoders(tensor.header().name, layers))?;
    let header = tensor.header();
    Some(GgufRefusal::unused_tensor(header.name, header.offset))
}

/// Returns true if an encoder with `layers` layers uses the tensor `name`.
fn is_encoders(name: &str, layers: u32) -> bool {
    let Some(parts) = POST.parts(name) else { return false };
    let is_in_layer = |layer: &str| layer.parse::<u32>().is_ok_and(|layer| layer < layers);
    BERT_NAMES.name_of(parts.tensor).is_some()
        && parts.layer.is_none_or(is_in_layer)
        && (parts.kind == ".weight" || parts.kind == ".bias" && !parts.tensor.is_table())
}

/// Tensors of encoders that are used under other names, or only by decoders.
const OTHERS: [&str; 3] = ["dense_2.weight", "dense_3.weight", "output.weight"];

/// Rejects tensors that an encoder with these settings would not use: they belong to another model.
pub(crate) fn check<'a>(file: &Gguf<'a>, model: &FamilyModel) -> Outcome<'a, ()> {
    let FamilyModel { names, config, classifier, .. } = model;
    let is_known = |name: &str| {
        classifier.as_ref().is_some_and(|head| head_tensors(head).contains(&name))
            || is_used(file, names, config, name)
    };
    match file.tensors().find(|tensor| !is_known(tensor.header().name)) {
        Some(tensor) => {
            let header = tensor.header();
            Err(GgufRefusal::unused_tensor(header.name, header.offset))
        }
        None => Ok(()),
    }
}

/// The layer that computes the logits of a model that compares texts.
pub(super) const LOGITS: &str = "cls.output.weight";

/// The tensors of a head that compares texts: RoBERTa's, or the rows of two tokens alone.
pub(super) const fn head_tensors(head: &ClassifierModel) -> &'static [&'static str] {
    match head.hidden {
        Some(_) => &["cls.weight", "cls.bias", LOGITS, "cls.output.bias"],
        None => &[LOGITS],
    }
}

fn is_used(file: &Gguf<'_>, names: &Names, config: &Config, name: &str) -> bool {
    let Some(parts) = names.parts(name) else { return OTHERS.contains(&name) };
    let is_in_layer = |layer: &str| layer.parse::<usize>().is_ok_and(|layer| layer < config.layers);
    let is_fused = || {
        let fused = TensorName { tensor: Tensor::QueryKeyValue, kind: ".weight", ..parts };
        let mut fused_name = Name::new("");
        let spelled = names.spell(&fused, &mut |part| fused_name.push(part));
        spelled.is_some() && file.tensor(fused_name.as_str()).is_some()
    };
    let is_lost = match parts.tensor {
        Tensor::Query | Tensor::Key | Tensor::Value => is_fused(),
        // llama.cpp would use those of other layers there.
        Tensor::RelativeBias => parts.layer != Some("0"),
        tensor => tensor.is_table() && parts.kind == ".bias",
    };
    [".weight", ".bias"].contains(&parts.kind)
        && parts.layer.is_none_or(is_in_layer)
        && parts.tensor.is_in(config)
        && !is_lost
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
