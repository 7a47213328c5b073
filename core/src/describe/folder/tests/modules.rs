//! The modules of a folder, and the limits on the length of its texts.

use std::format;

use super::std;
use crate::describe::folder::encoder_settings::{EncoderSettings, tokenizer_limit};
use crate::describe::folder::masked_models::refuse_masked;
use crate::describe::folder::module::{Module, ModuleKind};
use crate::describe::folder::modules::Output;
use crate::describe::folder::pooling::PoolingSettings;
use crate::describe::folder::splade::splade;
use crate::error::ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
use crate::model::DenseSettings;
use crate::text::json::tests::{check, read};
use crate::text::json::{Object, Value};

#[test]
fn modules_are_refused_where_they_differ() {
    let dense = [("in_features", "2"), ("out_features", "3")];
    let rows = [
        ("in_features", "", MissingMetadata, "in_features"),
        ("in_features", "@0", BadMetadata, "in_features"),
        ("out_features", "@1e15", BadMetadata, "out_features"),
        ("activation_function", "@\"torch.nn.Odd\"", UnsupportedSetting, "activation_function"),
        ("bias", "@1", BadMetadata, "bias"),
        ("module_input_name", "@\"token_embeddings\"", UnsupportedSetting, "module_input_name"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&dense, &rows, |config| DenseSettings::read(config).map(drop));
    let rows = [
        ("pooling_mode", "@\"odd\"", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode", "@[]", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode", "@[\"mean\", [\"cls\"]]", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode_mean_tokens", "false", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode_max_tokens", "@\"yes\"", BadMetadata, "pooling_mode_max_tokens"),
        ("include_prompt", "@0", BadMetadata, "include_prompt"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    let pooling = [("pooling_mode_mean_tokens", "true")];
    check(&pooling, &rows, |config| PoolingSettings::read(config).map(drop));
    let rows = [
        ("max_seq_length", "@-1", BadMetadata, "max_seq_length"),
        ("do_lower_case", "@1", BadMetadata, "do_lower_case"),
        ("transformer_task", "@\"fill-mask\"", UnsupportedSetting, "transformer_task"),
        ("tokenizer_args", "@{\"a\": 1}", UnsupportedSetting, "tokenizer_args"),
        ("config_kwargs", "@[]", UnsupportedSetting, "config_kwargs"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    let encoder = [("max_seq_length", "0"), ("config_args", "{}")];
    check(&encoder, &rows, |config| EncoderSettings::from_object(config, Output::States).map(drop));
    let rows = [
        ("pooling_strategy", "@\"mean\"", UnsupportedSetting, "pooling_strategy"),
        ("pooling_strategy", "@1", UnsupportedSetting, "pooling_strategy"),
        ("activation_function", "@\"gelu\"", UnsupportedSetting, "activation_function"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&[("word_embedding_dimension", "900")], &rows, |config| splade(config).map(drop));
    let rows = [
        ("type", "", MissingMetadata, "type"),
        ("type", "@\"sentence_transformers.models.WordWeights\"", UnsupportedSetting, "type"),
        ("type", "@\"somebody.models.Pooling\"", UnsupportedSetting, "type"),
        ("path", "@1", BadMetadata, "path"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&[("type", "\"Pooling\"")], &rows, |module| Module::read(module).map(drop));
    let rows = [(
        "architectures",
        "[\"BertModel\", @\"BertForMaskedLM\"]",
        UnsupportedSetting,
        "architectures",
    )];
    check(&[], &rows, |config| refuse_masked(config.value()));
}

#[test]
fn modules_say_what_they_do_and_where_they_lie() {
    let kind = |name: &str| {
        let text = format!(r#"{{"type": "sentence_transformers.models.{name}", "path": "1_x"}}"#);
        read(&text, |module| Module::read(module).map(|it| (it.kind, it.path.len())))
    };
    use ModuleKind::{Dense, Dropout, Masked, Normalize, Pooling, Splade, Table, Transformer};
    for (name, expected) in [
        ("Transformer", Transformer),
        ("MLMTransformer", Masked),
        ("SpladePooling", Splade),
        ("StaticEmbedding", Table),
        ("Pooling", Pooling),
        ("Dense", Dense),
        ("Normalize", Normalize),
        ("Dropout", Dropout),
    ] {
        assert_eq!(kind(name), (expected, 3));
    }
    assert!(Transformer.may_follow(None) && !Pooling.may_follow(None));
    assert!(Dense.may_follow(Some(Pooling)) && !Dense.may_follow(Some(Transformer)));
    assert!(Masked.may_follow(None) && Splade.may_follow(Some(Masked)));
    assert!(!Pooling.may_follow(Some(Masked)) && !Splade.may_follow(Some(Pooling)));
    assert!(Normalize.may_follow(Some(Table)) && !Pooling.may_follow(Some(Table)));
    assert!(Dropout.may_follow(Some(Dense)) && !Dropout.may_follow(None));
}

#[test]
fn scores_of_the_vocabulary_are_the_output_of_masked_models_alone() {
    let read = |text: &str, is_default| {
        let value = Value::parse(text, 0).unwrap();
        let object = Object::new(value).unwrap();
        let taken = Output::MaskedLogits { is_default };
        EncoderSettings::from_object(&object, taken).map(drop).map_err(|fault| fault.key.len())
    };
    let task = Err("transformer_task".len());
    let filling = r#"{"transformer_task": "fill-mask", "module_output_name": "token_embeddings"}"#;
    assert_eq!([true, false].map(|is_default| read(filling, is_default)), [Ok(()); 2]);
    assert_eq!([true, false].map(|is_default| read("{}", is_default)), [Ok(()), task]);
    let other = r#"{"transformer_task": "feature-extraction"}"#;
    assert_eq!([true, false].map(|is_default| read(other, is_default)), [task; 2]);
}

#[test]
fn texts_are_as_long_as_the_first_setting_says() {
    let settings =
        |text| read(text, |settings| EncoderSettings::from_object(settings, Output::States));
    let module = settings(r#"{"max_seq_length": 128}"#);
    assert_eq!(module.token_limit(Some(64), 512), 128);
    assert_eq!(module.token_limit(Some(64), 100), 100);
    let silent = settings(r#"{"max_seq_length": 0, "do_lower_case": true}"#);
    assert!(silent.lower_case);
    assert_eq!(silent.token_limit(Some(64), 512), 64);
    assert_eq!(silent.token_limit(Some(0), 512), 512);
    assert_eq!(silent.token_limit(None, 512), 512);
    let limit = |text| read(text, tokenizer_limit);
    assert_eq!(limit(r#"{"model_max_length": 256}"#), Some(256));
    // The value of some programs for "no limit".
    assert_eq!(limit(r#"{"model_max_length": 1e30}"#), None);
    assert_eq!(limit("{}"), None);
    assert_eq!(limit(r#"{"max_len": 64}"#), Some(64));
    assert_eq!(limit(r#"{"max_len": 64, "model_max_length": 32}"#), Some(32));
}
