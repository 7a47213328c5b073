//! What a stranger's file may make a command take.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::help::COMMANDS;
use crate::{failure, nanoembed, stdout};

fn path(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(name).to_str().unwrap().to_owned()
}

/// The bytes of files together.
fn bytes(paths: &[&str]) -> u64 {
    paths.iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}

/// What a command says of a limit of so many bytes.
fn limited(arguments: &[&str], most: u64) -> (Option<i32>, String) {
    let most = most.to_string();
    let mut command = nanoembed(arguments);
    let output = command.args(["--max-file-bytes", &most]).write_stdin("").output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_command_refuses_larger_files_and_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (weights, fifu, gguf) = (out("out.weights"), out("out.fifu"), out("out.gguf"));
    let (npy, pruned) = (out("out.npy"), out("pruned"));
    let bert = path("ffi/tests/data/small_bert.weights");
    let llama = path("tests/data/llama/tiny.gguf");
    let other = path("ffi/tests/data/small_llama.gguf");
    let words = path("ffi/tests/data/words.fifu");
    let coded = path("ffi/tests/data/words.pq.fifu");
    let encoder = path("tests/data/models/bert_cased");
    let safetensors = format!("{encoder}/model.safetensors");
    let dense = format!("{encoder}/2_Dense/model.safetensors");
    let reranker = path("tests/data/models/cross_encoder");
    let ranks = format!("{reranker}/model.safetensors");
    let texts = path("ffi/tests/data/texts.txt");
    let cases: &[(&[&str], &[&str])] = &[
        (&["embed", "-m", &bert, "a"], &[&bert]),
        (&["embed", "-m", &encoder, "a"], &[&safetensors, &dense]),
        (&["search", "-m", &bert, "a", &texts], &[&bert]),
        (&["search", "-m", &bert, "a", &texts, "--rerank", &reranker], &[&ranks]),
        (&["index", "--status", "-m", &bert], &[&bert]),
        (&["mcp", "-m", &bert], &[&bert]),
        (&["rerank", "-m", &reranker, "a", "b"], &[&ranks]),
        (&["generate", "-m", &llama, "a"], &[&llama]),
        (&["generate", "-m", &llama, "a", "--memory", "1G"], &[&llama]),
        (&["tokenize", "-m", &bert, "a"], &[&bert]),
        (&["inspect", &bert], &[&bert]),
        (&["inspect", &words, &llama], &[&llama]),
        (&["verify", &bert], &[&bert]),
        (&["convert", &encoder, &weights], &[&safetensors]),
        (&["quantize", &llama, &gguf, "-t", "q8_0"], &[&llama]),
        (&["quantize", &words, &gguf, "-t", "q8_0", "--like", &llama], &[&llama]),
        (&["prune-vocabulary", "-m", &encoder, "-o", &pruned, "a"], &[&safetensors]),
        (&["dequantize", &llama, "token_embd.weight", "-o", &npy], &[&llama]),
        (&["diff", &llama, &other], &[&llama]),
        (&["diff", &other, &llama], &[&llama]),
        (&["histogram", &llama, "token_embd.weight"], &[&llama]),
        (&["migrate", &llama, &gguf], &[&llama]),
        (&["vector", &words, "a"], &[&words]),
        (&["similar", &words, "a"], &[&words]),
        (&["analogy", &words, "a", "b", "c"], &[&words]),
        (&["select", &words, &fifu], &[&words]),
        (&["reconstruct", &coded, &fifu], &[&coded]),
        (&["bucket-to-explicit", &words, &fifu], &[&words]),
        (&["metadata", &words], &[&words]),
        (&["compute-accuracy", &words], &[&words]),
    ];
    for (arguments, files) in cases {
        let most = bytes(files);
        let (code, said) = limited(arguments, most - 1);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.starts_with("error[209]: "), "{arguments:?}: {said}");
        assert!(said.contains("`file_bytes`"), "{arguments:?}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
    for (arguments, files) in cases {
        let larger = bytes(files).max(bytes(&[&llama]));
        let (_, said) = limited(arguments, larger);
        assert!(!said.contains("error[209]"), "{arguments:?}: {said}");
    }
    // Not every build serves, and others read nothing that a user names.
    let others = ["completions", "serve", "install", "models"];
    for command in COMMANDS.iter().filter(|command| !others.contains(command)) {
        let is_tried = cases.iter().any(|(arguments, _)| arguments.first() == Some(command));
        assert!(is_tried, "{command}");
    }
}

#[test]
fn a_text_that_takes_more_memory_is_refused_where_models_run() {
    let bert = path("ffi/tests/data/small_bert.weights");
    let llama = path("tests/data/llama/tiny.gguf");
    let reranker = path("tests/data/models/cross_encoder");
    let texts = path("ffi/tests/data/texts.txt");
    for arguments in [
        &["embed", "-m", &bert, "a"][..],
        &["search", "-m", &bert, "a", &texts],
        &["rerank", "-m", &reranker, "a", "b"],
        &["generate", "-m", &llama, "Once"],
    ] {
        let with = |most| [arguments, &["--max-session-bytes", most]].concat();
        let said = failure(&with("1K"), b"", 1);
        assert!(said.starts_with("error[209]: "), "{said}");
        assert!(said.contains("`session_bytes`"), "{said}");
        stdout(&with("64M"), "");
    }
    // `tokenize` computes nothing that the limit is about, and `--memory` says it all by itself.
    failure(&["tokenize", "-m", &bert, "a", "--max-session-bytes", "1G"], b"", 2);
    let both = ["--memory", "1G", "--max-session-bytes", "1G"];
    failure(&[&["generate", "-m", &llama, "Once"], &both[..]].concat(), b"", 2);
}

#[test]
fn a_limit_of_files_is_no_promise_about_stdin() {
    let said = failure(&["inspect", "-", "--max-file-bytes", "1G"], b"NEMB", 2);
    assert!(said.contains("--max-file-bytes is for files"), "{said}");
    let said = failure(&["inspect", "x", "--max-file-bytes", "much"], b"", 2);
    assert!(said.contains("a size such as 500M or 10G"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_tells_no_length_is_refused_and_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let link = folder.path().join("link.safetensors");
    std::os::unix::fs::symlink("/proc/self/pagemap", &link).unwrap();
    let link = link.to_str().unwrap();
    let bert = path("tests/data/models/bert_cased");
    let copy = folder.path().join("model");
    let copied = std::process::Command::new("cp").arg("-r").arg(&bert).arg(&copy).status();
    assert!(copied.unwrap().success());
    fs::remove_file(copy.join("tokenizer.json")).unwrap();
    std::os::unix::fs::symlink("/proc/self/status", copy.join("tokenizer.json")).unwrap();
    let copy = copy.to_str().unwrap();
    for arguments in [
        &["inspect", "/proc/self/pagemap"][..],
        &["inspect", "/proc/kmsg"],
        &["inspect", link],
        &["verify", link],
        &["convert", link, "out.fifu"],
        &["similar", "/proc/self/status", "a"],
        &["embed", "-m", "/proc/self/status", "a"],
        &["embed", "-m", copy, "a"],
    ] {
        let (code, said) = limited(arguments, 1 << 20);
        // Not everybody may open the messages of the kernel.
        if said.contains("permission denied") {
            continue;
        }
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains("does not tell the length"), "{arguments:?}: {said}");
    }
}
