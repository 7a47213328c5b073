use crate::tiny_model::{TOKENS, TinyModel, stream_file};
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn a_line_of_json_has_the_documented_shape() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &["--type", "int8", "--name", "tiny"]);
    let object = objects(&stdout(&["inspect", "--json", &model], "")).remove(0);
    assert_eq!(object["format"], "embd");
    assert_eq!(object["variant"], "section");
    assert_eq!(object["file_bytes"], std::fs::metadata(&model).unwrap().len());
    assert_eq!(object["metadata"]["model_name"], "tiny");
    assert_eq!(object["tokenizer"]["tokens"], TOKENS.len());
    assert_eq!(object["tokenizer"]["special"]["mask"], 4);
    let words = &object["tensors"][0];
    assert_eq!(words["name"], "embeddings.word_embeddings.weight");
    assert_eq!(words["dtype"], "i8");
    assert_eq!(words["shape"], serde_json::json!([14, 8]));
    assert_eq!(words["bytes"], 112);
    assert_eq!(words["offset"].as_u64().unwrap() % 64, 0);
}

#[test]
fn the_fingerprint_of_a_models_vectors_is_told() {
    let tiny = TinyModel::new();
    let (model, other) =
        (tiny.converted("m.weights", &[]), tiny.converted("n.weights", &["--type", "f16"]));
    let told = |path: &str| {
        let object = objects(&stdout(&["inspect", "--json", path], "")).remove(0);
        object["fingerprint"].as_str().unwrap().to_owned()
    };
    assert_eq!(told(&model).len(), 32);
    assert_ne!(told(&model), told(&other));
    assert!(stdout(&["inspect", &model], "").contains(&told(&model)));
    let bytes = std::fs::read(&model).unwrap();
    let piped = nanoembed(&["inspect", "-", "--json"]).write_stdin(bytes).assert().success();
    let piped = String::from_utf8(piped.get_output().stdout.clone()).unwrap();
    assert_eq!(objects(&piped)[0]["fingerprint"], told(&model));
}

#[test]
fn the_stream_layout_and_its_transposition_are_named() {
    let tiny = TinyModel::new();
    let file = tiny.join("old.bin");
    std::fs::write(&file, stream_file()).unwrap();
    let object = objects(&stdout(&["inspect", "--json", &file], "")).remove(0);
    assert_eq!(object["variant"], "stream");
    assert_eq!(object["linear_layout"], "[in, out]");
    assert!(stdout(&["inspect", &file], "").contains("transposed"));
}

#[test]
fn a_file_may_come_through_a_pipe() {
    let output =
        nanoembed(&["inspect", "-", "--json"]).write_stdin(stream_file()).assert().success();
    let lines = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_eq!(objects(&lines)[0]["file"], "stdin");
}

#[test]
fn what_is_no_model_is_refused_with_a_hint() {
    let error = failure(&["inspect", "-"], b"PK\x03\x04 and so on", 1);
    assert!(error.starts_with("error[206]: stdin: this is a zip archive"), "{error}");
    assert!(error.contains("hint: "), "{error}");
}
