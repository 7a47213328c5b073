use std::path::Path;

use serde_json::Value;

use crate::tiny_gguf;
use crate::tiny_model::{HIDDEN, TinyModel};
use crate::{failure, nanoembed, numbers, objects, stdout};

#[test]
fn arguments_lines_files_and_objects_give_the_same() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let file = tiny.join("texts.txt");
    std::fs::write(&file, "\u{feff}hello world\r\nthe cats sing").unwrap();
    let by_arguments =
        stdout(&["embed", "-m", &model, "--format", "jsonl", "hello world", "the cats sing"], "");
    let by_lines =
        stdout(&["embed", "-m", &model, "--format", "jsonl"], "hello world\nthe cats sing\n");
    let by_file = stdout(&["embed", "-m", &model, "--format", "jsonl", "-f", &file], "");
    let by_objects = stdout(
        &["embed", "-m", &model, "--format", "jsonl", "-i", "jsonl"],
        "{\"text\": \"hello world\", \"id\": 7}\n{\"text\": \"the cats sing\"}",
    );
    assert_eq!(by_arguments, by_lines);
    assert_eq!(by_arguments, by_file);
    let without = |lines: &str| {
        let mut lines = objects(lines);
        lines.iter_mut().for_each(|line| {
            line.as_object_mut().unwrap().remove("id");
        });
        lines
    };
    assert_eq!(objects(&by_arguments), without(&by_objects));
    assert_eq!(objects(&by_objects)[0]["id"], 7);
}

#[test]
fn lines_of_json_have_the_documented_shape() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let lines = stdout(
        &["embed", "-m", &model, "--format", "jsonl"],
        "hello\n\nhello hello hello hello hello hello hello hello hello\n",
    );
    let lines = objects(&lines);
    assert_eq!(lines.len(), 3);
    for (index, (line, (tokens, truncated))) in
        lines.iter().zip([(3, false), (2, false), (10, true)]).enumerate()
    {
        let keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["index", "tokens", "truncated", "embedding"]);
        assert_eq!(line["index"], index);
        assert_eq!(line["tokens"], tokens);
        assert_eq!(line["truncated"], truncated);
        let embedding = numbers(&line["embedding"]);
        assert_eq!(embedding.len(), HIDDEN);
        assert!((embedding.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn truncation_is_said_on_stderr_unless_quiet() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let long = "cat ".repeat(30);
    let arguments = ["embed", "-m", &model, &long];
    let loud = nanoembed(&arguments).assert().success();
    assert!(String::from_utf8_lossy(&loud.get_output().stderr).contains("first 10 tokens"));
    let quiet = nanoembed(&arguments).arg("--quiet").assert().success();
    assert!(quiet.get_output().stderr.is_empty());
    failure(&["embed", "-m", &model, "--max-tokens", "17", "x"], b"", 2);
    failure(&["embed", "-m", &model, "--max-tokens", "1", "x"], b"", 2);
    assert_eq!(
        objects(&stdout(
            &["embed", "-m", &model, "--format", "jsonl", "--max-tokens", "16", &long],
            ""
        ))[0]["tokens"],
        16
    );
}

#[test]
fn the_order_is_that_of_the_texts_with_any_number_of_threads() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &["--type", "int8"]);
    let words = ["hello", "world", "the", "cat", "sing", "."];
    let texts: Vec<String> = (0..2000)
        .map(|i: usize| {
            (0..i * 7 % 9)
                .map(|j| words[(i * (j + 3) + j) % words.len()])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let texts = texts.join("\n");
    let run = |threads| {
        stdout(&["embed", "-m", &model, "--format", "jsonl", "--threads", threads], &texts)
    };
    let one = run("1");
    let lines = objects(&one);
    assert_eq!(lines.len(), 2000);
    assert!(lines.iter().zip(0..).all(|(line, index)| line["index"] == index));
    // Batches may be divided differently, which changes no sum: the same bits are wanted.
    assert!(one == run("3"), "three threads give something else");
    let alone =
        stdout(&["embed", "-m", &model, "--format", "jsonl", texts.lines().nth(1005).unwrap()], "");
    let alone = numbers(&objects(&alone)[0]["embedding"]);
    let among = numbers(&lines[1005]["embedding"]);
    assert!(alone.iter().zip(&among).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn an_npy_file_holds_the_same_numbers() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("e.npy");
    let texts = "hello\nworld\nthe cats\n";
    assert_eq!(stdout(&["embed", "-m", &model, "-o", &out], texts), "");
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(
        nanoembed(&["embed", "-m", &model, "--format", "npy"])
            .write_stdin(texts)
            .output()
            .unwrap()
            .stdout,
        bytes
    );
    let array = npyz::NpyFile::new(&bytes[..]).unwrap();
    assert_eq!(array.shape(), [3, HIDDEN as u64]);
    let array: Vec<f32> = array.into_vec().unwrap();
    let lines = objects(&stdout(&["embed", "-m", &model, "--format", "jsonl"], texts));
    let expected: Vec<f32> =
        lines.iter().flat_map(|line| numbers(&line["embedding"])).map(|x| x as f32).collect();
    assert_eq!(array, expected);
    let text = stdout(&["embed", "-m", &model], texts);
    let text: Vec<f32> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    assert_eq!(text, expected);
}

#[test]
fn no_texts_give_an_empty_array() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    assert_eq!(stdout(&["embed", "-m", &model, "--format", "jsonl"], ""), "");
    let npy =
        nanoembed(&["embed", "-m", &model, "--format", "npy"]).write_stdin("").output().unwrap();
    assert_eq!(npyz::NpyFile::new(&npy.stdout[..]).unwrap().shape(), [0, HIDDEN as u64]);
}

#[test]
fn bad_input_names_the_line_and_leaves_no_file() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("out.jsonl");
    let arguments = ["embed", "-m", &model, "-o", &out];
    let error = failure(&arguments, b"fine\nnot \xff fine\n", 1);
    assert!(error.contains("error[104]: stdin: line 2: byte 9: "), "{error}");
    assert!(!Path::new(&out).exists() && tiny.unfinished().is_empty());
    nanoembed(&arguments).arg("--lossy").write_stdin(&b"not \xff fine"[..]).assert().success();
    assert!(Path::new(&out).exists());
    for (wrong, said) in [
        ("{\"txt\": 1}", "no member `text`"),
        ("[\"a\"]", "not an object"),
        ("\"a\"", "not an object"),
        ("{", "not well-formed JSON"),
    ] {
        let lines = format!("{{\"text\": \"a\"}}\n{wrong}\n");
        let error = failure(&["embed", "-m", &model, "-i", "jsonl"], lines.as_bytes(), 1);
        assert!(error.contains("stdin: line 2: byte ") && error.contains(said), "{error}");
    }
}

#[test]
fn what_came_before_bad_input_is_written() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let output = nanoembed(&["embed", "-m", &model, "--format", "jsonl"])
        .write_stdin(&b"hello\n\xff\n"[..])
        .assert()
        .code(1);
    assert_eq!(objects(&String::from_utf8_lossy(&output.get_output().stdout)).len(), 1);
}

#[test]
fn missing_and_foreign_files_have_their_status() {
    let tiny = TinyModel::new();
    let error = failure(&["embed", "-m", &tiny.join("none.weights"), "x"], b"", 3);
    assert!(error.starts_with("error[501]: "), "{error}");
    let error = failure(&["embed", "-m", &tiny.join("config.json"), "x"], b"", 1);
    assert!(error.starts_with("error[206]: ") && error.contains("this is JSON"), "{error}");
    assert!(error.contains("hint: ") && error.contains("folder"), "{error}");
    let model = tiny.converted("m.weights", &[]);
    failure(&["embed", "-m", &model, "-f", &tiny.join("none.txt")], b"", 3);
    failure(&["embed", "-m", &model, "-o", &tiny.join("none/out.npy"), "x"], b"", 3);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    use std::process::{Command, Stdio};
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let file = tiny.join("many.txt");
    std::fs::write(&file, "hello world\n".repeat(20_000)).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"))
        .args(["embed", "-m", &model, "-f", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[cfg(feature = "default-model")]
#[test]
fn the_built_in_model_knows_what_texts_mean() {
    let lines = stdout(
        &[
            "embed",
            "--format",
            "jsonl",
            "How do I reset my password?",
            "I forgot my login credentials",
            "The cat sleeps on the sofa",
        ],
        "",
    );
    let vectors: Vec<Vec<f64>> =
        objects(&lines).iter().map(|line: &Value| numbers(&line["embedding"])).collect();
    let cosine = |a: usize, b: usize| -> f64 {
        vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum()
    };
    assert_eq!(vectors[0].len(), 384);
    assert!(cosine(0, 1) > 0.4 && cosine(0, 2) < 0.2, "{} {}", cosine(0, 1), cosine(0, 2));
}

#[test]
fn folders_and_gguf_files_embed_as_the_converted_file_does() {
    let tiny = TinyModel::new();
    let weights = tiny.converted("m.weights", &[]);
    let gguf = tiny.join("m.gguf");
    std::fs::write(&gguf, tiny_gguf::file()).unwrap();
    let folder = tiny.path().to_str().unwrap().to_owned();
    let texts = "hello world\nthe cats singing.\nunknown [MASK] É\n\n";
    let embed = |model: &str| stdout(&["embed", "-m", model, "--format", "jsonl"], texts);
    let expected = embed(&weights);
    assert_eq!(objects(&expected).len(), 4);
    for model in [&folder, &tiny.join("model.safetensors"), &gguf] {
        assert_eq!(embed(model), expected, "{model}");
    }
    let refused = failure(&["embed", "-m", &gguf, "--pooling", "last", "hello"], b"", 2);
    assert!(refused.contains("--pooling is for decoders"), "{refused}");
}
