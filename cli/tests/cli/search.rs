//! `search`: what it finds in files and folders, and how it is told.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::families::{copied, models};
use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout};

const TEXT: &str = "\nhello world\n\nthe cat\nsing sing\n\n  \ncat cats\n";

/// A small model, and a new folder that contains these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> (TinyModel, String, TempDir) {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (tiny, model, folder)
}

/// What a search says in a folder.
fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let mut command = nanoembed(&[&["search"], arguments].concat());
    let output = command.current_dir(folder.path()).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

fn models_of_heads(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/heads");
    root.join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_line_itself_is_found_first() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let search = ["search", "-m", &model, "sing sing", "-", "--json", "-k", "3", "--by", "line"];
    let found = objects(&stdout(&search, TEXT));
    assert_eq!(found.len(), 3);
    let keys: Vec<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["file", "line", "end_line", "text", "score", "similarity"]);
    assert_eq!((&found[0]["line"], &found[0]["text"]), (&5.into(), &"sing sing".into()));
    assert!(found[0]["similarity"].as_f64().unwrap() > 0.999_99);
    assert!((found[0]["score"].as_f64().unwrap() - 1.0).abs() < 1e-5);
    let scores: Vec<f64> = found.iter().map(|f| f["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b));
}

#[test]
fn paragraphs_end_at_blank_lines_and_a_list_has_lines() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let search = ["search", "-m", &model, "the cat sing sing", "-", "--json"];
    let found = objects(&stdout(&search, TEXT));
    assert_eq!(found.len(), 3, "{found:?}");
    // In what order, a model of few numbers tells by a hair.
    let own = found.iter().find(|row| row["text"] == "the cat\nsing sing").unwrap();
    assert_eq!((&own["line"], &own["end_line"]), (&4.into(), &5.into()));
    let found = objects(&stdout(&search, "the cat\nsing sing\n"));
    assert_eq!(found.len(), 2);
    let found = objects(&stdout(&[&search[..], &["--by", "paragraph"]].concat(), "the cat\nsing"));
    assert_eq!(found.len(), 1);
}

#[test]
fn folders_are_searched_as_ripgrep_does() {
    let (_tiny, model, folder) = tree(&[
        ("a.md", "# The cat\n\nIt can sing.\n\n## Hello\n\nHello world.\n"),
        ("src/cat.py", "def sing(cat):\n    return cat\n\n\ndef hello():\n    pass\n"),
        (".hidden.txt", "the cat hidden\n"),
        (".ignore", "left/\n"),
        ("left/out.txt", "the cat left\n"),
        ("binary.bin", "the cat\0\n"),
        ("copy.md", "# The cat\n\nIt can sing.\n"),
    ]);
    let files = |arguments: &[&str]| {
        let said = said(&folder, &[&["-m", &model, "cat", "-l"], arguments].concat());
        let mut files: Vec<String> = said.lines().map(|name| name.replace('\\', "/")).collect();
        files.sort();
        files
    };
    // Equal passages are there once.
    assert_eq!(files(&[]), ["a.md", "src/cat.py"]);
    assert_eq!(files(&["--hidden"]), [".hidden.txt", ".ignore", "a.md", "src/cat.py"]);
    assert_eq!(files(&["--no-ignore"]), ["a.md", "left/out.txt", "src/cat.py"]);
    assert_eq!(files(&["--type", "py"]), ["src/cat.py"]);
    assert_eq!(files(&["-g", "*.md"]), ["a.md", "copy.md"][..1]);
    assert_eq!(files(&["-g", "!*.md", "src", "a.md"]), ["a.md", "src/cat.py"]);
    assert_eq!(files(&["src"]), ["src/cat.py"]);
    let said = failure(&["search", "-m", &model, "cat", "--type", "no such"], b"", 2);
    assert!(said.contains("--type") && said.contains("no such"), "{said}");
    let named = folder.path().join("binary.bin");
    let said = failure(&["search", "-m", &model, "cat", named.to_str().unwrap()], b"", 1);
    assert!(said.contains("is no text"), "{said}");
}

#[test]
fn results_are_places_and_texts() {
    let (_tiny, model, folder) =
        tree(&[("a.md", "# The cat\n\nsing.\n\n## Hello\n\nHello\nworld.\n"), ("b.txt", "dog\n")]);
    let found = said(&folder, &["hello world", "--exact", "-m", &model]);
    assert_eq!(found, "a.md:5: ## Hello Hello world.\n");
    let found = said(&folder, &["-C", "1", "hello world", "--exact", "-k1", "-m", &model]);
    assert_eq!(found, "a.md-4- \na.md:5: ## Hello\na.md:6: \na.md:7: Hello\na.md:8: world.\n");
    let found = said(&folder, &["hello", "a.md", "--scores", "--exact", "-m", &model]);
    let (score, place) = found.trim().split_once("  ").unwrap();
    assert!(
        score.parse::<f64>().unwrap() > 0.0 && place.starts_with("a.md:5: ## Hello"),
        "{found}"
    );
    let found = said(&folder, &["hello", "--json", "--exact", "-m", &model]);
    let found = &objects(&found)[0];
    assert_eq!((&found["line"], &found["end_line"]), (&5.into(), &8.into()));
    assert_eq!(found["text"], "## Hello\n\nHello\nworld.");
}

#[test]
fn words_and_meaning_are_found_alone_and_together() {
    let (_tiny, model, folder) = tree(&[(
        "a.txt",
        "error E0382 in the cat\n\nread_line_bytes sings\n\nhello world\n\nthe world of cats\n",
    )]);
    let lines = |arguments: &[&str]| -> Vec<u64> {
        let found = objects(&said(&folder, &[&["-m", &model, "--json"], arguments].concat()));
        found.iter().map(|found| found["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(lines(&["--exact", "e0382"]), [1]);
    assert_eq!(lines(&["--exact", "line bytes"]), [3]);
    assert_eq!(lines(&["--exact", "readLineBytes"]), [3]);
    assert_eq!(lines(&["--exact", "cat"]), [7, 1]);
    assert_eq!(lines(&["--exact", "the"]), [7, 1]);
    assert_eq!(lines(&["--meaning", "hello world"])[0], 5);
    assert_eq!(lines(&["--meaning", "E0382"]).len(), 4);
    assert_eq!(lines(&["E0382 sing world"]).len(), 4);
    let found = objects(&said(&folder, &["-m", &model, "--json", "--exact", "cat"]));
    assert_eq!(found[0]["similarity"], Value::Null);
    let found = objects(&said(&folder, &["-m", &model, "--json", "--meaning", "cat"]));
    assert_eq!(found[0]["similarity"], found[0]["score"]);
    // Stop words count nothing beside the meaning.
    let both = objects(&said(&folder, &["-m", &model, "--json", "to be or not the"]));
    let alone = objects(&said(&folder, &["-m", &model, "--json", "--meaning", "to be or not the"]));
    let similarities = |found: &[Value]| -> Vec<Value> {
        found.iter().map(|found| found["similarity"].clone()).collect()
    };
    assert_eq!(similarities(&both), similarities(&alone));
}

#[test]
fn the_query_comes_first() {
    let (_tiny, model, folder) = tree(&[("a.txt", "hello\n"), ("b.txt", "world\n")]);
    let run = |arguments: &[&str]| {
        let mut command = nanoembed(&[&["search", "-m", &model], arguments].concat());
        let output = command.current_dir(folder.path()).write_stdin("x\n").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run(&["a.txt", "b.txt", "a query"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("nanoembed search \"a query\" a.txt b.txt"), "{said}");
    let (code, said) = run(&["-", "a query"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("nanoembed search \"a query\" -"), "{said}");
    // A name of a file can be a query.
    assert_eq!(run(&["a.txt"]).0, Some(0));
    assert_eq!(run(&["a.txt", "b.txt"]).0, Some(0));
}

#[test]
fn nothing_found_is_status_1_and_no_query_status_2() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    failure(&["search", "-m", &model, "cat", "-"], b"\n \n", 1);
    failure(&["search", "-m", &model, "cat", "-", "--min", "2"], b"dog\n", 1);
    failure(&["search", "-m", &model, "cat", "-", "--exact"], b"dog\n", 1);
    failure(&["search", "-m", &model, " ", "-"], b"dog\n", 2);
    failure(&["search", "-m", &model, "cat", &tiny.join("none.txt")], b"", 3);
    for (more, named) in [
        (&["--exact", "--meaning"][..], "--meaning"),
        (&["--exact", "--min", "0"], "--min"),
        (&["--json", "-C", "1"], "--context"),
        (&["--vectors", "multi"], "--late"),
    ] {
        let said = failure(&[&["search", "-m", &model, "cat", "-"], more].concat(), b"dog\n", 2);
        assert!(said.contains(named), "{said}");
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error_in_files_that_were_named() {
    let (_tiny, model, folder) = tree(&[]);
    let file = folder.path().join("latin.txt");
    fs::write(&file, b"hello\nw\xf6rld\n").unwrap();
    let named = ["search", "-m", &model, "hello", file.to_str().unwrap()];
    let said = failure(&named, b"", 1);
    assert!(said.contains("latin.txt: line 2: byte 7: ") && said.contains("--lossy"), "{said}");
    assert_eq!(stdout(&[&named[..], &["--lossy"]].concat(), "").lines().count(), 2);
    assert!(crate::search::said(&folder, &["hello", "-m", &model]).contains("w\u{fffd}rld"));
}

/// The order is that of `rerank`, which is compared with transformers elsewhere.
#[test]
fn a_second_model_orders_results() {
    let (_tiny, model, folder) =
        tree(&[("a.txt", "hello\nthe cat\nworld\nberlin\nsing the cat\n")]);
    let file = folder.path().join("a.txt");
    let texts = fs::read_to_string(&file).unwrap();
    let reranker = models().join("cross_encoder").to_str().unwrap().to_owned();
    let (colbert, bge) = (models_of_heads("colbert"), models_of_heads("bge_m3_multi"));
    for (option, second) in [("--rerank", &reranker), ("--rerank", &colbert), ("--late", &colbert)]
    {
        let search = ["the cat", file.to_str().unwrap(), option, second, "--json", "-m", &model];
        let found = objects(&stdout(&[&["search"], &search[..]].concat(), ""));
        let ranked = stdout(&["rerank", "-m", second, "the cat", "-f", "-", "--json"], &texts);
        let scores: Vec<f64> =
            objects(&ranked).iter().map(|row| row["score"].as_f64().unwrap()).collect();
        assert_eq!(found.len(), scores.len());
        for row in &found {
            let line = usize::try_from(row["line"].as_u64().unwrap()).unwrap();
            let score = row["score"].as_f64().unwrap();
            assert!((score - scores[line - 1]).abs() < 1e-5, "{option} {second}: {row} {scores:?}");
        }
        let order: Vec<f64> = found.iter().map(|row| row["score"].as_f64().unwrap()).collect();
        assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
    }
    let search = ["search", "the cat", file.to_str().unwrap(), "-m", &model];
    assert_eq!(stdout(&[&search[..], &["--late", &bge]].concat(), "").lines().count(), 5);
    let said = failure(&[&search[..], &["--late", &model]].concat(), b"", 1);
    assert!(said.contains("no multi vectors"), "{said}");
}

/// Similarities are the dot products of the vectors that `embed` gives.
#[test]
fn sparse_vectors_are_searched() {
    let texts = ["the cat sat", "hello world", "a cat and a dog"];
    for (name, kind) in [("splade", &[][..]), ("bge_m3_multi", &["--vectors", "sparse"])] {
        let model = models_of_heads(name);
        let vectors = |texts: &[&str]| {
            let embed = ["embed", "-m", &model, "--vectors", "sparse", "--json"];
            let lines = objects(&stdout(&embed, &texts.join("\n")));
            let weights = |row: &Value| -> Vec<(u64, f64)> {
                let indices = row["sparse"]["indices"].as_array().unwrap().clone();
                let values = row["sparse"]["values"].as_array().unwrap().clone();
                let pairs = indices.iter().zip(&values);
                pairs.map(|(id, value)| (id.as_u64().unwrap(), value.as_f64().unwrap())).collect()
            };
            lines.iter().map(weights).collect::<Vec<_>>()
        };
        let (query, documents) = (&vectors(&["the cat"])[0], vectors(&texts));
        let search = ["search", "-m", &model, "the cat", "-", "--meaning", "--json"];
        let found = objects(&stdout(&[&search[..], kind].concat(), &texts.join("\n")));
        assert_eq!(found.len(), 3);
        for row in &found {
            let line = usize::try_from(row["line"].as_u64().unwrap()).unwrap();
            let document = &documents[line - 1];
            let weight = |id| document.iter().find(|(own, _)| *own == id).map_or(0.0, |it| it.1);
            let expected: f64 = query.iter().map(|(id, own)| own * weight(*id)).sum();
            let similarity = row["similarity"].as_f64().unwrap();
            assert!((similarity - expected).abs() < 1e-4 * expected.max(1.0), "{row} {expected}");
        }
    }
}

/// The built-in model knows English.
#[cfg(feature = "default-model")]
#[test]
fn other_scripts_are_found_by_words_and_said_to_be() {
    let texts = "Как открыть файл\nПогода сегодня хорошая\nThe weather\n";
    let mut command = nanoembed(&["search", "погода", "-", "-k", "1"]);
    let output = command.write_stdin(texts).output().unwrap();
    let (out, said) =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).into();
    assert!(out.starts_with("stdin:2: "), "{out}");
    assert_eq!(said.matches("multilingual-e5-small").count(), 1, "{said}");
    let output = nanoembed(&["search", "weather", "-"]).write_stdin("Weather\nfile\n").output();
    assert!(output.unwrap().stderr.is_empty());
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
        fs::write(config, json!({"similarity_fn_name": measure}).to_string()).unwrap();
        // Vectors of length 1 have the same order by most measures.
        let modules = folder.path().join("modules.json");
        let listed = fs::read_to_string(&modules).unwrap();
        let mut listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
        assert!(listed.pop().unwrap()["path"] == "2_Normalize");
        fs::write(&modules, json!(listed).to_string()).unwrap();
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
            let said =
                stdout(&["search", "-m", &model, texts[0], "-", "--meaning", "--json"], &lines);
            let found = objects(&said);
            let expected = by_hand(measure, &model, &texts);
            assert_eq!(found.len(), expected.len());
            let similarity = |row: &Value| row["similarity"].as_f64().unwrap();
            assert!(found.is_sorted_by(|a, b| similarity(a) >= similarity(b)), "{found:?}");
            for row in &found {
                let line = usize::try_from(row["line"].as_u64().unwrap()).unwrap();
                let off = (similarity(row) - expected[line - 1]).abs();
                // Vectors of passages are compared in bytes.
                assert!(off <= 0.01 * similarity(row).abs().max(1.0), "{measure} {model}: {row}");
            }
        }
    }
    let folder = copied(&models().join("distilbert"));
    let config = folder.path().join("config_sentence_transformers.json");
    fs::write(config, r#"{"similarity_fn_name": "hamming"}"#).unwrap();
    let model = folder.path().to_str().unwrap();
    let said = failure(&["search", "-m", model, "cat", "-"], b"dog\n", 1);
    assert!(said.contains("error[208]") && said.contains("similarity_fn_name"), "{said}");
}

#[test]
fn what_passages_have_no_use_for_is_refused() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let lines = b"{\"text\": \"dog\", \"url\": 1}\n";
    let search = ["search", "-m", &model, "cat", "-", "-i", "jsonl"];
    for (more, named) in
        [(&["--keep", "url"][..], "--keep"), (&["--on-error", "null", "--json"], "--on-error null")]
    {
        let said = failure(&[&search[..], more].concat(), lines, 2);
        assert!(said.contains(named), "{said}");
    }
    let said = failure(&["search", "-m", &model, "cat", "-", "--field", "url"], lines, 2);
    assert!(said.contains("--field"), "{said}");
}

#[test]
fn json_lines_are_texts_with_their_members() {
    let (_tiny, model, folder) = tree(&[
        (
            "a.jsonl",
            "{\"id\": 7, \"text\": \"the cat\\nsing\", \"url\": \"u\"}\n{\"id\": 8, \"text\": \"dog\"}\n",
        ),
        ("others.ndjson", "{\"title\": \"cat\"}\n{\"text\": \"the cat sing\"}\nno json\n"),
    ]);
    let file = folder.path().join("a.jsonl");
    let file = file.to_str().unwrap();
    let search = ["search", "-m", &model, "cat", file, "--json", "--keep", "url", "--exact"];
    let found = objects(&stdout(&search, ""));
    let expected = json!({"file": file, "line": 1, "end_line": 1, "id": 7, "url": "u", "text": "the cat\nsing"});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[0][name], value);
    }
    // In folders there are files with other members.
    let mut command = nanoembed(&["search", "-m", &model, "sing", "-l"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let (out, said) =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).into();
    assert_eq!(out.lines().count(), 2);
    assert!(said.contains("2 lines left out, the first: others.ndjson: line 1"), "{said}");
    let others = folder.path().join("others.ndjson");
    failure(&["search", "-m", &model, "cat", others.to_str().unwrap()], b"", 1);
    let shown = stdout(&["search", "-m", &model, "cat sing", file, "-C", "0", "--exact"], "");
    assert_eq!(shown, format!("{file}:1: the cat\n{file}:1: sing\n"));
}

/// An index of its own for each test.
pub(crate) fn with_cache(
    folder: &TempDir,
    cache: &TempDir,
    arguments: &[&str],
) -> assert_cmd::assert::Assert {
    let mut command = nanoembed(arguments);
    command.current_dir(folder.path()).env("NANOEMBED_CACHE", cache.path()).assert()
}

pub(crate) fn out(assert: assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.success().get_output().stdout.clone()).unwrap()
}

#[test]
fn folders_have_an_index_that_keeps_itself() {
    let (_tiny, model, folder) = tree(&[("a.txt", TEXT), ("b/c.jsonl", RECORDS)]);
    let cache = TempDir::new().unwrap();
    let run = |arguments: &[&str]| with_cache(&folder, &cache, arguments);
    let search = ["search", "-m", &model, "sing sing", "--json"];
    let without = out(run(&[&search[..], &["--no-index"]].concat()));
    assert!(without.contains(r#""id":"r1""#), "{without}");
    assert!(!cache.path().join("search").exists());
    for _ in 0..2 {
        assert_eq!(out(run(&search)), without);
    }
    let status = ["index", "-m", &model, "--status", "--json"];
    let state = objects(&out(run(&status))).remove(0);
    assert_eq!((&state["files"], &state["passages"]), (&2.into(), &5.into()), "{state}");
    assert!(state["bytes"].as_u64().unwrap() > 500 && state["age_seconds"].is_u64(), "{state}");
    // What names members of records has none.
    out(run(&[&search[..], &["--keep", "tag"]].concat()));
    fs::write(folder.path().join("a.txt"), "gone\n\nsing sing\n").unwrap();
    assert_eq!(out(run(&search)), out(run(&[&search[..], &["--no-index"]].concat())));
    run(&["index", "-m", &model, "--drop"]).success();
    run(&status).code(1);
    run(&["index", "-m", &model, "."]).success();
    run(&["index", "-m", &model, "--status"]).success();
    run(&["index", "-m", &model, "a.txt"]).code(2);
    run(&["index", "-m", &model, "missing"]).code(1);
}

const RECORDS: &str =
    "{\"id\": \"r1\", \"text\": \"they sing\", \"tag\": 1}\n{\"text\": \"mat\"}\n";
