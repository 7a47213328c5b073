//! Models with listed modules.

use std::string::String;

use super::{Files, std};
use crate::describe::folder::{Description, Kind, ModuleList, ReadText, TextFault};
use crate::error::ErrorKind;
use crate::model::{DenseActivation, HeadModule};

const POOLING: (&str, &str) = ("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
const DENSE: (&str, &str) = ("Dense/config.json", r#"{"in_features": 4, "out_features": 3}"#);
const NORM: (&str, &str) = ("LayerNorm/config.json", r#"{"dimension": 3}"#);
const SCORES: (&str, &str) = (
    "Dense/config.json",
    r#"{"in_features": 4, "out_features": 1, "module_output_name": "scores"}"#,
);

/// A list of a transformer and these modules.
fn list(kinds: &[&str]) -> String {
    let modules = kinds.iter().map(|kind| {
        let folder = if *kind == "Pooling" { "1_Pooling" } else { kind };
        std::format!(r#"{{"type": "{kind}", "path": "{folder}"}}"#)
    });
    let first = String::from(r#"{"type": "Transformer", "path": ""}"#);
    let all: std::vec::Vec<_> = core::iter::once(first).chain(modules).collect();
    std::format!("[{}]", all.join(", "))
}

fn refusal<T>(read: ReadText<'_, T>) -> (ErrorKind, &'static str, String) {
    let TextFault { path, fault } = read.err().unwrap();
    (fault.error.kind(), path.name, fault.key.into())
}

#[test]
fn norms_and_scaling_stand_anywhere_after_the_pooling() {
    let kinds = ["Pooling", "Normalize", "Dense", "LayerNorm", "Normalize", "Normalize"];
    let text = list(&kinds);
    let files = [("modules.json", &*text), POOLING, DENSE, NORM];
    let modules = ModuleList::read(&Files(&files)).unwrap();
    let [HeadModule::Normalize, HeadModule::Dense(dense), HeadModule::LayerNorm(norm)] =
        modules.head[..]
    else {
        panic!("{modules:?}")
    };
    assert_eq!((dense.folder, dense.settings.outputs), ("Dense", 3));
    assert_eq!((norm.folder, norm.elements), ("LayerNorm", 3));
    assert!(modules.normalize && !modules.give_scores);
    for (wrong, file, key) in [
        (&["Normalize"][..], "modules.json", "type"),
        (&["Pooling", "LayerNorm", "Pooling"], "modules.json", "type"),
    ] {
        let text = list(wrong);
        let files = [("modules.json", &*text), POOLING, DENSE, NORM];
        let expected = (ErrorKind::UnsupportedSetting, file, key.into());
        assert_eq!(refusal(ModuleList::read(&Files(&files))), expected);
    }
    let odd = ("LayerNorm/config.json", r#"{"dimension": 3, "eps": 1}"#);
    let files = [("modules.json", &*text), POOLING, DENSE, odd];
    let expected = (ErrorKind::UnsupportedSetting, "config.json", "eps".into());
    assert_eq!(refusal(ModuleList::read(&Files(&files))), expected);
}

#[test]
fn a_dense_layer_that_gives_scores_ends_a_model() {
    let read = |kinds: &[&str]| {
        let text = list(kinds);
        let files = [("modules.json", &*text), POOLING, SCORES, NORM];
        let read = ModuleList::read(&Files(&files));
        read.map(|modules| (modules.give_scores, modules.head.len())).map_err(|it| it.fault.only)
    };
    assert_eq!(read(&["Pooling", "Dense"]), Ok((true, 1)));
    assert_eq!(read(&["Pooling", "LayerNorm", "Dense"]), Ok((true, 2)));
    let misplaced = Err("the module stands in an unusual place");
    assert_eq!(read(&["Pooling", "Dense", "Normalize"]), misplaced);
    assert_eq!(read(&["Pooling", "Dense", "Dense"]), misplaced);
}

#[test]
fn a_transformer_alone_is_a_cross_encoder_that_says_so() {
    const CONFIG: &str = r#"{"model_type": "bert", "architectures": ["BertForSequenceClassification"],
        "hidden_size": 4, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8,
        "vocab_size": 9, "max_position_embeddings": 16, "id2label": {"0": "LABEL_0"}}"#;
    const TASK: &str = r#"{"transformer_task": "sequence-classification",
        "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
        "module_output_name": "scores"}"#;
    let text = list(&[]);
    let own = [("modules.json", &*text), ("config.json", CONFIG)];
    let settings = ("sentence_bert_config.json", TASK);
    let activation = (
        "config_sentence_transformers.json",
        r#"{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"}"#,
    );
    let [list, config] = own;
    let files = [list, config, settings, activation];
    let described = Description::read(&Files(&files)).unwrap();
    assert!(described.compares() && described.settings.classifies);
    let Kind::Transformer(family) = described.kind else { panic!("{described:?}") };
    assert_eq!(family.classifier.unwrap().on_logits, Some(DenseActivation::Identity));
    let expected = (ErrorKind::UnsupportedSetting, "modules.json", "".into());
    assert_eq!(refusal(Description::read(&Files(&own))), expected);
    let odd = [list, config, settings, (activation.0, r#"{"activation_fn": "torch.nn.Odd"}"#)];
    let expected = (ErrorKind::UnsupportedSetting, activation.0, "activation_fn".into());
    assert_eq!(refusal(Description::read(&Files(&odd))), expected);
    // Its outputs are only those of a head.
    let states = TASK.replace("\"logits\"", "\"last_hidden_state\"");
    let odd = [list, config, (settings.0, &*states), activation];
    let expected = (ErrorKind::UnsupportedSetting, settings.0, "modality_config".into());
    assert_eq!(refusal(Description::read(&Files(&odd))), expected);
}

/// The texts of a reranker that is a causal model, some of them changed.
fn reranker(changed: &[(&'static str, Option<&str>)]) -> (ErrorKind, &'static str, String) {
    const CONFIG: &str = r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
        "hidden_size": 4, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2,
        "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9,
        "max_position_embeddings": 16}"#;
    const SETTINGS: &str = r#"{"transformer_task": "text-generation", "modality_config": {
        "message": {"method": "forward", "method_output_name": "logits", "format": "flat"}},
        "module_output_name": "causal_logits"}"#;
    const TEMPLATE: &str = r#"{{ messages | selectattr("role", "eq", "query")
        | map(attribute="content") | first }}
        {{ (messages | selectattr("role", "eq", "document") | first).content }}"#;
    let list = list(&["LogitScore"]);
    let mut files = std::vec![
        ("modules.json", &*list),
        ("config.json", CONFIG),
        ("sentence_bert_config.json", SETTINGS),
        ("LogitScore/config.json", r#"{"true_token_id": 8, "false_token_id": 0}"#),
        ("chat_template.jinja", TEMPLATE),
    ];
    files.retain(|(name, _)| !changed.contains(&(name, None)));
    for (name, text) in &mut files {
        if let Some((_, Some(other))) = changed.iter().find(|(known, _)| known == name) {
            *text = other;
        }
    }
    let read = Description::read(&Files(&files)).and_then(|described| {
        assert!(described.compares());
        described.template.expect("a template").checked()
    });
    match read {
        Err(TextFault { path, fault }) => (fault.error.kind(), path.name, fault.key.into()),
        Ok(_) => (ErrorKind::OtherModel, "", String::new()),
    }
}

#[test]
fn a_causal_model_with_a_score_is_a_cross_encoder_by_its_template() {
    use ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
    const SETTINGS: &str = "sentence_bert_config.json";
    const SCORE: &str = "LogitScore/config.json";
    const TEMPLATE: &str = "chat_template.jinja";
    assert_eq!(reranker(&[]).1, "");
    assert_eq!(reranker(&[(SCORE, Some(r#"{"true_token_id": 8, "false_token_id": null}"#))]).1, "");
    let states = r#"{"transformer_task": "text-generation", "module_output_name": "scores"}"#;
    let structured = r#"{"transformer_task": "text-generation", "modality_config": {
        "message": {"method": "forward", "method_output_name": "logits", "format": "structured"}}}"#;
    for (name, text, kind, file, key) in [
        (SETTINGS, None, MissingMetadata, SETTINGS, ""),
        (SETTINGS, Some("{}"), UnsupportedSetting, SETTINGS, "transformer_task"),
        (SETTINGS, Some(states), UnsupportedSetting, SETTINGS, "module_output_name"),
        (SETTINGS, Some(structured), UnsupportedSetting, SETTINGS, "modality_config"),
        (SCORE, None, MissingMetadata, "config.json", ""),
        (SCORE, Some("{}"), MissingMetadata, "config.json", "true_token_id"),
        (SCORE, Some(r#"{"true_token_id": 9}"#), BadMetadata, "config.json", "true_token_id"),
        (
            SCORE,
            Some(r#"{"true_token_id": 1, "false_token_id": 4294967296}"#),
            BadMetadata,
            "config.json",
            "false_token_id",
        ),
        (
            SCORE,
            Some(r#"{"true_token_id": 1, "module_input_name": "logits"}"#),
            UnsupportedSetting,
            "config.json",
            "module_input_name",
        ),
        (TEMPLATE, None, MissingMetadata, TEMPLATE, ""),
        (TEMPLATE, Some("{% for m in messages %}"), UnsupportedSetting, TEMPLATE, "for"),
    ] {
        assert_eq!(reranker(&[(name, text)]), (kind, file, key.into()), "{name} {text:?}");
    }
    // Nothing else takes what it gives.
    let text = list(&["LogitScore", "Normalize"]);
    let files = [("modules.json", &*text), (SCORE, r#"{"true_token_id": 1}"#)];
    let expected = (UnsupportedSetting, "modules.json", "type".into());
    assert_eq!(refusal(ModuleList::read(&Files(&files))), expected);
}
