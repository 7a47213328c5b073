//! What reaches a terminal, and what becomes of what cannot be written to one.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use nanoembed_core::text::terminal::acts;
use serde_json::json;

use crate::help::COMMANDS;
use crate::nanoembed;
use crate::tiny_model::TinyModel;

/// What a terminal acts on, in a name.
const NAME: &str = "\x1b]0;t\x07\x1b[2J\nx: ok\r\u{9b}31m\u{202e}\u{2028}";

fn hostile(name: &str) -> String {
    format!("{}/../tests/data/hostile/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether a command says anything that a terminal acts on, but for the ends of its own lines.
fn check(arguments: &[&str]) -> String {
    let output = nanoembed(arguments).write_stdin("").output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    let found: Vec<char> = said.chars().filter(|it| acts(*it) && *it != '\n').collect();
    assert_eq!(found, [], "{arguments:?}: {said:?}");
    let is_spoofed = said.lines().any(|line| line.trim_start().starts_with("x: ok"));
    assert!(!is_spoofed, "{arguments:?}: {said:?}");
    assert_ne!(output.status.code(), None, "{arguments:?}");
    said
}

#[test]
fn no_command_shows_what_a_terminal_acts_on() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let folder = tiny.path().to_str().unwrap().to_owned();
    let (names, words) = (hostile("escape.safetensors"), hostile("escape.fifu"));
    let tensor = format!("t{NAME}");
    let out = |ending: &str| tiny.join(&format!("out{NAME}.{ending}"));
    let missing = tiny.join(NAME);
    let texts = tiny.join(&format!("texts{NAME}.txt"));
    fs::write(&texts, format!("hello {}\n", NAME.replace('\n', " "))).unwrap();
    let copy = tiny.join(&format!("names{NAME}.safetensors"));
    fs::copy(&names, &copy).unwrap();
    let objects = tiny.join("objects.jsonl");
    let object = json!({"text": format!("hello {NAME}"), NAME: 1});
    fs::write(&objects, object.to_string() + "\n").unwrap();
    let llama = format!("{}/../tests/data/llama/tiny.gguf", env!("CARGO_MANIFEST_DIR"));
    let cases: &[&[&str]] = &[
        &["embed", "-m", &model, "-f", &texts, "-o", &out("npy")],
        &["embed", "-m", &missing, "a"],
        &["embed", "-m", &model, "-f", &objects, "--jsonl", "text", "--json"],
        &["search", "-m", &model, "hello", &texts],
        &["search", "-m", &model, "hello", &texts, "-C", "1", "--scores"],
        &["search", "-m", &model, "hello", &texts, "-l"],
        &["search", "-m", &model, &texts, NAME],
        &["search", "-m", &model, "hello", &texts, "--json"],
        &["index", "-m", &model, "--watch", NAME],
        &["index", "-m", &model, "--status", &folder],
        &["mcp", NAME],
        &["install", NAME],
        &["install", "claude", "--print", "--folder", NAME],
        &["models"],
        &["serve", NAME],
        &["rerank", "-m", &model, NAME, NAME],
        &["generate", "-m", &llama, NAME, "--max-tokens", "4"],
        &["tokenize", "-m", &model, "--pieces", NAME],
        &["tokenize", "-m", &model, "--decode", NAME],
        &["inspect", &names, &copy, &words],
        &["inspect", &names, &words, "--json"],
        &["verify", "--strict", &names, &copy, &words],
        &["verify", "--strict", "--json", &names],
        &["convert", &words, &out("txt")],
        &["convert", &folder, &out("weights")],
        &["quantize", &names, &out("gguf"), "-t", "q8_0"],
        &["prune-vocabulary", "-m", &folder, "-o", &out("pruned"), "hello"],
        &["dequantize", &names, &tensor, "-o", &out("npy")],
        &["dequantize", &names, NAME, "-o", &out("npy")],
        &["diff", &names, &copy],
        &["diff", &names, &llama],
        &["histogram", &names, &tensor],
        &["histogram", &names, &tensor, "-o", &out("svg")],
        &["migrate", &names, &out("gguf")],
        &["vector", &words, "a", NAME],
        &["vector", &words, &format!("w{NAME}")],
        &["similar", &words, "a", NAME],
        &["analogy", &words, "a", "b", NAME],
        &["analogy", &words, "a", "b", "b"],
        &["select", &words, &out("fifu"), "--words", &texts],
        &["reconstruct", &words, &out("fifu")],
        &["bucket-to-explicit", &words, &out("fifu")],
        &["metadata", &words, NAME],
        &["compute-accuracy", &words, &texts],
        &["completions", NAME],
        &[NAME],
        &["inspect", &format!("--{NAME}")],
    ];
    for arguments in cases {
        check(arguments);
    }
    for command in COMMANDS {
        assert!(cases.iter().any(|arguments| arguments.first() == Some(&command)), "{command}");
    }
    assert!(check(&["inspect", &names]).contains(r"t\u{1b}]0;pwned\u{7}"));
    assert!(check(&["similar", &words, "a"]).contains(r"w\u{1b}]0;pwned\u{7}"));
    assert!(check(&["inspect", &missing]).contains(r"\u{1b}[2J\nx: ok"));
}

#[test]
fn json_and_text_in_files_are_exact() {
    let (words, folder) = (hostile("escape.fifu"), tempfile::tempdir().unwrap());
    let found = crate::objects(&crate::stdout(&["similar", &words, "a", "--json"], ""));
    let word = found.iter().find_map(|it| it["word"].as_str().filter(|it| it.starts_with('w')));
    let word = word.unwrap();
    assert!(word.contains("\x1b]0;pwned\x07") && word.contains("\u{9b}31m\u{202e}"));
    let text = folder.path().join("vector.txt");
    nanoembed(&["vector", &words, word, "-o", text.to_str().unwrap()]).assert().success();
    assert!(fs::read_to_string(text).unwrap().starts_with(word));
}

/// Runs a script whose `$0` is the program.
fn script(script: &str, arguments: &[&str]) -> Option<i32> {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_nanoembed")]).args(arguments);
    command.stdout(std::process::Stdio::null()).status().unwrap().code()
}

#[test]
fn errors_that_cannot_be_written_change_no_exit_code() {
    let tiny = TinyModel::new();
    let (model, folder) = (tiny.converted("m.weights", &[]), tiny.path().to_str().unwrap());
    let (names, out) = (hostile("escape.safetensors"), tiny.join("new.weights"));
    let long = "hello ".repeat(1000);
    let cases: &[(&[&str], i32)] = &[
        (&["inspect", "no-such-file"], 3),
        (&["inspect", &model, "no-such-file"], 3),
        (&["verify", "--strict", &names], 1),
        (&["frobnicate"], 2),
        (&["embed", "--threads", "0", "a"], 2),
        (&["embed", "-hello"], 2),
        (&["embed", "-m", &model, "a", &long], 0),
        (&["convert", folder, &out], 0),
    ];
    let mut places = vec!["2>&-"];
    places.extend(Path::new("/dev/full").exists().then_some("2>/dev/full"));
    for (arguments, status) in cases {
        for place in &places {
            let found = script(&format!("\"$0\" \"$@\" {place}"), arguments);
            assert_eq!(found, Some(*status), "{arguments:?} {place}");
        }
    }
}
