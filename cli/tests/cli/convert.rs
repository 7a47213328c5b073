use std::fs;
use std::path::Path;

use serde_json::json;

use crate::tiny_model::{HIDDEN, TinyModel, Variation, config, stream_file};
use crate::{failure, nanoembed, numbers, objects, stdout};

const TEXTS: &str = "hello world\nthe cats sing.\n\ncat\n";

fn embeddings(model: &str) -> Vec<Vec<f64>> {
    let lines = stdout(&["embed", "-m", model, "--format", "jsonl"], TEXTS);
    objects(&lines).iter().map(|line| numbers(&line["embedding"])).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn metadata_comes_from_the_folder_s_files() {
    let tiny = TinyModel::new();
    let model = tiny
        .converted("m.weights", &["--metadata", "source=a test", "--metadata", "model_version=3"]);
    let object = objects(&stdout(&["inspect", "--json", &model], "")).remove(0);
    let metadata = &object["metadata"];
    for (key, value) in [
        ("embedding_dim", "8"),
        ("vocab_size", "14"),
        ("num_layers", "2"),
        ("num_attention_heads", "2"),
        ("hidden_size", "8"),
        ("intermediate_size", "12"),
        ("max_position_emb", "16"),
        ("max_tokens", "10"),
        ("layer_norm_eps", "1e-12"),
        ("pooling", "mean"),
        ("normalize", "true"),
        ("do_lower_case", "true"),
        ("license", "Apache-2.0"),
        ("weight_type", "f32"),
        ("source", "a test"),
        ("model_version", "3"),
    ] {
        assert_eq!(metadata[key], value, "{key}");
    }
    let tensors = object["tensors"].as_array().unwrap();
    assert!(tensors.iter().any(|tensor| tensor["name"] == "vocab.sorted_ids"));
    assert!(!tensors.iter().any(|tensor| tensor["name"] == "pooler.dense.weight"));
    let with_pooler = tiny.converted("p.weights", &["--pooler"]);
    assert!(stdout(&["inspect", &with_pooler], "").contains("pooler.dense.weight"));
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let tiny = TinyModel::new();
    let first = fs::read(tiny.converted("a.weights", &["--type", "int8"])).unwrap();
    assert!(first == fs::read(tiny.converted("b.weights", &["--type", "int8"])).unwrap());
    let out = tiny.join("c.weights");
    nanoembed(&["convert", tiny.path().to_str().unwrap(), &out])
        .env("SOURCE_DATE_EPOCH", "1580601600")
        .assert()
        .success();
    assert!(stdout(&["inspect", &out], "").contains("2020-02-02T00:00:00Z"));
}

#[test]
fn types_agree_as_far_as_their_bits_go() {
    let tiny = TinyModel::new();
    let exact = embeddings(&tiny.converted("m.weights", &[]));
    let types = [(&["f16"][..], 0.999_99), (&["int8"], 0.999), (&["int8", "--for-web"], 0.999)];
    for (weight_type, least) in types {
        let file = tiny.converted("t.weights", &[&["--type"], weight_type].concat());
        for (a, b) in exact.iter().zip(embeddings(&file)) {
            assert!(cosine(a, &b) > least, "{weight_type:?}: {}", cosine(a, &b));
        }
    }
}

#[test]
fn only_linear_layers_have_smaller_codes_for_the_web() {
    let tiny = TinyModel::new();
    let created = ["--type", "int8", "--metadata", "created_at=now"];
    let usual = tiny.converted("m.weights", &created);
    let web = tiny.converted("w.weights", &[&created[..], &["--for-web"]].concat());
    let largest = |file: &str, name: &str| {
        let facts = objects(&stdout(&["inspect", "--json", file], ""));
        let tensors = facts[0]["tensors"].as_array().unwrap();
        let tensor = tensors.iter().find(|tensor| tensor["name"] == name).unwrap();
        let [offset, bytes] = ["offset", "bytes"].map(|key| tensor[key].as_u64().unwrap() as usize);
        let codes = &fs::read(file).unwrap()[offset..offset + bytes];
        let largest = |row: &[u8]| row.iter().map(|&code| code.cast_signed().unsigned_abs()).max();
        codes.chunks(HIDDEN).map(|row| largest(row).unwrap()).collect::<Vec<_>>()
    };
    let words = "embeddings.word_embeddings.weight";
    assert!(largest(&usual, words).iter().chain(&largest(&web, words)).all(|&code| code == 127));
    let layer = "encoder.layer.0.intermediate.dense.weight";
    assert!(largest(&usual, layer).iter().all(|&code| code == 127));
    let narrow = largest(&web, layer);
    assert!(narrow.iter().any(|&code| code < 127) && narrow.iter().all(|&code| code >= 116));
}

#[test]
fn prefixes_old_names_and_tokenizer_json_change_nothing() {
    let plain = fs::read(
        TinyModel::new().converted("m.weights", &["--name", "t", "--metadata", "created_at=now"]),
    )
    .unwrap();
    for variation in [
        Variation { prefix: "bert.", ..Variation::default() },
        Variation { old_norm_names: true, ..Variation::default() },
        Variation { json_vocabulary: true, ..Variation::default() },
    ] {
        let tiny = TinyModel::with(variation);
        let file = tiny.converted("m.weights", &["--name", "t", "--metadata", "created_at=now"]);
        assert!(fs::read(file).unwrap() == plain);
    }
}

#[test]
fn a_stream_file_is_turned_round_with_the_sizes_from_a_config() {
    let tiny = TinyModel::new();
    let old = tiny.join("old.bin");
    fs::write(&old, stream_file()).unwrap();
    let out = tiny.join("new.weights");
    let error = failure(&["convert", &old, &out], b"", 1);
    assert!(error.contains("--config"), "{error}");
    assert!(!Path::new(&out).exists());
    nanoembed(&["convert", &old, &out, "--config", &tiny.join("config.json")]).assert().success();
    assert_eq!(
        embeddings(&out),
        embeddings(&tiny.converted("m.weights", &["--metadata", "max_tokens=16"]))
    );
}

#[test]
fn weights_become_another_type_and_keep_their_metadata() {
    let tiny = TinyModel::new();
    let f32 = tiny.converted("m.weights", &["--metadata", "source=x", "--name", "t"]);
    let direct = tiny.converted(
        "d.weights",
        &[
            "--metadata",
            "source=x",
            "--name",
            "t",
            "--type",
            "int8",
            "--metadata",
            "created_at=now",
        ],
    );
    let out = tiny.join("i.weights");
    nanoembed(&["convert", &f32, &out, "-t", "int8", "--metadata", "created_at=now"])
        .assert()
        .success();
    let content = |file: &str| {
        let mut object = objects(&stdout(&["inspect", "--json", file], "")).remove(0);
        let object = object.as_object_mut().unwrap();
        let metadata = object["metadata"].as_object().unwrap().clone();
        let mut metadata: Vec<_> = metadata.into_iter().collect();
        metadata.sort_by(|a, b| a.0.cmp(&b.0));
        (metadata, object["tensors"].as_array().unwrap().len())
    };
    assert_eq!(content(&out), content(&direct));
    assert_eq!(embeddings(&out), embeddings(&direct));
    // And back: the codes are exact multiples of their scales.
    let back = tiny.join("back.weights");
    nanoembed(&["convert", &out, &back, "-t", "f32"]).assert().success();
    let precise = stdout(&["embed", "-m", &out, "--format", "jsonl", "--precise"], TEXTS);
    let precise = objects(&precise).into_iter().map(|line| numbers(&line["embedding"]));
    for (a, b) in embeddings(&back).iter().zip(precise) {
        assert!(cosine(a, &b) > 0.999_999);
    }
}

#[test]
fn eight_bits_are_tuned_to_the_texts_given() {
    let tiny = TinyModel::new();
    let texts = tiny.join("texts.txt");
    fs::write(&texts, "a b\n\n  b a a  \n").unwrap();
    let options = ["-t", "int8", "--metadata", "created_at=now"];
    let usual = tiny.converted("usual.weights", &options);
    let options = [&options[..], &["--calibrate", &texts]].concat();
    let tuned = tiny.converted("tuned.weights", &options);
    assert!(stdout(&["inspect", &tuned], "").contains("intermediate.dense.weight.column_scale"));
    assert!(fs::read(&usual).unwrap() != fs::read(&tuned).unwrap());
    let again = tiny.converted("again.weights", &options);
    assert!(fs::read(&again).unwrap() == fs::read(&tuned).unwrap());
    fs::write(&texts, " \n").unwrap();
    let failed =
        nanoembed(&["convert", &usual, &again, "-t", "int8", "--calibrate", &texts]).assert();
    failed.failure().stderr(predicates::str::contains("no texts to calibrate with"));
}

#[test]
fn a_file_that_is_replaced_is_whole_all_the_time() {
    let tiny = TinyModel::new();
    let file = tiny.converted("m.weights", &[]);
    let before = embeddings(&file);
    nanoembed(&["convert", &file, &file, "-t", "f16"]).assert().success();
    assert!(cosine(&before[0], &embeddings(&file)[0]) > 0.9999);
    assert!(tiny.unfinished().is_empty());
}

#[test]
fn a_failure_leaves_the_old_file_and_nothing_else() {
    let tiny = TinyModel::new();
    let file = tiny.converted("m.weights", &[]);
    let before = fs::read(&file).unwrap();
    let folder = tiny.path().to_str().unwrap().to_owned();
    let change = |key: &str, value: serde_json::Value| {
        let mut config = config();
        config[key] = value;
        fs::write(tiny.path().join("config.json"), config.to_string()).unwrap();
    };
    for (key, value, code) in [
        ("num_hidden_layers", json!(3), "error[303]"),
        ("intermediate_size", json!(10), "error[304]"),
        ("num_attention_heads", json!(3), "error[302]"),
        ("model_type", json!("electra"), "error[213]"),
        ("hidden_act", json!("tanh"), "error[208]"),
        ("vocab_size", json!(4), "error[307]"),
        ("hidden_size", json!("8"), "error[302]"),
    ] {
        change(key, value);
        let error = failure(&["convert", &folder, &file], b"", 1);
        assert!(error.starts_with(code), "{key}: {error}");
        assert!(fs::read(&file).unwrap() == before, "{key}");
        assert!(tiny.unfinished().is_empty(), "{key}");
    }
}

#[test]
fn missing_parts_of_a_folder_are_named() {
    for name in ["model.safetensors", "config.json", "vocab.txt"] {
        let tiny = TinyModel::new();
        fs::remove_file(tiny.path().join(name)).unwrap();
        let error =
            failure(&["convert", tiny.path().to_str().unwrap(), &tiny.join("o.weights")], b"", 3);
        assert!(error.contains(name) && error.contains("hint: "), "{error}");
    }
    let tiny = TinyModel::new();
    fs::rename(tiny.path().join("model.safetensors"), tiny.path().join("pytorch_model.bin"))
        .unwrap();
    let error =
        failure(&["convert", tiny.path().to_str().unwrap(), &tiny.join("o.weights")], b"", 1);
    assert!(error.contains("pickle"), "{error}");
}

#[test]
fn the_ending_of_the_output_tells_its_form() {
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap();
    for (name, word) in [("m.uqff", "migrate"), ("m.foo", "--to"), ("m", "--to")] {
        let said = failure(&["convert", folder, &tiny.join(name)], b"", 2);
        assert!(said.contains("the ending of OUT") && said.contains(word), "{said}");
        assert!(!Path::new(&tiny.join(name)).exists());
    }
    nanoembed(&["convert", folder, &tiny.join("m.AMB"), "-t", "int8"]).assert().success();
    assert!(fs::read(tiny.join("m.AMB")).unwrap().starts_with(b"AMB"));
    nanoembed(&["convert", folder, &tiny.join("m"), "--to", "weights"]).assert().success();
}

#[test]
fn options_that_mean_nothing_for_a_model_are_refused() {
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap();
    let amb = tiny.converted("m.amb", &[]);
    let (new_amb, weights) = (tiny.join("n.amb"), tiny.join("n.weights"));
    for (arguments, message) in [
        (&[folder, &new_amb, "--block", "32"][..], "--block is for types of few bits in `.amb`"),
        (&[folder, &weights, "--block", "32"], "--block is for types of few bits in `.amb`"),
        (&[folder, &new_amb, "-t", "int8", "--bits", "5"], "--bits is for `--type adaptive`"),
        (&[folder, &weights, "--calibrate", "-"], "--calibrate is for types of few bits"),
        (&[folder, &weights, "--for-web"], "--for-web is for `--type int8` in `.weights` files"),
        (&[folder, &new_amb, "-t", "int8", "--for-web"], "--for-web is for `--type int8`"),
        (&[&amb, &weights, "--pooler"], "--pooler is for models in folders and `.weights` files"),
        (&[&amb, &weights, "--config", "c.json"], "--config is for models in folders"),
        (&[folder, &weights, "--normalized"], "--normalized is for vectors of words"),
        (&[folder, &weights, "--no-normalize"], "--no-normalize is for word vectors"),
        (&[folder, &weights, "--duplicates", "first"], "--duplicates is for word vectors"),
        (&[folder, &weights, "--utf8", "lossy"], "--utf8 is for word vectors"),
        (&[folder, &weights, "--to", "text"], "these are no word vectors"),
    ] {
        let error = failure(&[&["convert"], arguments].concat(), b"", 2);
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    assert!(!Path::new(&new_amb).exists() && !Path::new(&weights).exists());
}

#[test]
fn stdin_that_is_no_weights_file_wants_its_form_told() {
    let tiny = TinyModel::new();
    let file = fs::read(tiny.converted("m.amb", &[])).unwrap();
    let out = tiny.join("m.weights");
    let said = failure(&["convert", "-", &out], &file, 1);
    assert!(said.contains("`--from`"), "{said}");
}

#[test]
fn a_file_can_go_to_stdout() {
    let tiny = TinyModel::new();
    let file = fs::read(tiny.converted("m.weights", &[])).unwrap();
    let output = nanoembed(&["convert", tiny.path().to_str().unwrap(), "-"]).assert().success();
    assert!(output.get_output().stdout == file);
}

#[test]
fn without_a_list_of_modules_the_pooling_is_that_of_its_usual_place() {
    for pooling in ["cls", "max"] {
        let tiny = TinyModel::new();
        let folder = tiny.path().to_str().unwrap();
        let by_mean = embeddings(folder);
        let said = json!({ "pooling_mode": pooling });
        fs::write(tiny.join("1_Pooling/config.json"), said.to_string()).unwrap();
        let listed = embeddings(folder);
        assert_ne!(listed, by_mean);
        fs::remove_file(tiny.join("modules.json")).unwrap();
        assert_eq!(embeddings(folder), listed);
        for file in ["m.weights", "m.amb"] {
            let converted = tiny.converted(file, &["--type", "f32"]);
            for (found, expected) in embeddings(&converted).iter().zip(&listed) {
                assert!(cosine(found, expected) > 0.999_999, "{pooling} {file}");
            }
        }
    }
}

#[test]
fn a_model_that_fills_gaps_is_not_converted_where_nothing_says_how_it_embeds() {
    let tiny = TinyModel::new();
    fs::remove_file(tiny.join("modules.json")).unwrap();
    let mut masked = config();
    masked["architectures"] = json!(["BertForMaskedLM"]);
    let elsewhere = tiny.join("masked.json");
    fs::write(&elsewhere, masked.to_string()).unwrap();
    let folder = tiny.path().to_str().unwrap();
    let out = tiny.join("out.weights");
    let error = failure(&["convert", folder, &out, "--config", &elsewhere], b"", 1);
    assert!(error.contains("masked.json") && error.contains("BertForMaskedLM"), "{error}");
    fs::write(tiny.join("config.json"), masked.to_string()).unwrap();
    for out in [out, tiny.join("out.gguf")] {
        let command = if out.ends_with("gguf") { "migrate" } else { "convert" };
        let error = failure(&[command, folder, &out], b"", 1);
        assert!(error.contains("BertForMaskedLM") && error.contains("modules.json"), "{error}");
    }
}

#[test]
fn an_added_token_that_has_no_word_vector_is_named() {
    let tiny = TinyModel::new();
    fs::write(tiny.path().join("added_tokens.json"), r#"{"<tag>": 14}"#).unwrap();
    for out in ["m.weights", "m.amb"] {
        let said = failure(&["convert", tiny.path().to_str().unwrap(), &tiny.join(out)], b"", 1);
        assert!(said.contains("[307]") && said.contains("<tag>") && said.contains("14"), "{said}");
        assert!(!Path::new(&tiny.join(out)).exists());
    }
}
