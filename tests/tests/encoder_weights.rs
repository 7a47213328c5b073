//! The weights of models in folders: those that are missing, cut, duplicate, not expected or not
//! finite are rejected.

use std::fs;

use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::FolderModel;
use nanoembed_core::owned::{Encoder, FileWeights, ModelFault, TextSession};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::changed::{self, Ones};
use nanoembed_tests::encoder_folder::{EncoderFolder, complete};
use serde_json::Value;

#[test]
fn weights_that_are_cut_or_not_there_are_refused() {
    let folder = EncoderFolder::named("embeddinggemma");
    let texts = |path: &str| folder.text(path);
    let files = folder.weights().unwrap();
    assert_eq!(files.len(), 3);
    match Encoder::open_folder(&texts, files[..2].to_vec()).unwrap_err() {
        ModelFault::Tensor(fault) => {
            assert_eq!(fault.error.kind(), ErrorKind::MissingTensor);
            assert!(fault.tensor.starts_with("3_Dense/"), "{fault}");
        }
        fault => panic!("{fault}"),
    }
    for (at, name) in ["model.safetensors", "2_Dense/model.safetensors"].iter().enumerate() {
        let bytes = files[at].1.len();
        for length in (0..bytes).step_by(bytes / 37) {
            let mut cut = files.clone();
            cut[at].1.truncate(length);
            match Encoder::open_folder(&texts, cut).unwrap_err() {
                ModelFault::Text(fault) => assert_eq!(fault.file, *name),
                fault => panic!("{fault}"),
            }
        }
    }
}

#[test]
fn parts_are_those_that_the_index_names() {
    let files_beside = |index: &str, single: bool| {
        let folder = EncoderFolder::named("mpnet")
            .with("model.safetensors.index.json", Some(index.to_owned()));
        let texts = |path: &str| folder.text(path);
        let is_there = |path: &str| single && path == "model.safetensors";
        FolderModel::read(&texts).unwrap().weight_files(&texts, &is_there)
    };
    let files = |index: &str| files_beside(index, false);
    let index = r#"{"metadata": {}, "weight_map": {"b": "m-2.safetensors", "a": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
    assert_eq!(files(index).unwrap(), ["m-1.safetensors", "m-2.safetensors"]);
    // A single file with all weights takes precedence over an index, as in transformers.
    assert_eq!(files_beside(index, true).unwrap(), ["model.safetensors"]);
    let leaving = ["../m", "http:m", "file:m", "C:m", "..\\\\m", "\\tm", "a/m", "//host/m"];
    let leaving = leaving.map(|name| format!(r#"{{"weight_map": {{"a": "{name}.safetensors"}}}}"#));
    let wrong = leaving.iter().map(String::as_str).chain(["{}", r#"{"weight_map": {"a": 1}}"#]);
    for wrong in wrong {
        let fault = files(wrong).unwrap_err();
        assert_eq!((&*fault.file, &*fault.key), ("model.safetensors.index.json", "weight_map"));
    }
}

#[test]
fn a_tensor_that_two_files_have_is_refused() {
    let folder = EncoderFolder::named("mpnet");
    let texts = |path: &str| folder.text(path);
    let file = folder.weights().unwrap().remove(0).1;
    let part = |has: fn(&str) -> bool| {
        changed::each_tensor(&file, |name, shape, data| has(name).then_some((shape, data)))
    };
    let open = |first: Vec<u8>, second: Vec<u8>| {
        Encoder::open_folder(&texts, [("a".to_owned(), first), ("b".to_owned(), second)])
    };
    let layers = part(|name| name.contains("layer."));
    let others = part(|name| !name.contains("layer."));
    open(layers.clone(), others).unwrap();
    match open(layers, file.clone()).unwrap_err() {
        ModelFault::Text(fault) => {
            assert_eq!((&*fault.file, fault.error.kind()), ("b", ErrorKind::DuplicateName));
        }
        fault => panic!("{fault}"),
    }
}

/// Opens a folder whose weights lack some tensors and have additional vectors; returns the error
/// and the tensor at fault.
fn opened(
    folder: &EncoderFolder,
    file: usize,
    gone: &[&str],
    vectors: &[Ones<'_>],
) -> Result<(), (ErrorKind, String)> {
    let mut files = folder.weights().unwrap();
    files[file].1 = changed::safetensors(&files[file].1, gone, vectors);
    match Encoder::open_folder(&|path: &str| folder.text(path), files) {
        Ok(_) => Ok(()),
        Err(ModelFault::Tensor(fault)) => Err((fault.error.kind(), fault.tensor)),
        Err(fault) => panic!("{fault}"),
    }
}

#[test]
fn the_first_layer_lacks_a_norm_in_modern_bert_alone() {
    for folder in complete() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let tensor = match name {
            "embeddinggemma" | "embeddinggemma2_text" | "eurobert" | "qwen3_embedding" => {
                "layers.0.input_layernorm.weight"
            }
            "bert_cased" => "encoder.layer.0.attention.output.LayerNorm.weight",
            "nomic_bert" => "encoder.layers.0.norm1.weight",
            _ => continue,
        };
        let found = opened(&EncoderFolder::new(&folder), 0, &[tensor], &[]).unwrap_err();
        assert_eq!(found.0, ErrorKind::MissingTensor, "{name}");
    }
    // Its code creates none there, and would not use one.
    let modern = EncoderFolder::named("modernbert_reranker");
    let norm = "model.layers.0.attn_norm.weight";
    let refused = Err((ErrorKind::UnsupportedSetting, norm.to_owned()));
    assert_eq!(opened(&modern, 0, &[], &[(norm, 48)]), refused);
    let second = "model.layers.1.attn_norm.weight";
    assert_eq!(opened(&modern, 0, &[second], &[]).unwrap_err().0, ErrorKind::MissingTensor);
}

#[test]
fn biases_are_those_that_the_settings_say() {
    let with = |name: &str, tensor: &str, elements| {
        let found = opened(&EncoderFolder::named(name), 0, &[], &[(tensor, elements)]);
        assert_eq!(found, Err((ErrorKind::UnsupportedSetting, tensor.to_owned())), "{name}");
    };
    with("qwen3_embedding", "layers.0.self_attn.q_proj.bias", 64);
    with("qwen3_embedding", "layers.2.self_attn.o_proj.bias", 48);
    with("qwen3_embedding", "layers.1.mlp.down_proj.bias", 48);
    with("eurobert", "layers.0.self_attn.v_proj.bias", 48);
    with("embeddinggemma", "norm.bias", 48);
    with("embeddinggemma2_text", "ple.per_layer_model_projection.bias", 64);
    with("embeddinggemma2_text", "layers.1.ple_block.per_layer_input_gate.bias", 16);
    with("embeddinggemma2_text", "embedding_projection.bias", 44);
    with("nomic_bert", "encoder.layers.1.attn.Wqkv.bias", 144);
    with("gte", "encoder.layer.0.mlp.up_gate_proj.bias", 192);
    with("modernbert_reranker", "model.layers.0.attn.Wqkv.bias", 144);
    with("modernbert_reranker", "model.final_norm.bias", 48);
    with("modernbert_reranker", "head.dense.bias", 48);
    with("modernbert_reranker", "head.norm.bias", 48);
    let found = opened(&EncoderFolder::named("embeddinggemma"), 1, &[], &[("linear.bias", 96)]);
    let in_dense = Err((ErrorKind::UnsupportedSetting, "2_Dense/linear.bias".to_owned()));
    assert_eq!(found, in_dense);
    let dense = EncoderFolder::named("bert_cased").text("2_Dense/config.json").unwrap().unwrap();
    let mut dense: Value = serde_json::from_str(&dense).unwrap();
    assert_eq!(opened(&EncoderFolder::named("bert_cased"), 1, &[], &[]), Ok(()));
    dense["bias"] = false.into();
    let folder =
        EncoderFolder::named("bert_cased").with("2_Dense/config.json", Some(dense.to_string()));
    assert_eq!(opened(&folder, 1, &[], &[]), in_dense);
    assert_eq!(opened(&folder, 1, &["linear.bias"], &[]), Ok(()));

    let without = |name: &str, file, tensor: &str| {
        let found = opened(&EncoderFolder::named(name), file, &[tensor], &[]).unwrap_err();
        assert_eq!(found.0, ErrorKind::MissingTensor, "{name} {tensor}");
    };
    without("bert_cased", 1, "linear.bias");
    without("roberta", 0, "embeddings.LayerNorm.bias");
    without("nomic_bert", 0, "emb_ln.bias");
    without("modernbert_mean", 0, "final_norm.bias");
    without("modernbert_mean", 0, "layers.0.mlp.Wi.bias");
    without("cross_encoder", 0, "bert.pooler.dense.bias");
    without("cross_encoder", 0, "classifier.bias");
    without("modernbert_reranker", 0, "classifier.bias");
}

/// The vector of a text, or the logits of a pair.
fn numbers_of(model: &Encoder<FileWeights<Vec<u8>>>) -> Result<Vec<f32>, Error> {
    let mut tokens = TextSession::default();
    let limit = model.usual_tokens().min(32);
    if let Some(classes) = model.classes() {
        let pair = model.encode_pair("How many people?", "Two of them.", limit, &mut tokens)?;
        let mut session = model.session_for(model.plan(pair.ids.len()))?;
        let mut found = vec![0.0; classes.labels().len()];
        return model.classify(&mut session, &InOrder, &[pair], &mut found).map(|()| found);
    }
    let found = model.encode("How many people live in Berlin?", limit, &mut tokens)?;
    let mut session = model.session_for(model.plan(found.ids.len().max(1)))?;
    let mut vector = vec![0.0; model.dimensions()];
    let lengths = [found.ids.len()];
    model.embed(&mut session, &InOrder, &found.ids, &lengths, 0, &mut vector).map(|()| vector)
}

/// Sets one element of a tensor to NaN, or all elements in tables from which a text takes some
/// rows: it is rejected, unless the tensor does not affect the vector.
#[test]
fn weights_that_are_not_finite_are_refused_and_never_give_other_numbers() {
    for path in complete() {
        let is_static = path.file_name().unwrap().to_str().unwrap().starts_with("model2vec");
        let is_table =
            |name: &str| is_static || name.contains("embed") || name.contains("relative");
        let folder = EncoderFolder::new(&path);
        let whole = fs::read(path.join("model.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&whole).unwrap();
        let mut refused = 0;
        let expected = numbers_of(&folder.open().unwrap()).unwrap();
        for name in file.names() {
            for wrong in [f32::NAN, f32::INFINITY] {
                let bytes = changed::each_tensor(&whole, |own, shape, mut data| {
                    let is_float = file.tensor(own).unwrap().dtype();
                    let size = match is_float {
                        safetensors::Dtype::F32 => 4,
                        safetensors::Dtype::F16 | safetensors::Dtype::BF16 => 2,
                        _ => return Some((shape, data)),
                    };
                    let half = match is_float {
                        safetensors::Dtype::F16 => half::f16::from_f32(wrong).to_le_bytes(),
                        _ => half::bf16::from_f32(wrong).to_le_bytes(),
                    };
                    let element = if size == 4 { &wrong.to_le_bytes()[..] } else { &half };
                    let count = data.len() / size;
                    for (at, place) in data.chunks_exact_mut(size).enumerate() {
                        if own == name && (is_table(name) || at == count / 2) {
                            place.copy_from_slice(element);
                        }
                    }
                    Some((shape, data))
                });
                let files = folder.weights().unwrap().into_iter().map(|(path, own)| {
                    let is_changed = path == "model.safetensors";
                    (path, if is_changed { bytes.clone() } else { own })
                });
                let texts = |path: &str| folder.text(path);
                let opened = Encoder::open_folder(&texts, files.collect::<Vec<_>>());
                let found =
                    opened.map_err(|fault| fault.error()).and_then(|model| numbers_of(&model));
                match found {
                    Err(error) => {
                        let kind = error.kind();
                        let is_told = matches!(kind, ErrorKind::NotFinite | ErrorKind::BadScale);
                        assert!(is_told, "{path:?} {name} {wrong}: {kind:?}");
                        refused += 1;
                    }
                    Ok(found) => assert_eq!(found, expected, "{path:?} {name} {wrong}"),
                }
            }
        }
        let is_float = |name: &&str| {
            use safetensors::Dtype::{BF16, F16, F32};
            matches!(file.tensor(name).unwrap().dtype(), F32 | F16 | BF16)
        };
        assert_eq!(refused > 0, file.names().iter().any(is_float), "{path:?}");
    }
}
