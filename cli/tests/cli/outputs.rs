//! Where results go: files that are replaced as they were found, links, pipes.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Command;

use crate::tiny_model::{HIDDEN, TinyModel};
use crate::{failure, nanoembed};

/// A model, and a path for what is made of a text.
fn model_and_output() -> (TinyModel, String, String) {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let output = tiny.join("out.jsonl");
    (tiny, model, output)
}

fn embed_into(model: &str, output: &str) {
    nanoembed(&["embed", "-m", model, "-o", output, "hello"]).assert().success();
}

fn is_result(written: &str) -> bool {
    written.starts_with('{') && written.ends_with("}\n")
}

#[test]
fn a_pipe_gets_the_result_and_stays_a_pipe() {
    let (_tiny, model, output) = model_and_output();
    assert!(Command::new("mkfifo").arg(&output).status().unwrap().success());
    let pipe = output.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    embed_into(&model, &output);
    assert!(fs::symlink_metadata(&output).unwrap().file_type().is_fifo());
    assert!(is_result(&reader.join().unwrap()));
}

/// As `/dev/stdout` and `>(…)` are; in a folder where nobody could replace it.
#[cfg(target_os = "linux")]
#[test]
fn an_open_pipe_by_its_number_is_written_to() {
    let (_tiny, model, _) = model_and_output();
    let run = nanoembed(&["embed", "-m", &model, "-o", "/proc/self/fd/2", "hello"]).output();
    let written = String::from_utf8(run.unwrap().stderr).unwrap();
    let numbers: Result<Vec<f32>, _> = written.split_whitespace().map(str::parse).collect();
    assert_eq!(numbers.unwrap().len(), HIDDEN);
}

#[test]
fn links_stay_links_whether_their_target_is_there_or_not() {
    let (tiny, model, output) = model_and_output();
    symlink("second", &output).unwrap();
    symlink("third", tiny.join("second")).unwrap();
    for _ in 0..2 {
        embed_into(&model, &output);
        assert!(fs::symlink_metadata(&output).unwrap().is_symlink());
        assert!(fs::symlink_metadata(tiny.join("second")).unwrap().is_symlink());
        assert!(is_result(&fs::read_to_string(tiny.join("third")).unwrap()));
        fs::write(tiny.join("third"), "").unwrap();
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let (_tiny, model, output) = model_and_output();
    let mode = |output: &str| fs::metadata(output).unwrap().permissions().mode() & 0o777;
    fs::write(&output, "").unwrap();
    fs::set_permissions(&output, Permissions::from_mode(0o600)).unwrap();
    embed_into(&model, &output);
    assert_eq!(mode(&output), 0o600);
    fs::set_permissions(&output, Permissions::from_mode(0o444)).unwrap();
    let said = failure(&["embed", "-m", &model, "-o", &output, "world"], b"", 3);
    assert!(said.contains("permission denied"), "{said}");
    assert!(is_result(&fs::read_to_string(&output).unwrap()));
}

#[test]
fn an_ending_that_no_form_has_is_refused_and_never_replaced_by_text() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    for name in ["x.csv", "x.safetensors", "x.json", "x.npy.gz", "x"] {
        let output = tiny.join(name);
        for command in ["embed", "tokenize"] {
            let said = failure(&[command, "-m", &model, "-o", &output, "hello"], b"", 2);
            assert!(said.contains("ending") && said.contains("--format"), "{said}");
        }
        assert!(!std::path::Path::new(&output).exists(), "{name}");
    }
    // Who says a form gets it under any name that tells no other.
    let output = tiny.join("named-at-will");
    nanoembed(&["embed", "-m", &model, "-o", &output, "--format", "npy", "a"]).assert().success();
    assert!(fs::read(&output).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn an_ending_that_tells_another_form_than_asked_for_is_refused() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let words = concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/tests/data/words.fifu");
    let embed = ["text", "jsonl", "npy", "fvecs"];
    for (arguments, forms) in [
        (&["embed", "-m", &model, "hello"][..], &embed[..]),
        (&["tokenize", "-m", &model, "hello"], &["text", "jsonl"]),
        (&["vector", words, "one"], &["text", "jsonl", "npy"]),
        (&["histogram", &model, "embeddings.word_embeddings.weight"], &["text", "jsonl", "svg"]),
        (&["dequantize", &model], &["safetensors"]),
    ] {
        for form in forms {
            for ending in ["txt", "jsonl", "npy", "NPY", "fvecs", "parquet", "svg", "safetensors"] {
                let is_kept = match ending {
                    "txt" => *form == "text",
                    ending => form.eq_ignore_ascii_case(ending),
                };
                let output = tiny.join(&format!("{}-{form}.{ending}", arguments[0]));
                let all = [arguments, &["--format", form, "-o", &output]].concat();
                if is_kept {
                    nanoembed(&all).assert().success();
                } else {
                    let said = failure(&all, b"", 2);
                    assert!(said.contains("tells another form"), "{all:?}: {said}");
                }
                assert_eq!(std::path::Path::new(&output).exists(), is_kept, "{all:?}");
            }
        }
    }
    for (arguments, to) in [
        (&["convert", &model][..], &["weights", "amb"][..]),
        (&["convert", words], &["finalfusion", "word2vec", "text", "textdims"]),
        (&["migrate", &model], &["safetensors"]),
    ] {
        for to in to {
            let output = tiny.join("out.npy");
            let said = failure(&[arguments, &[&output, "--to", to]].concat(), b"", 2);
            assert!(said.contains("tells another form"), "{arguments:?} {to}: {said}");
            assert!(!std::path::Path::new(&output).exists());
        }
    }
}

#[test]
fn the_ending_tells_the_form_in_every_command() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    for command in ["embed", "tokenize"] {
        for (ending, start) in [("txt", ""), ("jsonl", "{"), ("ndjson", "{"), ("JSONL", "{")] {
            let output = tiny.join(&format!("{command}.{ending}"));
            nanoembed(&[command, "-m", &model, "-o", &output, "hello"]).assert().success();
            let written = fs::read_to_string(&output).unwrap();
            assert!(written.ends_with('\n') && written.starts_with(start), "{written}");
            assert_eq!(written.starts_with('{'), !start.is_empty(), "{written}");
        }
    }
}

fn run_in_shell(script: &str, model: &str) -> (Option<i32>, String) {
    let program = assert_cmd::cargo::cargo_bin("nanoembed");
    let run =
        Command::new("sh").args(["-c", script]).env("P", program).env("M", model).output().unwrap();
    (run.status.code(), String::from_utf8(run.stderr).unwrap())
}

/// Rust itself would write to nowhere and call that done.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_stdout_that_is_closed_is_a_failure() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    for command in [
        "embed -m \"$M\" hello",
        "embed -m \"$M\" --format npy hello",
        "embed -m \"$M\" -o - hello",
        "tokenize -m \"$M\" hello",
        "inspect \"$M\"",
        "verify \"$M\"",
        "completions bash",
        "embed --help",
        "convert \"$M\" -",
    ] {
        let (code, said) = run_in_shell(&format!("\"$P\" {command} >&-"), &model);
        assert_eq!(code, Some(3), "{command}: {said}");
        assert!(said.contains("stdout") && said.contains("closed"), "{command}: {said}");
    }
    let (code, _) = run_in_shell("\"$P\" embed -m \"$M\" hello >/dev/null", &model);
    assert_eq!(code, Some(0));
    let (code, said) = run_in_shell("\"$P\" embed -m \"$M\" <&-", &model);
    assert_eq!(code, Some(3), "{said}");
    let output = tiny.join("out.txt");
    let script = format!("\"$P\" embed -m \"$M\" -o {output} hello >&-");
    assert_eq!(run_in_shell(&script, &model).0, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    for command in [
        "embed -m \"$M\" hello",
        "embed -m \"$M\" --format npy hello",
        "tokenize -m \"$M\" hello",
        "inspect \"$M\"",
        "completions bash",
        "--help",
    ] {
        let (code, said) = run_in_shell(&format!("\"$P\" {command} >/dev/full"), &model);
        assert_eq!(code, Some(3), "{command}: {said}");
        assert!(said.contains("no space left"), "{command}: {said}");
    }
}

#[test]
fn a_circle_of_links_is_no_place_to_write_to() {
    let (tiny, model, _) = model_and_output();
    let (a, b) = (tiny.join("a"), tiny.join("b"));
    symlink(&b, &a).unwrap();
    symlink(&a, &b).unwrap();
    for arguments in [
        &["embed", "-m", &model, "-o", &a, "--format", "text", "hello"][..],
        &["convert", &model, &a, "--to", "weights"],
    ] {
        assert!(failure(arguments, b"", 3).contains("in a circle"));
        assert!(fs::symlink_metadata(&a).unwrap().is_symlink());
    }
    assert!(tiny.unfinished().is_empty());
}

/// The number of a process that has ended.
fn ended_process() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn what_killed_runs_left_is_removed_by_the_next() {
    let (tiny, model, output) = model_and_output();
    let part = |process: u32, name: &str| {
        let path = tiny.join(&format!(".nanoembed-{process}-{name}.part"));
        fs::write(&path, "unfinished").unwrap();
        path
    };
    let ended = ended_process();
    let (left, own) = (part(ended, "a"), part(std::process::id(), "b"));
    // A process in another container may have the number of one that has ended here, but it holds a
    // lock.
    let locked = part(ended, "c");
    let lock = fs::File::open(&locked).unwrap();
    lock.try_lock().unwrap();
    let foreign = tiny.join(".nanoembed-notes.part");
    fs::write(&foreign, "").unwrap();
    embed_into(&model, &output);
    assert!(!fs::exists(&left).unwrap());
    for kept in [&own, &locked, &foreign, &output] {
        assert!(fs::exists(kept).unwrap(), "{kept}");
    }
    drop(lock);
    embed_into(&model, &output);
    assert!(!fs::exists(&locked).unwrap());
}

#[test]
fn what_is_read_is_not_replaced_by_what_is_made_of_it() {
    let (tiny, model, _) = model_and_output();
    let (texts, link, words) =
        (tiny.join("texts.jsonl"), tiny.join("link.txt"), tiny.join("w.fifu"));
    fs::write(&texts, "hello\nworld\n").unwrap();
    symlink(&texts, &link).unwrap();
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/tests/data/words.fifu"), &words).unwrap();
    // Their endings would tell another form than `--format`.
    let (bare_model, bare_words) = (tiny.join("model"), tiny.join("words"));
    fs::copy(&model, &bare_model).unwrap();
    fs::copy(&words, &bare_words).unwrap();
    let files = [&texts, &model, &words, &bare_model, &bare_words];
    let before = files.map(|file| fs::read(file).unwrap());
    for arguments in [
        &["embed", "-m", &model, "-f", &texts, "-o", &texts][..],
        &["embed", "-m", &model, "-f", &texts, "-o", &link],
        &["embed", "-m", &model, "-f", &link, "-o", &texts],
        &["embed", "-m", &bare_model, "-o", &bare_model, "--format", "jsonl", "hello"],
        &["tokenize", "-m", &model, "-f", &texts, "-o", &texts],
        &["select", &words, &words, &texts, "--ignore-unknown"],
        &["select", &words, &texts, &texts, "--ignore-unknown"],
        &["vector", &bare_words, "-o", &bare_words, "--format", "text", "one"],
    ] {
        let said = failure(arguments, b"", 2);
        assert!(said.contains("is read, and would be overwritten"), "{arguments:?}: {said}");
    }
    assert_eq!(files.map(|file| fs::read(file).unwrap()), before);
    // Devices lose nothing.
    let arguments = ["embed", "-m", &model, "-f", "/dev/null", "-o", "/dev/null"];
    nanoembed(&arguments).assert().success();
    // Metadata may be changed where they lie, as its help says.
    nanoembed(&["metadata", &words, "--set", "source=here", "-o", &words]).assert().success();
}
