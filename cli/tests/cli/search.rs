use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::families::{copied, models};
use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout};

const TEXT: &str = "\nhello world\n\nthe cat\nsing sing\n\n  \ncat cats\n";

#[test]
fn the_line_itself_is_found_first() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let found =
        objects(&stdout(&["search", "-m", &model, "-", "sing sing", "--json", "-k", "3"], TEXT));
    assert_eq!(found.len(), 3);
    let keys: Vec<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["file", "line", "text", "similarity"]);
    assert_eq!((&found[0]["line"], &found[0]["text"]), (&5.into(), &"sing sing".into()));
    assert!(found[0]["similarity"].as_f64().unwrap() > 0.999_99);
    let similarities: Vec<f64> = found.iter().map(|f| f["similarity"].as_f64().unwrap()).collect();
    assert!(similarities.is_sorted_by(|a, b| a >= b));
}

#[test]
fn paragraphs_end_at_blank_lines() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let found = stdout(
        &["search", "-m", &model, "--by", "paragraph", "-", "the cat sing sing", "--json"],
        TEXT,
    );
    let found = objects(&found);
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0]["line"], &found[0]["text"]), (&4.into(), &"the cat\nsing sing".into()));
}

#[test]
fn text_output_has_no_colours_in_a_pipe() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let text = stdout(&["search", "-m", &model, "-", "hello world", "-k", "1"], TEXT);
    assert_eq!(text, " 1.000  2  hello world\n");
}

#[test]
fn nothing_found_is_status_1_and_no_query_status_2() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    failure(&["search", "-m", &model, "-", "cat"], b"\n \n", 1);
    failure(&["search", "-m", &model, "-", "cat", "--min", "2"], b"dog\n", 1);
    failure(&["search", "-m", &model, "-", " "], b"dog\n", 2);
    failure(&["search", "-m", &model, &tiny.join("none.txt"), "cat"], b"", 3);
}

/// Similarities by the vectors that `embed` gives of the same texts.
fn by_hand(measure: &str, model: &str, texts: &[&str]) -> Vec<f64> {
    let embedded = objects(&stdout(&[&["embed", "-m", model, "--json"], texts].concat(), ""));
    let vector = |row: &Value| -> Vec<f64> {
        row["embedding"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
    };
    let vectors: Vec<Vec<f64>> = embedded.iter().map(vector).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let apart = |b: &[f64]| vectors[0].iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let of = |b: &Vec<f64>| match measure {
        "dot" => dot(&vectors[0], b),
        "euclidean" => -dot(&apart(b), &apart(b)).sqrt(),
        "manhattan" => -apart(b).iter().map(|it| it.abs()).sum::<f64>(),
        _ => dot(&vectors[0], b) / (dot(&vectors[0], &vectors[0]) * dot(b, b)).sqrt(),
    };
    vectors.iter().skip(1).map(of).collect()
}

/// `similarity_fn_name`, in a folder and in what is made of it.
#[test]
fn passages_are_compared_as_the_model_says() {
    let texts = ["the cat", "a", "the cat sat on the mat", "dogs", "it is sunny today"];
    let lines = texts[1..].join("\n");
    for measure in ["cosine", "dot", "euclidean", "manhattan"] {
        let folder = copied(&models().join("distilbert"));
        let config = folder.path().join("config_sentence_transformers.json");
        std::fs::write(config, json!({"similarity_fn_name": measure}).to_string()).unwrap();
        // Vectors of length 1 have the same order by most measures.
        let modules = folder.path().join("modules.json");
        let listed = std::fs::read_to_string(&modules).unwrap();
        let mut listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
        assert!(listed.pop().unwrap()["path"] == "2_Normalize");
        std::fs::write(&modules, json!(listed).to_string()).unwrap();
        let converted = TempDir::new().unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let mut sources = vec![path(folder.path())];
        for (command, name) in
            [("convert", "m.weights"), ("convert", "m.amb"), ("migrate", "m.gguf")]
        {
            let to = path(&converted.path().join(name));
            nanoembed(&[command, &sources[0], &to]).assert().success();
            sources.push(to);
        }
        for model in sources {
            let said = stdout(&["search", "-m", &model, "-", texts[0], "--json"], &lines);
            let found = objects(&said);
            let expected = by_hand(measure, &model, &texts);
            assert_eq!(found.len(), expected.len());
            let similarity = |row: &Value| row["similarity"].as_f64().unwrap();
            assert!(found.is_sorted_by(|a, b| similarity(a) >= similarity(b)), "{found:?}");
            for row in &found {
                let line = usize::try_from(row["line"].as_u64().unwrap()).unwrap();
                let off = (similarity(row) - expected[line - 1]).abs();
                assert!(off <= 2e-5 * similarity(row).abs().max(1.0), "{measure} {model}: {row}");
            }
        }
    }
    let folder = copied(&models().join("distilbert"));
    let config = folder.path().join("config_sentence_transformers.json");
    std::fs::write(config, r#"{"similarity_fn_name": "hamming"}"#).unwrap();
    let model = folder.path().to_str().unwrap();
    let said = failure(&["search", "-m", model, "-", "cat"], b"dog\n", 1);
    assert!(said.contains("error[208]") && said.contains("similarity_fn_name"), "{said}");
}

#[test]
fn what_passages_have_no_use_for_is_refused() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let lines = b"{\"text\": \"dog\", \"url\": 1}\n";
    let search = ["search", "-m", &model, "-", "cat", "-i", "jsonl"];
    for (more, named) in [
        (&["--keep", "url"][..], "--keep"),
        (&["--on-error", "null", "--json"], "--on-error null"),
        (&["--by", "paragraph"], "--by paragraph"),
    ] {
        let said = failure(&[&search[..], more].concat(), lines, 2);
        assert!(said.contains(named), "{said}");
    }
    let file = tiny.join("lines.jsonl");
    std::fs::write(&file, lines).unwrap();
    let output = nanoembed(&["search", "-m", &model, &file, "cat"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--input jsonl"), "{output:?}");
}
