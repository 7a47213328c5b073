//! Models of all families out of their folders' texts and weights: the ids and vectors of
//! `transformers`, the logits of cross-encoders, and what is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::{FolderModel, FolderResult, Prefix};
use nanoembed_core::owned::{AnyEncoder, ModelFault, PipelineSession};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::changed::{self, Ones};
use serde_json::{Value, json};

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models")
}

/// The folders that have weights.
fn complete() -> Vec<PathBuf> {
    let folders = fs::read_dir(models()).unwrap().map(|entry| entry.unwrap().path());
    let mut complete: Vec<PathBuf> =
        folders.filter(|path| path.join("model.safetensors").exists()).collect();
    complete.sort();
    assert!(complete.len() >= 19, "{}", complete.len());
    complete
}

/// The texts of a folder, some of them changed.
struct Folder {
    path: PathBuf,
    changed: BTreeMap<&'static str, Option<String>>,
}

impl Folder {
    fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), changed: BTreeMap::new() }
    }

    fn named(name: &str) -> Self {
        Self::of(&models().join(name))
    }

    fn with(mut self, path: &'static str, text: Option<String>) -> Self {
        self.changed.insert(path, text);
        self
    }

    fn text(&self, path: &str) -> Result<Option<Cow<'static, str>>, Error> {
        let text = match self.changed.get(path) {
            Some(text) => text.clone(),
            None => fs::read_to_string(self.path.join(path)).ok(),
        };
        Ok(text.map(Cow::Owned))
    }

    fn weights(&self) -> FolderResult<Vec<(String, Vec<u8>)>> {
        let texts = |path: &str| self.text(path);
        let is_there = |path: &str| self.path.join(path).exists();
        let paths = FolderModel::read(&texts)?.weight_files(&texts, &is_there)?;
        let read = |path: String| {
            let bytes = fs::read(self.path.join(&path)).unwrap();
            (path, bytes)
        };
        Ok(paths.into_iter().map(read).collect())
    }

    fn open(&self) -> Result<AnyEncoder<Vec<u8>>, ModelFault> {
        AnyEncoder::open_folder(&|path: &str| self.text(path), self.weights()?)
    }

    /// What keeps the model from being opened: the error, the file and the setting.
    fn fault(&self) -> (ErrorKind, String, String) {
        match self.open().unwrap_err() {
            ModelFault::Text(fault) => (fault.error.kind(), fault.file, fault.key),
            fault => (fault.error().kind(), String::new(), String::new()),
        }
    }
}

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
        let model = Folder::of(&folder).open().unwrap_or_else(|fault| panic!("{folder:?} {fault}"));
        if model.compares() {
            continue;
        }
        let mut tokens = PipelineSession::default();
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
        let model = Folder::of(&folder).open().unwrap();
        let Some(classes) = model.classes() else { continue };
        assert_eq!((model.compares(), classes.labels().len()), (true, 1));
        count += 1;
        let (rows, logits) = expected(&folder);
        let limit = described(&folder)["max_length"].as_u64().unwrap().try_into().unwrap();
        let mut tokens = PipelineSession::default();
        for (row, expected) in rows.iter().zip(&logits) {
            let texts = [row["query"].as_str().unwrap(), row["document"].as_str().unwrap()];
            let pair = model.encode_pair(texts[0], texts[1], limit, &mut tokens).unwrap();
            assert_eq!(pair.ids, ids(&row["ids"]), "{folder:?}");
            let mut session = model.session_for(model.plan(pair.ids.len())).unwrap();
            let lengths = [pair.ids.len()];
            let batch = Batch { types: &pair.types, ..Batch::new(&pair.ids, &lengths) };
            let mut found = [0.0];
            model.classify(&mut session, &InOrder, &batch, &mut found).unwrap();
            assert!(farthest(&found, expected) < 1e-5, "{folder:?}");
            classes.score(&mut found);
            // Of one folder `config.json` says that logits are left as they are.
            let score = match folder.ends_with("cross_encoder") {
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
    assert_eq!(count, 3);
}

#[test]
fn a_folder_without_one_of_its_files_is_refused_with_the_files_name() {
    let fault = |path| Folder::named("xlmr_bge_m3").with(path, None).fault();
    let (kind, file, _) = fault("1_Pooling/config.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingMetadata, "1_Pooling/config.json"));
    let (kind, file, _) = fault("tokenizer.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingVocabulary, "tokenizer.json"));
    let (kind, file, _) = fault("config.json");
    assert_eq!((kind, &*file), (ErrorKind::MissingMetadata, "config.json"));
    let whole = fs::read_to_string(models().join("xlmr_bge_m3/tokenizer.json")).unwrap();
    let half = whole.char_indices().nth(whole.chars().count() / 2).unwrap().0;
    let cut = Folder::named("xlmr_bge_m3").with("tokenizer.json", Some(whole[..half].to_owned()));
    assert_eq!(cut.fault().1, "tokenizer.json");
}

/// A folder from before there was `tokenizer.json`: its tokens a line each.
fn with_vocabulary(name: &str) -> Folder {
    let text = fs::read_to_string(models().join(name).join("tokenizer.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let tokens = file["model"]["vocab"].as_object().unwrap();
    let mut lines = vec![""; tokens.len()];
    for (token, id) in tokens {
        lines[usize::try_from(id.as_u64().unwrap()).unwrap()] = token;
    }
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    Folder::named(name).with("tokenizer.json", None).with("vocab.txt", Some(text))
}

#[test]
fn berts_tokenizer_is_made_of_its_vocabulary_where_that_is_alone() {
    for name in ["bert_cased", "bert_max_pool", "distilbert"] {
        let (model, whole) = (with_vocabulary(name).open(), Folder::named(name).open());
        let (model, whole) =
            (model.unwrap_or_else(|fault| panic!("{name}: {fault}")), whole.unwrap());
        let mut tokens = PipelineSession::default();
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
    let ids = |folder: Folder| {
        let mut tokens = PipelineSession::default();
        folder.open().unwrap().encode("CAFÉ 漢字", 512, &mut tokens).unwrap().ids
    };
    let usual = ids(config("{}"));
    assert_eq!(ids(config(r#"{"do_lower_case":true,"tokenize_chinese_chars":true}"#)), usual);
    assert_ne!(ids(config(r#"{"do_lower_case":false}"#)), usual);
    assert_ne!(ids(config(r#"{"tokenize_chinese_chars":false}"#)), usual);
    let refused = |folder: Folder| {
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
    // A vocabulary that is not BERT's says nothing of how texts are cut.
    let lines = Some("[UNK]\n[CLS]\n[SEP]\n".to_owned());
    let other = Folder::named("xlmr_bge_m3").with("tokenizer.json", None).with("vocab.txt", lines);
    assert_eq!(refused(other), (ErrorKind::MissingVocabulary, "tokenizer.json ".into()));
}

#[test]
fn weights_that_are_cut_or_not_there_are_refused() {
    let folder = Folder::named("embeddinggemma");
    let texts = |path: &str| folder.text(path);
    let files = folder.weights().unwrap();
    assert_eq!(files.len(), 3);
    match AnyEncoder::open_folder(&texts, files[..2].to_vec()).unwrap_err() {
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
            match AnyEncoder::open_folder(&texts, cut).unwrap_err() {
                ModelFault::Text(fault) => assert_eq!(fault.file, *name),
                fault => panic!("{fault}"),
            }
        }
    }
}

#[test]
fn parts_are_those_that_the_index_names() {
    let files_beside = |index: &str, single: bool| {
        let folder =
            Folder::named("mpnet").with("model.safetensors.index.json", Some(index.to_owned()));
        let texts = |path: &str| folder.text(path);
        let is_there = |path: &str| single && path == "model.safetensors";
        FolderModel::read(&texts).unwrap().weight_files(&texts, &is_there)
    };
    let files = |index: &str| files_beside(index, false);
    let index = r#"{"metadata": {}, "weight_map": {"b": "m-2.safetensors", "a": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
    assert_eq!(files(index).unwrap(), ["m-1.safetensors", "m-2.safetensors"]);
    // One file that holds all weights counts before an index, as in transformers.
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
    let folder = Folder::named("mpnet");
    let texts = |path: &str| folder.text(path);
    let file = folder.weights().unwrap().remove(0).1;
    let part = |has: fn(&str) -> bool| {
        changed::each_tensor(&file, |name, shape, data| has(name).then_some((shape, data)))
    };
    let open = |first: Vec<u8>, second: Vec<u8>| {
        AnyEncoder::open_folder(&texts, [("a".to_owned(), first), ("b".to_owned(), second)])
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

#[test]
fn an_adapter_beside_the_weights_is_refused_by_name() {
    let adapter = || Some(r#"{"peft_type": "LORA", "r": 8, "target_modules": ["query"]}"#.into());
    for name in ["mpnet", "cross_encoder"] {
        let (kind, file, _) = Folder::named(name).with("adapter_config.json", adapter()).fault();
        assert_eq!((kind, &*file), (ErrorKind::UnsupportedSetting, "adapter_config.json"));
    }
    // Who reads tables of vectors does not look for it.
    let table = Folder::named("model2vec_int8_mapped").with("adapter_config.json", adapter());
    table.open().unwrap();
    // What lies in another folder than the model is not about it.
    let elsewhere = Folder::named("mpnet").with("1_Pooling/adapter_config.json", adapter());
    elsewhere.open().unwrap();
}

#[test]
fn a_head_with_other_classes_than_the_settings_name_is_refused() {
    let with = |changes: &[(&str, Value)]| {
        let folder = Folder::named("cross_encoder");
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
        // Two is what transformers takes it for.
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
    let folder = Folder::named("model2vec_unigram_f16");
    let texts = |path: &str| folder.text(path);
    let file = folder.weights().unwrap().remove(0).1;
    let with_rows = |less: usize| {
        let cut = changed::each_tensor(&file, |_, shape, mut data| {
            let rows = shape[0] - less;
            data.truncate(data.len() / shape[0] * rows);
            Some((vec![rows, shape[1]], data))
        });
        AnyEncoder::open_folder(&texts, [("model.safetensors".to_owned(), cut)])
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
        Folder::named(name).with("modules.json", modules.map(str::to_owned))
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
        let folder = Folder::named(folder);
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
        let folder = Folder::named("bert_cased");
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
            let folder = Folder::named("mpnet").with(file, Some(text.to_owned()));
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
        let found = Folder::named("mpnet").with(file, Some(text.to_owned())).fault();
        assert_eq!(found, (ErrorKind::UnsupportedSetting, file.to_owned(), key.to_owned()));
    }
    let usual = r#"{"processing_kwargs": {"text": {"padding": true}}, "model_kwargs": {"torch_dtype": "bfloat16"},
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}, "image": {}}}"#;
    let opened = Folder::named("mpnet").with(ENCODER, Some(usual.to_owned())).open();
    assert!(opened.is_ok());
}

#[test]
fn a_text_is_as_long_as_the_tokenizers_settings_say_in_both_spellings() {
    let tokens = |limit: &str| {
        let config = Folder::named("mpnet").text("tokenizer_config.json").unwrap().unwrap();
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config.as_object_mut().unwrap().remove("model_max_length");
        let limit: Value = serde_json::from_str(limit).unwrap();
        config.as_object_mut().unwrap().extend(limit.as_object().unwrap().clone());
        let config = Some(config.to_string());
        let silent = Folder::named("mpnet").with("sentence_bert_config.json", None);
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

/// Opens a folder of which one file of weights is without some tensors and has vectors more:
/// answers the error and the tensor that is at fault.
fn opened(
    folder: &Folder,
    file: usize,
    gone: &[&str],
    vectors: &[Ones<'_>],
) -> Result<(), (ErrorKind, String)> {
    let mut files = folder.weights().unwrap();
    files[file].1 = changed::safetensors(&files[file].1, gone, vectors);
    match AnyEncoder::open_folder(&|path: &str| folder.text(path), files) {
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
            "embeddinggemma" | "eurobert" | "qwen3_embedding" => "layers.0.input_layernorm.weight",
            "bert_cased" => "encoder.layer.0.attention.output.LayerNorm.weight",
            "nomic_bert" => "encoder.layers.0.norm1.weight",
            _ => continue,
        };
        let found = opened(&Folder::of(&folder), 0, &[tensor], &[]).unwrap_err();
        assert_eq!(found.0, ErrorKind::MissingTensor, "{name}");
    }
    // Its code builds none there, and would not use one.
    let modern = Folder::named("modernbert_reranker");
    let norm = "model.layers.0.attn_norm.weight";
    let refused = Err((ErrorKind::UnsupportedSetting, norm.to_owned()));
    assert_eq!(opened(&modern, 0, &[], &[(norm, 48)]), refused);
    let second = "model.layers.1.attn_norm.weight";
    assert_eq!(opened(&modern, 0, &[second], &[]).unwrap_err().0, ErrorKind::MissingTensor);
}

#[test]
fn biases_are_those_that_the_settings_say() {
    let with = |name: &str, tensor: &str, elements| {
        let found = opened(&Folder::named(name), 0, &[], &[(tensor, elements)]);
        assert_eq!(found, Err((ErrorKind::UnsupportedSetting, tensor.to_owned())), "{name}");
    };
    with("qwen3_embedding", "layers.0.self_attn.q_proj.bias", 64);
    with("qwen3_embedding", "layers.2.self_attn.o_proj.bias", 48);
    with("qwen3_embedding", "layers.1.mlp.down_proj.bias", 48);
    with("eurobert", "layers.0.self_attn.v_proj.bias", 48);
    with("embeddinggemma", "norm.bias", 48);
    with("nomic_bert", "encoder.layers.1.attn.Wqkv.bias", 144);
    with("gte", "encoder.layer.0.mlp.up_gate_proj.bias", 192);
    with("modernbert_reranker", "model.layers.0.attn.Wqkv.bias", 144);
    with("modernbert_reranker", "model.final_norm.bias", 48);
    with("modernbert_reranker", "head.dense.bias", 48);
    with("modernbert_reranker", "head.norm.bias", 48);
    let found = opened(&Folder::named("embeddinggemma"), 1, &[], &[("linear.bias", 96)]);
    let in_dense = Err((ErrorKind::UnsupportedSetting, "2_Dense/linear.bias".to_owned()));
    assert_eq!(found, in_dense);
    let dense = Folder::named("bert_cased").text("2_Dense/config.json").unwrap().unwrap();
    let mut dense: Value = serde_json::from_str(&dense).unwrap();
    assert_eq!(opened(&Folder::named("bert_cased"), 1, &[], &[]), Ok(()));
    dense["bias"] = false.into();
    let folder = Folder::named("bert_cased").with("2_Dense/config.json", Some(dense.to_string()));
    assert_eq!(opened(&folder, 1, &[], &[]), in_dense);
    assert_eq!(opened(&folder, 1, &["linear.bias"], &[]), Ok(()));

    let without = |name: &str, file, tensor: &str| {
        let found = opened(&Folder::named(name), file, &[tensor], &[]).unwrap_err();
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
fn numbers_of(model: &AnyEncoder<Vec<u8>>) -> Result<Vec<f32>, Error> {
    let mut tokens = PipelineSession::default();
    let limit = model.usual_tokens().min(32);
    if let Some(classes) = model.classes() {
        let pair = model.encode_pair("How many people?", "Two of them.", limit, &mut tokens)?;
        let mut session = model.session_for(model.plan(pair.ids.len()))?;
        let lengths = [pair.ids.len()];
        let batch = Batch { ids: &pair.ids, types: &pair.types, lengths: &lengths, skipped: 0 };
        let mut found = vec![0.0; classes.labels().len()];
        return model.classify(&mut session, &InOrder, &batch, &mut found).map(|()| found);
    }
    let found = model.encode("How many people live in Berlin?", limit, &mut tokens)?;
    let mut session = model.session_for(model.plan(found.ids.len().max(1)))?;
    let mut vector = vec![0.0; model.dimensions()];
    let lengths = [found.ids.len()];
    model.embed(&mut session, &InOrder, &found.ids, &lengths, 0, &mut vector).map(|()| vector)
}

/// One element of a tensor that is no number, all of those tables of which a text takes some rows:
/// it is refused, unless the tensor is none of those that the vector is made of.
#[test]
fn weights_that_are_not_finite_are_refused_and_never_give_other_numbers() {
    for path in complete() {
        let is_static = path.file_name().unwrap().to_str().unwrap().starts_with("model2vec");
        let is_table =
            |name: &str| is_static || name.contains("embed") || name.contains("relative");
        let folder = Folder::of(&path);
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
                let opened = AnyEncoder::open_folder(&texts, files.collect::<Vec<_>>());
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
