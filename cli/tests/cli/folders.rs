//! `inspect` and `verify` of what is no single file of a format of ours: folders, and word vectors
//! of other programs.

use std::path::Path;

use nanoembed_core::owned::{Encoder, TextSession, usual_prompt};
use nanoembed_core::source::ModelSource;

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout};

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_folder_is_inspected_with_its_settings_and_tokenizer() {
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap().to_owned();
    let found = &objects(&stdout(&["inspect", "--json", &folder], ""))[0];
    assert_eq!(
        (&found["file"], &found["format"]),
        (&folder.as_str().into(), &"safetensors".into())
    );
    assert!(found["metadata"]["hidden_size"].is_u64());
    assert!(found["tokenizer"]["tokens"].as_u64().unwrap() > 5, "{}", found["tokenizer"]);
    let alone = &objects(&stdout(&["inspect", "--json", &tiny.join("model.safetensors")], ""))[0];
    assert_eq!(found["tensors"], alone["tensors"]);
    assert!(alone["tokenizer"].is_null());
    let text = stdout(&["inspect", &folder], "");
    assert!(text.starts_with(&folder) && text.contains("hidden_size"), "{text}");
}

#[test]
fn a_folder_is_verified_with_the_files_beside_its_weights() {
    let tiny = TinyModel::new();
    let folder = tiny.path().to_str().unwrap().to_owned();
    let said = stdout(&["verify", &folder], "");
    assert!(said.contains(": ok (") && said.contains("no checksums"), "{said}");
    std::fs::write(tiny.join("config.json"), "{\n \"hidden_size\": }").unwrap();
    let assert = nanoembed(&["verify", "--json", &folder]).assert().code(1);
    let findings = objects(&String::from_utf8_lossy(&assert.get_output().stdout));
    assert_eq!(findings.len(), 1);
    let members: Vec<&String> = findings[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["file", "offset", "code", "name", "message"]);
    assert_eq!((&findings[0]["code"], &findings[0]["offset"]), (&130.into(), &18.into()));
    assert_eq!(findings[0]["file"], tiny.join("config.json"));
    failure(&["verify", &tiny.join("none")], b"", 3);
}

#[test]
fn several_files_are_verified_each() {
    let tiny = TinyModel::new();
    let good = tiny.converted("m.weights", &[]);
    let bad = tiny.join("bad.weights");
    let mut bytes = std::fs::read(&good).unwrap();
    bytes.truncate(bytes.len() - 7);
    std::fs::write(&bad, bytes).unwrap();
    let assert = nanoembed(&["verify", &bad, &good]).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(said.contains(&format!("{good}: ok (")) && said.contains("[101 "), "{said}");
}

#[test]
fn word_vectors_of_every_form_are_inspected_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = "one 1 0.5\ntwo 0.25 -1\nthree 0 1\n";
    std::fs::write(path("v.txt"), text).unwrap();
    std::fs::write(path("v.vec"), format!("3 2\n{text}")).unwrap();
    stdout(&["convert", &path("v.vec"), &path("v.w2v")], "");
    for (file, format, shape) in [
        (path("v.txt"), "text", [3, 2]),
        (path("v.vec"), "textdims", [3, 2]),
        (path("v.w2v"), "word2vec", [3, 2]),
    ] {
        let found = &objects(&stdout(&["inspect", "--json", &file], ""))[0];
        assert_eq!(found["format"], format);
        assert_eq!(found["tensors"][0]["shape"], serde_json::json!(shape), "{file}");
        let said = stdout(&["verify", &file], "");
        assert!(said.contains("3 words of 2 columns") && said.contains("no checksums"), "{said}");
    }
    for file in ["words/licence.bin", "words/licence.floret", "words/labels.ftz"] {
        let found = &objects(&stdout(&["inspect", "--json", &data(file)], ""))[0];
        assert!(found["vocabulary"]["cols"].as_u64().unwrap() > 0, "{found}");
        stdout(&["inspect", &data(file)], "");
        assert!(stdout(&["verify", &data(file)], "").contains(": ok ("), "{file}");
    }
    // What `convert` refuses, `verify` finds, with its place.
    std::fs::write(path("bad.vec"), "2 2\none 1 2\none 3 4\n").unwrap();
    let assert = nanoembed(&["verify", "--json", &path("bad.vec")]).assert().code(1);
    let finding = &objects(&String::from_utf8_lossy(&assert.get_output().stdout))[0];
    assert_eq!((&finding["code"], &finding["name"]), (&123.into(), &"duplicate_word".into()));
    assert_eq!(finding["file"], path("bad.vec"));
    stdout(&["verify", "--duplicates", "first", &path("bad.vec")], "");
}

#[test]
fn a_default_prompt_is_for_texts_without_a_role() {
    let (tiny, from) = (TinyModel::new(), "cases/default-prompt/model");
    for name in std::fs::read_dir(data(from)).unwrap().map(|entry| entry.unwrap()) {
        if name.file_type().unwrap().is_file() {
            std::fs::copy(name.path(), tiny.path().join(name.file_name())).unwrap();
        }
    }
    let settings = tiny.join("config_sentence_transformers.json");
    let folder = tiny.path().to_str().unwrap().to_owned();
    let embedded = |text: &str, prompt: &str| {
        let vector = stdout(&["embed", "-m", &folder, "--prompt", prompt, text], "");
        vector.split_whitespace().map(|it| it.parse().unwrap()).collect::<Vec<f64>>()
    };
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let similarity =
        |a: Vec<f64>, b: Vec<f64>| product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
    let found = || {
        let found = stdout(&["search", "-m", &folder, "hello", "-", "--json"], "hello hello\n");
        objects(&found)[0]["similarity"].as_f64().unwrap()
    };
    for (prompts, of_query, of_document) in [
        (r#"{"query": "query: "}, "default_prompt_name": "query""#, "query: ", ""),
        (r#"{"sts": "query: "}, "default_prompt_name": "sts""#, "", ""),
        (
            r#"{"sts": "query: ", "passage": "passage: "}, "default_prompt_name": "sts""#,
            "",
            "passage: ",
        ),
    ] {
        std::fs::write(&settings, format!("{{\"prompts\": {prompts}}}")).unwrap();
        let expected =
            similarity(embedded("hello", of_query), embedded("hello hello", of_document));
        // Vectors of passages are compared in bytes.
        assert!((found() - expected).abs() < 1e-3, "{prompts}: {} {expected}", found());
        let usual = similarity(embedded("hello", "query: "), embedded("hello hello", "query: "));
        assert!(
            (expected - usual).abs() > 2e-3,
            "{prompts} makes a difference: {expected} {usual}"
        );
        // Texts without a role have it.
        let alone = stdout(&["embed", "-m", &folder, "hello"], "");
        assert_eq!(alone, stdout(&["embed", "-m", &folder, "--prompt", "query: ", "hello"], ""));
    }
}

#[test]
fn the_default_prompt_goes_with_the_model_into_every_file_and_every_host() {
    let folder = data("cases/default-prompt/model");
    let expected = stdout(&["tokenize", "-m", &folder, "hello"], "");
    let expected: Vec<u32> = expected.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    let out = tempfile::tempdir().unwrap();
    for (command, ending) in [("convert", "weights"), ("convert", "amb"), ("migrate", "gguf")] {
        let file = out.path().join(format!("model.{ending}"));
        nanoembed(&[command, &folder, file.to_str().unwrap()]).assert().success();
        let bytes = std::fs::read(&file).unwrap();
        let prompt = usual_prompt(&ModelSource::parse(&bytes).unwrap());
        assert_eq!(prompt.as_deref(), Ok("query: "), "{ending}");
        let model = Encoder::open(bytes).unwrap();
        let tokens = |text: &str| {
            let mut session = TextSession::default();
            model.encode(text, model.usual_tokens(), &mut session).unwrap().ids
        };
        assert_eq!(tokens("query: hello"), expected, "{ending}");
        assert!(tokens("hello").len() < expected.len());
    }
}
