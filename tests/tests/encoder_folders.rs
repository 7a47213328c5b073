//! Models of all families from their folders' texts and weights: the ids and vectors of
//! `transformers`, the logits of cross-encoders, and rejections of texts.

use std::fs;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{Encoder, ModelFault, TextSession};
use nanoembed_tests::changed;
use nanoembed_tests::encoder_folder::{EncoderFolder, complete, models};
use serde_json::{Value, json};

fn described(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn expected(folder: &Path) -> (Vec<Value>, Vec<Vec<f32>>) {
    let expected = described(folder);
    let numbers = fs::read(folder.join("expected.f32")).unwrap();
    let numbers = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let rows = expected["rows"].as_array().unwrap().clone();
    let numbers: Vec<f32> = numbers.collect();
    let width = numbers.len() / rows.len();
    (rows, numbers.chunks(width).map(<[f32]>::to_vec).collect())
}

fn ids(value: &Value) -> Vec<u32> {
    let ids = value.as_array().unwrap().iter();
    ids.map(|id| id.as_u64().unwrap().try_into().unwrap()).collect()
}

fn farthest(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn every_folder_has_the_ids_and_vectors_of_transformers() {
    for folder in complete() {
        let model =
            EncoderFolder::new(&folder).open().unwrap_or_else(|fault| panic!("{folder:?} {fault}"));
        if model.compares() {
            continue;
        }
        let mut tokens = TextSession::default();
        let (rows, vectors) = expected(&folder);
        let (mut all, mut lengths) = (Vec::new(), Vec::new());
        for (row, expected) in rows.iter().zip(&vectors) {
            let wanted = match row["prompt_name"].as_str() {
                Some(name) => Prefix::Named(name.to_owned()),
                None => Prefix::Text(String::new()),
            };
            let prompt = model.prompts().choose(&wanted).unwrap();
            let prompt = model.prompt(prompt, &mut tokens).unwrap();
            let text = prompt.before(row["text"].as_str().unwrap()).unwrap();
            let found = model.encode(&text, model.usual_tokens(), &mut tokens).unwrap();
            assert_eq!(found.ids, ids(&row["ids"]), "{folder:?} {}", row["row"]);
            let start = model.encode_start(&text, model.usual_tokens(), &mut tokens).unwrap();
            assert_eq!(start, (found.ids.clone(), found.truncated));
            let mut vector = vec![9.0; model.dimensions()];
            let plan = model.plan(found.ids.len().max(1));
            let mut session = model.session_for(plan).unwrap();
            let length = [found.ids.len()];
            let skipped = prompt.skipped;
            model.embed(&mut session, &InOrder, &found.ids, &length, skipped, &mut vector).unwrap();
            let apart = farthest(&vector, expected);
            assert!(apart < 1e-5, "{folder:?} {}: {apart:e}", row["row"]);
            if skipped == 0 && found.ids.len() < 40 {
                lengths.push((found.ids.len(), vector));
                all.extend(found.ids);
            }
        }
        // The same texts together.
        let (lengths, alone): (Vec<usize>, Vec<Vec<f32>>) = lengths.into_iter().unzip();
        let mut together = vec![9.0; lengths.len() * model.dimensions()];
        let mut session = model.session_for(model.plan(all.len().max(1))).unwrap();
        model.embed(&mut session, &InOrder, &all, &lengths, 0, &mut together).unwrap();
        assert!(farthest(&together, &alone.concat()) < 1e-5, "{folder:?}");
    }
}

#[test]
fn cross_encoders_have_the_logits_of_transformers_and_embed_nothing() {
    let mut count = 0;
    for folder in complete() {
        let model = EncoderFolder::new(&folder).open().unwrap();
        let Some(classes) = model.classes() else { continue };
        assert_eq!((model.compares(), classes.labels().len()), (true, 1));
        count += 1;
        let (rows, logits) = expected(&folder);
        let limit = described(&folder)["max_length"].as_u64().unwrap().try_into().unwrap();
        let mut tokens = TextSession::default();
        for (row, expected) in rows.iter().zip(&logits) {
            let texts = [row["query"].as_str().unwrap(), row["document"].as_str().unwrap()];
            let pair = model.encode_pair(texts[0], texts[1], limit, &mut tokens).unwrap();
            assert_eq!(pair.ids, ids(&row["ids"]), "{folder:?}");
            let mut session = model.session_for(model.plan(pair.ids.len())).unwrap();
            let mut found = [0.0];
            model.classify(&mut session, &InOrder, &[pair], &mut found).unwrap();
            assert!(farthest(&found, expected) < 1e-5, "{folder:?}");
            classes.score(&mut found);
            // These folders state that logits are not activated.
            let plain = ["cross_encoder", "qwen3_reranker", "qwen3_reranker_untied"];
            let score = match plain.iter().any(|name| folder.ends_with(name)) {
                true => f64::from(expected[0]),
                false => row["sigmoid"].as_f64().unwrap(),
            };
            assert!((f64::from(found[0]) - score).abs() < 1e-5);
            let mut vector = vec![0.0; model.dimensions()];
            let error = model
                .embed(&mut session, &InOrder, &pair.ids, &lengths, 0, &mut vector)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OtherModel);
        }
    }
    assert_eq!(count, 7);
}

#[test]
fn a_folder_without_one_of_its_files_is_refused_with_the_files_name() {
    let fault = |path| EncoderFolder::named("xlmr_bge_m3").with(path, None).fault();
    let (kind, file, _) = fault("1_Pooling/config.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingMetadata, "1_Pooling/config.json"));
    let (kind, file, _) = fault("tokenizer.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingVocabulary, "tokenizer.json"));
    let (kind, file, _) = fault("config.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingMetadata, "config.json"));
    let whole = fs::read_to_string(models().join("xlmr_bge_m3/tokenizer.json")).unwrap();
    let half = whole.char_indices().nth(whole.chars().count() / 2).unwrap().0;
    let cut =
        EncoderFolder::named("xlmr_bge_m3").with("tokenizer.json", Some(whole[..half].to_owned()));
    assert_eq!(cut.fault().1, "tokenizer.json");
}

/// A folder without `tokenizer.json`, from before it existed: its tokens, one per line.
fn with_vocabulary(name: &str) -> EncoderFolder {
    let text = fs::read_to_string(models().join(name).join("tokenizer.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let tokens = file["model"]["vocab"].as_object().unwrap();
    let mut lines = vec![""; tokens.len()];
    for (token, id) in tokens {
        lines[usize::try_from(id.as_u64().unwrap()).unwrap()] = token;
    }
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    EncoderFolder::named(name).with("tokenizer.json", None).with("vocab.txt", Some(text))
}

#[test]
fn berts_tokenizer_is_made_of_its_vocabulary_where_that_is_alone() {
    for name in ["bert_cased", "bert_max_pool", "distilbert"] {
        let (model, whole) = (with_vocabulary(name).open(), EncoderFolder::named(name).open());
        let (model, whole) =
            (model.unwrap_or_else(|fault| panic!("{name}: {fault}")), whole.unwrap());
        let mut tokens = TextSession::default();
        for row in expected(&models().join(name)).0 {
            let text = row["text"].as_str().unwrap();
            let found = model.encode(text, model.usual_tokens(), &mut tokens).unwrap();
            assert_eq!(found, whole.encode(text, model.usual_tokens(), &mut tokens).unwrap());
        }
        for text in ["[CLS] Å [MASK]", "漢字 it's", ""] {
            let found = model.encode(text, 512, &mut tokens).unwrap();
            assert_eq!(found, whole.encode(text, 512, &mut tokens).unwrap(), "{name}: {text}");
        }
    }
}

#[test]
fn settings_beside_a_vocabulary_are_used_or_refused() {
    let config = |text: &str| {
        with_vocabulary("bert_max_pool").with("tokenizer_config.json", Some(text.to_owned()))
    };
    let ids = |folder: EncoderFolder| {
        let mut tokens = TextSession::default();
        folder.open().unwrap().encode("CAFÉ 漢字", 512, &mut tokens).unwrap().ids
    };
    let usual = ids(config("{}"));
    assert_eq!(ids(config(r#"{"do_lower_case":true,"tokenize_chinese_chars":true}"#)), usual);
    assert_ne!(ids(config(r#"{"do_lower_case":false}"#)), usual);
    assert_ne!(ids(config(r#"{"tokenize_chinese_chars":false}"#)), usual);
    let refused = |folder: EncoderFolder| {
        let (kind, file, key) = folder.fault();
        (kind, format!("{file} {key}"))
    };
    let setting = ErrorKind::UnsupportedSetting;
    assert_eq!(
        refused(config(r#"{"do_basic_tokenize":false}"#)),
        (setting, "tokenizer_config.json do_basic_tokenize".into())
    );
    assert_eq!(
        refused(config(r#"{"mask_token":"<mask>"}"#)),
        (setting, "tokenizer_config.json mask_token".into())
    );
    assert_eq!(
        refused(config(r#"{"sep_token":"</s>"}"#)),
        (ErrorKind::BadVocabulary, "vocab.txt unk_token, cls_token or sep_token".into())
    );
    // A vocabulary that is not BERT's does not determine how texts are split.
    let lines = Some("[UNK]\n[CLS]\n[SEP]\n".to_owned());
    let other =
        EncoderFolder::named("xlmr_bge_m3").with("tokenizer.json", None).with("vocab.txt", lines);
    assert_eq!(refused(other), (ErrorKind::MissingVocabulary, "tokenizer.json ".into()));
}

#[test]
fn an_adapter_beside_the_weights_is_refused_by_name() {
    let adapter = || Some(r#"{"peft_type": "LORA", "r": 8, "target_modules": ["query"]}"#.into());
    for name in ["mpnet", "cross_encoder"] {
        let (kind, file, _) =
            EncoderFolder::named(name).with("adapter_config.json", adapter()).fault();
        assert_eq!((kind, &*file), (ErrorKind::UnsupportedSetting, "adapter_config.json"));
    }
    // Readers of tables do not request it.
    let table =
        EncoderFolder::named("model2vec_int8_mapped").with("adapter_config.json", adapter());
    table.open().unwrap();
    // An adapter in another folder does not concern the model.
    let elsewhere = EncoderFolder::named("mpnet").with("1_Pooling/adapter_config.json", adapter());
    elsewhere.open().unwrap();
}

#[test]
fn a_head_with_other_classes_than_the_settings_name_is_refused() {
    let with = |changes: &[(&str, Value)]| {
        let folder = EncoderFolder::named("cross_encoder");
        let mut config: Value =
            serde_json::from_str(&folder.text("config.json").unwrap().unwrap()).unwrap();
        for (name, value) in changes {
            config[name] = value.clone();
        }
        folder.with("config.json", Some(config.to_string()))
    };
    let names = |count: usize| {
        let names = (0..count).map(|at| (at.to_string(), Value::from(format!("LABEL_{at}"))));
        Value::Object(names.collect())
    };
    let absent = Value::Null;
    with(&[("num_labels", 1.into())]).open().unwrap();
    with(&[("num_labels", 1.into()), ("id2label", absent.clone())]).open().unwrap();
    for wrong in [
        with(&[("id2label", names(3))]),
        with(&[("num_labels", 3.into()), ("id2label", absent.clone())]),
        with(&[("num_labels", 3.into()), ("id2label", names(3))]),
        // Two is the default in transformers.
        with(&[("id2label", absent)]),
    ] {
        match wrong.open().unwrap_err() {
            ModelFault::Tensor(fault) => {
                assert_eq!(fault.error.kind(), ErrorKind::WrongShape);
                assert_eq!(fault.tensor, "classifier.weight");
            }
            fault => panic!("{fault}"),
        }
    }
    let contradiction = with(&[("num_labels", 3.into())]).fault();
    let expected = (ErrorKind::UnsupportedSetting, "config.json".into(), "num_labels".into());
    assert_eq!(contradiction, expected);
}

#[test]
fn a_table_without_a_row_for_each_token_is_refused() {
    let folder = EncoderFolder::named("model2vec_unigram_f16");
    let texts = |path: &str| folder.text(path);
    let file = folder.weights().unwrap().remove(0).1;
    let with_rows = |less: usize| {
        let cut = changed::each_tensor(&file, |_, shape, mut data| {
            let rows = shape[0] - less;
            data.truncate(data.len() / shape[0] * rows);
            Some((vec![rows, shape[1]], data))
        });
        Encoder::open_folder(&texts, [("model.safetensors".to_owned(), cut)])
    };
    with_rows(0).unwrap();
    match with_rows(1).unwrap_err() {
        ModelFault::Tensor(fault) => {
            assert_eq!(fault.error.kind(), ErrorKind::WrongShape);
            assert_eq!(fault.tensor, "embeddings");
        }
        fault => panic!("{fault}"),
    }
}

#[test]
fn a_table_whose_files_contradict_each_other_of_lengths_is_refused_by_name() {
    let table = r#"{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}"#;
    let normalize = r#"{"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}"#;
    let (with, without) = (format!("[{table}, {normalize}]"), format!("[{table}]"));
    let open = |name: &str, modules: Option<&str>| {
        EncoderFolder::named(name).with("modules.json", modules.map(str::to_owned))
    };
    for (name, right, wrong) in
        [("model2vec_int8_mapped", &with, &without), ("model2vec_unigram_f16", &without, &with)]
    {
        open(name, Some(right)).open().unwrap();
        open(name, None).open().unwrap();
        let expected = (ErrorKind::UnsupportedSetting, "config.json".into(), "normalize".into());
        assert_eq!(open(name, Some(wrong)).fault(), expected);
    }
}

#[test]
fn what_tokenizer_config_json_has_otherwise_is_refused_by_name() {
    let changed = |folder: &str, name: &str, value: Value| {
        let folder = EncoderFolder::named(folder);
        let text = folder.text("tokenizer_config.json").unwrap().unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config[name] = value;
        folder.with("tokenizer_config.json", Some(config.to_string())).fault()
    };
    for (folder, name, value) in [
        ("bert_cased", "do_lower_case", true.into()),
        ("bert_cased", "strip_accents", true.into()),
        ("bert_cased", "tokenize_chinese_chars", false.into()),
        ("bert_cased", "mask_token", "<other>".into()),
        ("bert_cased", "additional_special_tokens", vec!["<new>"].into()),
        ("bert_cased", "do_basic_tokenize", false.into()),
        ("bert_cased", "never_split", vec!["word"].into()),
        ("cross_encoder", "model_input_names", vec!["input_ids", "attention_mask"].into()),
        ("roberta", "add_prefix_space", true.into()),
        ("roberta", "do_lower_case", true.into()),
        ("roberta", "truncation_side", "left".into()),
        ("roberta", "split_special_tokens", true.into()),
        ("mpnet", "additional_special_tokens", vec!["th"].into()),
        ("mpnet", "extra_special_tokens", json!({"image_token": "th"})),
        ("mpnet", "mask_token", "th".into()),
        ("xlmr_bge_m3", "eos_token", json!({"content": "\u{2581}the"})),
        ("modernbert_mean", "bos_token", "th".into()),
        ("mpnet", "added_tokens_decoder", json!({"700": {"content": "th", "special": true}})),
    ] {
        let (kind, file, key) = changed(folder, name, value);
        assert_eq!(
            (kind, &*file, &*key),
            (ErrorKind::UnsupportedSetting, "tokenizer_config.json", name)
        );
    }
}

/// BERT's class does these by itself, whatever the file says.
#[test]
fn what_tokenizer_json_has_otherwise_than_berts_class_is_refused_by_name() {
    let changed = |place: &str, value: Value| {
        let folder = EncoderFolder::named("bert_cased");
        let text = folder.text("tokenizer.json").unwrap().unwrap();
        let mut file: Value = serde_json::from_str(&text).unwrap();
        *file.pointer_mut(place).unwrap() = value;
        folder.with("tokenizer.json", Some(file.to_string())).fault()
    };
    let (begin, end) = ("/post_processor/special_tokens/[CLS]", "/post_processor/single/2");
    let another = json!({"id": "[CLS]", "ids": [4], "tokens": ["[MASK]"]});
    for (place, value, name) in [
        ("/normalizer/clean_text", json!(false), "tokenizer_class"),
        ("/pre_tokenizer", json!({"type": "WhitespaceSplit"}), "tokenizer_class"),
        (begin, another, "cls_token"),
        (end, json!({"SpecialToken": {"id": "[CLS]", "type_id": 0}}), "sep_token"),
        ("/post_processor", Value::Null, "cls_token"),
    ] {
        let (kind, file, key) = changed(place, value);
        assert_eq!(
            (kind, &*file, &*key),
            (ErrorKind::UnsupportedSetting, "tokenizer_config.json", name)
        );
    }
}

#[test]
fn older_files_beside_tokenizer_config_json_count_where_it_lists_nothing() {
    let named = r#"{"additional_special_tokens": ["th"]}"#;
    for file in ["special_tokens_map.json", "added_tokens.json"] {
        let text = if file.starts_with("added") { r#"{"th": 700}"# } else { named };
        let opened = |decoder: Option<Value>| {
            let folder = EncoderFolder::named("mpnet").with(file, Some(text.to_owned()));
            let config = folder.text("tokenizer_config.json").unwrap().unwrap();
            let mut config: Value = serde_json::from_str(&config).unwrap();
            config.as_object_mut().unwrap().remove("added_tokens_decoder");
            if let Some(decoder) = decoder {
                config["added_tokens_decoder"] = decoder;
            }
            let folder = folder.with("tokenizer_config.json", Some(config.to_string()));
            folder.open().map(drop).map_err(|fault| fault.error().kind())
        };
        assert_eq!(opened(None), Err(ErrorKind::UnsupportedSetting), "{file}");
        assert_eq!(opened(Some(json!({}))), Ok(()), "{file}");
    }
}

#[test]
fn settings_of_modules_are_used_or_refused_by_name() {
    const ENCODER: &str = "sentence_bert_config.json";
    let other = r#"{"module_output_name": "token_embeddings"}"#;
    for (file, text, key) in [
        (ENCODER, r#"{"processing_kwargs": {"text": {"max_length": 4}}}"#, "processing_kwargs"),
        (ENCODER, r#"{"model_kwargs": {"num_hidden_layers": 1}}"#, "model_kwargs"),
        (ENCODER, r#"{"model_args": {"num_hidden_layers": 1}}"#, "model_args"),
        (ENCODER, r#"{"module_output_name": "sentence_embedding"}"#, "module_output_name"),
        (
            ENCODER,
            r#"{"modality_config": {"text": {"method": "forward", "method_output_name": ["hidden_states", 1]}}}"#,
            "modality_config",
        ),
        ("2_Normalize/config.json", other, "module_output_name"),
        ("2_Normalize/config.json", r#"{"odd": 1}"#, "odd"),
    ] {
        let found = EncoderFolder::named("mpnet").with(file, Some(text.to_owned())).fault();
        assert_eq!(found, (ErrorKind::UnsupportedSetting, file.to_owned(), key.to_owned()));
    }
    let usual = r#"{"processing_kwargs": {"text": {"padding": true}}, "model_kwargs": {"torch_dtype": "bfloat16"},
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}, "image": {}}}"#;
    let opened = EncoderFolder::named("mpnet").with(ENCODER, Some(usual.to_owned())).open();
    assert!(opened.is_ok());
}

#[test]
fn a_text_is_as_long_as_the_tokenizers_settings_say_in_both_spellings() {
    let tokens = |limit: &str| {
        let config = EncoderFolder::named("mpnet").text("tokenizer_config.json").unwrap().unwrap();
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config.as_object_mut().unwrap().remove("model_max_length");
        let limit: Value = serde_json::from_str(limit).unwrap();
        config.as_object_mut().unwrap().extend(limit.as_object().unwrap().clone());
        let config = Some(config.to_string());
        let silent = EncoderFolder::named("mpnet").with("sentence_bert_config.json", None);
        silent.with("tokenizer_config.json", config).open().map(|model| model.usual_tokens())
    };
    let positions = tokens("{}").unwrap();
    assert_eq!(tokens(r#"{"max_len": 16}"#).unwrap(), 16);
    assert_eq!(tokens(r#"{"max_len": 16, "model_max_length": 24}"#).unwrap(), 24);
    assert_eq!(tokens(r#"{"model_max_length": 1e30}"#).unwrap(), positions);
    assert_eq!(
        tokens(r#"{"model_max_length": 1000000000000000019884624838656}"#).unwrap(),
        positions
    );
    for wrong in [r#"{"model_max_length": 4.5}"#, r#"{"model_max_length": "4"}"#] {
        assert_eq!(tokens(wrong).err().unwrap().error().kind(), ErrorKind::BadMetadata);
    }
}
