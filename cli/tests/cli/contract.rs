//! What scripts rely on, command by command: options, members of JSON, exit codes, errors.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::byte_pairs;
use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout};

fn members(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The lines of JSON that a command prints.
fn lines(arguments: &[&str], stdin: &str) -> Vec<Value> {
    objects(&stdout(arguments, stdin))
}

/// A model, three words in two columns as a `.fifu` file, and the folder they lie in.
fn files() -> (TinyModel, String, String) {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let text = tiny.join("v.vec");
    std::fs::write(&text, "3 2\none 1 0.5\ntwo 0.25 -1\nthree 0 1\n").unwrap();
    let words = tiny.join("v.fifu");
    stdout(&["convert", "-q", &text, &words], "");
    (tiny, model, words)
}

#[test]
fn embed_and_tokenize() {
    let (_tiny, model, _) = files();
    let stdin = "{\"id\": \"x\", \"text\": \"hello world\"}\n";
    let line = &lines(&["embed", "-m", &model, "-i", "jsonl", "--format", "jsonl"], stdin)[0];
    assert_eq!(members(line), ["index", "id", "tokens", "truncated", "embedding"]);
    assert_eq!(line["tokens"], 4);
    let line = &lines(&["tokenize", "-m", &model, "--format", "jsonl", "hello world"], "")[0];
    assert_eq!(members(line), ["index", "ids", "truncated"]);
    let long = "hello ".repeat(100);
    let line = &lines(&["tokenize", "-m", &model, "--max-tokens", "0", "--json", &long], "")[0];
    assert_eq!(line["ids"].as_array().unwrap().len(), 102);
    assert_eq!(line["truncated"], false);
    for command in ["embed", "tokenize", "vector"] {
        let help = stdout(&[command, "--help"], "");
        assert!(help.contains("-o, --output <FILE>") && help.contains("--format <NAME>"), "{help}");
    }
}

#[test]
fn the_same_words_mean_the_same_in_every_command() {
    let help = stdout(&["--help"], "");
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    // What a description goes on with stands further to the right.
    let begins = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let commands = commands.lines().filter(begins);
    let commands = commands.filter_map(|line| line.split_whitespace().next());
    let mut seen = 0;
    for command in commands.filter(|command| *command != "help") {
        let help = stdout(&[command, "--help"], "");
        for (option, meaning) in [
            ("--output ", "-o, --output <FILE>"),
            ("--format ", "--format <NAME>"),
            ("--file ", "-f, --file <FILE>..."),
            ("--input ", "-i, --input <FORM>"),
            ("--model ", "-m, --model <FILE>"),
            ("--top ", "-k, --top <N>"),
            ("--threads ", "--threads <N>"),
            ("--bits ", "--bits <B>"),
            ("--quiet", "-q, --quiet"),
        ] {
            let is_there = help.lines().any(|line| {
                let line = line.trim_start();
                line.starts_with('-') && line.contains(option)
            });
            assert!(!is_there || help.contains(meaning), "{command}: {option}");
        }
        assert!(help.contains("Examples:") && help.contains("Exit status:"), "{command}");
        assert!(!help.contains("--average-bits") && !help.contains("--out "), "{command}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

/// Options whose name or letter is another thing in some command, and why.
const OTHER_FORM: [(&str, &str); 1] = [
    // As other programs that continue texts have it; elsewhere the option cuts texts.
    ("generate", "max-tokens"),
];

/// Options that the help of some commands describes in words of its own, as they are about another
/// input or result there. In all other commands, the words are the same.
const OWN_WORDS: [(&str, &[&str]); 14] = [
    ("as", &["convert"]),
    ("bits", &["convert", "quantize"]),
    ("block", &["convert", "quantize"]),
    ("config", &["convert"]),
    ("file", &["generate", "search", "index"]),
    ("format", &["dequantize", "metadata"]),
    (
        "json",
        &[
            "generate",
            "index",
            "models",
            "inspect",
            "verify",
            "convert",
            "quantize",
            "prune-vocabulary",
            "diff",
            "compute-accuracy",
        ],
    ),
    ("max-tokens", &["generate", "serve"]),
    ("model", &["generate", "install", "prune-vocabulary"]),
    ("output", &["dequantize", "metadata", "prune-vocabulary"]),
    ("pieces", &["embed", "tokenize"]),
    ("precise", &["generate"]),
    ("seed", &["generate", "quantize"]),
    ("vectors", &["embed", "search"]),
];

/// The same of options of which a whole group is about something else.
const OWN_GROUP: [(&str, &[&str]); 4] = [
    // An instruction to the model, not text before another.
    ("prompt", &["rerank"]),
    ("prompt-name", &["rerank"]),
    // The form of a file of word vectors or of a model, not of weights.
    ("to", &["convert"]),
    // Of files, as in ripgrep; of weights; of floats.
    ("type", &["search", "index", "dequantize"]),
];

#[test]
fn an_option_is_one_thing_in_all_commands() {
    let program = nanoembed_cli::command();
    let (mut forms, mut letters) = (BTreeMap::new(), BTreeMap::new());
    let (mut words, mut commands) = (BTreeMap::new(), 0);
    for command in program.get_subcommands() {
        commands += 1;
        for option in command.get_arguments().filter(|option| !option.is_positional()) {
            let place = command.get_name();
            let name = option.get_long().expect("every option has a long name");
            if OTHER_FORM.contains(&(place, name)) {
                continue;
            }
            let values: Vec<String> = option
                .get_value_names()
                .unwrap_or_default()
                .iter()
                .map(ToString::to_string)
                .collect();
            let form = (option.get_short(), values);
            let (known, at) =
                forms.entry(name.to_owned()).or_insert((form.clone(), place.to_owned()));
            assert_eq!(*known, form, "--{name} in {at} and {place}");
            if let Some(letter) = option.get_short() {
                let (known, at) =
                    letters.entry(letter).or_insert((name.to_owned(), place.to_owned()));
                assert_eq!(known, name, "-{letter} in {at} and {place}");
            }
            let has_own = |(of, places): &&(&str, &[&str])| *of == name && places.contains(&place);
            if OWN_WORDS.iter().chain(&OWN_GROUP).find(has_own).is_none() {
                let help = option.get_help().map(ToString::to_string);
                let (known, at) =
                    words.entry(name.to_owned()).or_insert((help.clone(), place.to_owned()));
                assert_eq!(*known, help, "the help of --{name} in {at} and {place}");
            }
        }
    }
    assert!(commands > 20 && forms.len() > 100, "{commands} {}", forms.len());
    // Exceptions are of options that there are.
    for (name, places) in OWN_WORDS.iter().chain(&OWN_GROUP) {
        for place in *places {
            let command = program.find_subcommand(place).unwrap();
            let has = command.get_arguments().any(|option| option.get_long() == Some(name));
            assert!(has, "{place} --{name}");
        }
    }
}

#[test]
fn earlier_spellings_of_options_still_work() {
    let (tiny, _, words) = files();
    let (few, toml) = (tiny.join("few.fifu"), tiny.join("meta.toml"));
    std::fs::write(&toml, "a = 1\n").unwrap();
    stdout(&["select", &words, &few, "-i"], "one\nfour\n");
    stdout(&["metadata", &words, "--from", &toml, "-o", &few], "");
    assert_eq!(stdout(&["metadata", &few, "a"], ""), "1\n");
    stdout(&["metadata", &words, "--toml", &toml, "-o", &few], "");
    for command in ["select", "metadata"] {
        let help = stdout(&[command, "--help"], "");
        assert!(!help.contains("-i, ") && !help.contains("--from"), "{help}");
    }
}

#[test]
fn results_go_to_files_and_are_counted_alike() {
    let (tiny, model, words) = files();
    let texts = tiny.join("texts.txt");
    std::fs::write(&texts, "the cat\n\nhello world\n").unwrap();
    let file = |name: &str| tiny.join(name);
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let cases: [&[&str]; 3] = [
        &["similar", &words, "one"],
        &["analogy", &words, "one", "two", "three", "--include-query"],
        &["search", "-q", "-m", &model, "cat", &texts, "--meaning"],
    ];
    for (at, case) in cases.iter().enumerate() {
        let run = |options: &[&str]| stdout(&[case, options].concat(), "");
        let (text, jsonl) = (format!("{at}.txt"), format!("{at}.jsonl"));
        assert_eq!(run(&["-o", &file(&text)]) + &run(&["-o", &file(&jsonl)]), "");
        assert_eq!(run(&[]), read(&text), "{case:?}");
        assert_eq!(run(&["--json"]), read(&jsonl), "{case:?}");
        assert_eq!(run(&["--format", "jsonl"]), read(&jsonl), "{case:?}");
        let best: String = read(&jsonl).lines().take(1).map(|line| format!("{line}\n")).collect();
        assert!(!best.is_empty());
        assert_eq!(run(&["--json", "-k", "1"]), best, "{case:?}");
    }
    // A file may be named as in other commands; it is not overwritten.
    let search = ["search", "-q", "-m", &model, "cat", "-f", &texts];
    assert_eq!(stdout(&[&search[..], &["--meaning"]].concat(), ""), read("2.txt"));
    failure(&[&search[..], &["-o", &texts]].concat(), b"", 2);
    for option in ["-l", "--scores", "-C1"] {
        failure(&[&search[..], &[option, "--json"]].concat(), b"", 2);
        failure(&[&search[..], &[option, "-o", &file("x.jsonl")]].concat(), b"", 2);
    }
}

#[test]
fn inspect_and_verify() {
    let (tiny, model, words) = files();
    let folder = tiny.path().to_str().unwrap().to_owned();
    for file in [&model, &words, &folder, &tiny.join("model.safetensors"), &tiny.join("v.vec")] {
        let found = &lines(&["inspect", "--json", file], "")[0];
        for member in ["format", "variant", "file_bytes", "metadata", "tokenizer", "tensors"] {
            assert!(found.get(member).is_some(), "{file}: {member}");
        }
        let tensor = &found["tensors"][0];
        assert_eq!(members(tensor), ["name", "dtype", "shape", "offset", "bytes"], "{file}");
        assert_eq!(stdout(&["verify", "--json", file], ""), "", "{file}");
    }
    let bad = tiny.join("bad.weights");
    let mut bytes = std::fs::read(&model).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(&bad, bytes).unwrap();
    let assert = nanoembed(&["verify", "--json", &bad]).assert().code(1);
    let findings = objects(&String::from_utf8_lossy(&assert.get_output().stdout));
    assert_eq!(members(&findings[0]), ["file", "offset", "code", "name", "message"]);
    // The same before a model is used, if that is wanted.
    stdout(&["embed", "-m", &model, "--verify", "hello"], "");
    let said = failure(&["embed", "-m", &bad, "--verify", "hello"], b"", 1);
    let code = findings[0]["code"].as_u64().unwrap();
    assert!(said.starts_with(&format!("error[{code}]: {bad}: byte ")), "{said}");
    failure(&["embed", "--verify", "hello"], b"", 2);
    // What is wrong with a file as a whole is wrong at no byte of it.
    let other = tiny.join("other");
    std::fs::write(&other, "neither this nor that").unwrap();
    let assert = nanoembed(&["verify", "--json", &other]).assert().code(1);
    let findings = objects(&String::from_utf8_lossy(&assert.get_output().stdout));
    assert!(findings[0]["offset"].is_null() && findings[0]["code"] == 206, "{}", findings[0]);
    let assert = nanoembed(&["verify", &other]).assert().code(1);
    assert!(!String::from_utf8_lossy(&assert.get_output().stdout).contains("byte"));
}

#[test]
fn convert_quantize_dequantize_and_diff() {
    let (tiny, model, words) = files();
    let (half, gguf) = (tiny.join("h.weights"), tiny.join("q.uqff"));
    stdout(&["convert", &model, &half, "--type", "f16"], "");
    let report = lines(&["diff", &model, &half, "--json"], "");
    for member in ["only_a", "only_b", "tensors"] {
        assert!(report[0].get(member).is_some(), "{member}");
    }
    for member in ["name", "max_abs", "nmse", "cosine"] {
        assert!(report[0]["tensors"][0].get(member).is_some(), "{member}");
    }
    let name = report[0]["tensors"][0]["name"].as_str().unwrap();
    let npy = tiny.join("t.npy");
    stdout(&["dequantize", &model, name, "-o", &npy], "");
    assert!(std::fs::read(&npy).unwrap().starts_with(b"\x93NUMPY"));
    let all = tiny.join("all.safetensors");
    stdout(&["dequantize", &model, "-o", &all], "");
    let source = tiny.join("model.safetensors");
    for tensor in lines(&["quantize", &source, &gguf, "--type", "hqq8", "--json"], "") {
        assert!(tensor["bits"].is_number() && tensor["nmse"].is_number(), "{tensor}");
    }
    // An ending that tells no form is refused in every command.
    for arguments in [
        &["convert", &model, &tiny.join("x.zip")][..],
        &["quantize", &source, &tiny.join("x.zip"), "--type", "q8_0"],
        &["convert", &words, &tiny.join("x.zip")],
        &["convert", &tiny.join("v.vec"), &tiny.join("x.zip")],
        &["convert", &tiny.join("v.vec"), &tiny.join("x")],
        &["convert", &tiny.join("v.vec"), &tiny.join("x.gguf")],
        &["migrate", &source, &tiny.join("x.zip")],
        &["dequantize", &model, name, "-o", &tiny.join("x.zip")],
        &["dequantize", &model, "-o", &tiny.join("x.zip")],
        &["histogram", &model, name, "-o", &tiny.join("x.zip")],
        &["embed", "-m", &model, "-o", &tiny.join("x.zip"), "a"],
    ] {
        let said = failure(arguments, b"", 2);
        assert!(said.starts_with("error[601]: ") && said.contains("ending"), "{said}");
    }
    assert!(!Path::new(&tiny.join("x.zip")).exists());
}

#[test]
fn word_vectors() {
    let (tiny, _, words) = files();
    let line = &lines(&["vector", &words, "one", "--json"], "")[0];
    assert_eq!(members(line), ["word", "known", "rows", "norm", "embedding"]);
    let assert = nanoembed(&["vector", &words, "none", "--json"]).assert().code(1);
    let none = &objects(&String::from_utf8_lossy(&assert.get_output().stdout))[0];
    assert!(none["embedding"].is_null() && none["known"] == false);
    let similar = lines(&["similar", &words, "one", "-k", "2", "--json"], "");
    assert_eq!(members(&similar[0]), ["word", "similarity"]);
    assert_eq!(similar.len(), 2);
    let analogy = ["analogy", &words, "one", "two", "three", "-k", "1", "--json"];
    nanoembed(&analogy).assert().success();
    let all = lines(&[&analogy[..], &["--include-query"]].concat(), "");
    assert_eq!(members(&all[0]), ["word", "similarity"]);
    for ending in ["jsonl", "txt", "npy"] {
        let output = tiny.join(&format!("vectors.{ending}"));
        assert_eq!(stdout(&["vector", &words, "one", "-o", &output], ""), "");
        let bytes = std::fs::read(&output).unwrap();
        let start: &[u8] = match ending {
            "jsonl" => b"{\"word\":",
            "txt" => b"one ",
            _ => b"\x93NUMPY",
        };
        assert!(bytes.starts_with(start), "{ending}");
    }
    for arguments in [
        &["vector", &words, "one", "-o", &tiny.join("x.zip")][..],
        &["metadata", &words, "--set", "a=b", "-o", &tiny.join("x.zip")],
    ] {
        assert!(failure(arguments, b"", 2).contains("ending"));
    }
    failure(&["similar", &words, "one", "-k", "0"], b"", 2);
    // The same word in another case is offered.
    let said = failure(&["similar", &words, "One"], b"", 1);
    assert!(
        said.contains("\"One\" has no vector") && said.contains("the file has \"one\""),
        "{said}"
    );
    let said = failure(&["analogy", &words, "one", "TWO", "three"], b"", 1);
    assert!(said.contains("the file has \"two\""), "{said}");
    assert!(!failure(&["similar", &words, "four"], b"", 1).contains("the file has"));
    let said = failure(&["embed", "-m", &words, "hello"], b"", 1);
    assert!(said.contains("has word vectors, not a model"), "{said}");
}

#[test]
fn search_and_generate() {
    let (tiny, model, _) = files();
    let notes = tiny.join("notes.txt");
    std::fs::write(&notes, "hello\nworld\n").unwrap();
    let found = lines(&["search", "-m", &model, "hello", &notes, "-k", "1", "--json"], "");
    assert_eq!(members(&found[0]), ["file", "line", "end_line", "text", "score", "similarity"]);
    let (folder, _) = byte_pairs::folder("smollm", false, serde_json::json!({}));
    let decoder = folder.path().to_str().unwrap().to_owned();
    let generate = ["generate", "-m", &decoder, "they said", "--max-tokens", "3"];
    let said =
        lines(&[&generate[..], &["--temperature", "0", "--seed", "1", "--json"]].concat(), "");
    assert_eq!(members(&said[0]), ["ids", "text"]);
    for (option, value, why) in [
        ("--temperature", "-1", "0 or more"),
        ("--temperature", "-0.5", "0 or more"),
        ("--top-p", "3", "from 0 to 1"),
        ("--top-p", "-0.1", "from 0 to 1"),
        ("--seed", "-1", "a whole number from 0 to"),
        ("--top-k", "-1", "a whole number, 0 or more"),
    ] {
        let said = failure(&[&generate[..], &[option, value]].concat(), b"", 2);
        assert!(said.contains(option) && said.contains(why), "{said}");
    }
}

#[test]
fn prompts_come_from_files_and_stdin_and_end_where_asked() {
    let (folder, _) = byte_pairs::folder("smollm", false, serde_json::json!({}));
    let decoder = folder.path().to_str().unwrap().to_owned();
    let generate = ["generate", "-m", &decoder, "--temperature", "0", "-n", "12"];
    let said = |further: &[&str], input: &str| stdout(&[&generate[..], further].concat(), input);
    let whole = said(&["they said"], "");
    let (prompt, wrong) = (folder.path().join("prompt.txt"), folder.path().join("wrong.txt"));
    std::fs::write(&prompt, "they said\n").unwrap();
    std::fs::write(&wrong, b"they\xffsaid").unwrap();
    assert_eq!(said(&["-f", prompt.to_str().unwrap()], ""), whole);
    let twice = said(&["-f", prompt.to_str().unwrap(), prompt.to_str().unwrap()], "");
    assert_eq!(twice, said(&["they said\nthey said"], ""));
    assert_eq!(said(&["-"], "they said\n"), whole);
    assert_eq!(said(&[], "they said"), whole);
    let text = whole.trim_end_matches('\n');
    let (at, _) = text.char_indices().nth(text.chars().count() / 2).unwrap();
    let stop: String = text[at..].chars().take(2).collect();
    let until = said(&["they said", "--stop", &stop, "--stop", "never"], "");
    assert_eq!(until.trim_end_matches('\n'), &text[..text.find(&stop).unwrap()]);
    let failed =
        |further: &[&str], status| failure(&[&generate[..], further].concat(), b"", status);
    assert!(failed(&["-f", wrong.to_str().unwrap()], 1).contains("byte 4: "));
    assert!(failed(&["-f", "/none"], 3).contains("/none"));
    assert!(failed(&["x", "-f", prompt.to_str().unwrap()], 2).contains("--file"));
    assert!(failed(&["x", "--system", "y"], 2).contains("--chat"));
    // Another seed each time, which is told, gives the same text again.
    let random = ["generate", "-m", &decoder, "they said", "--temperature", "9", "-n", "12"];
    let output = nanoembed(&random).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let (_, seed) = told.trim_end().rsplit_once("; seed ").unwrap();
    assert_eq!(stdout(&[&random[..], &["--seed", seed]].concat(), "").into_bytes(), output.stdout);
}

#[test]
fn errors_have_a_code_a_place_and_an_exit_code() {
    let (tiny, model, words) = files();
    let cut = tiny.join("cut.fifu");
    std::fs::write(&cut, &std::fs::read(&words).unwrap()[..30]).unwrap();
    let said = failure(&["vector", &cut, "one"], b"", 1);
    assert!(said.starts_with(&format!("error[101]: {cut}: byte ")), "{said}");
    for (arguments, status) in [
        (&["embed", "-m", &model, "-f", "/none"][..], 3),
        (&["inspect", "/none"], 3),
        (&["embed", "--none"], 2),
        (&["none"], 2),
        (&["similar", &words, "none"], 1),
        (&["embed", "-m", &words, "hello"], 1),
    ] {
        let said = failure(arguments, b"", status);
        let code = said.strip_prefix("error[").and_then(|said| said.split_once(']'));
        let code: Option<u16> = code.and_then(|(code, _)| code.parse().ok());
        assert!(code.is_some(), "{said}");
    }
    // What is near to what was meant is offered.
    assert!(failure(&["embd"], b"", 2).contains("'embed'"));
    assert!(failure(&["embed", "--fromat", "npy"], b"", 2).contains("'--format'"));
}
