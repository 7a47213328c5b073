//! An interruption: status 130, and no temporary file left behind; signals that were ignored before
//! stay ignored.

#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tiny_model::TinyModel;

/// The program as `command` starts it, waiting for stdin with its temporary file begun.
fn begun(tiny: &TinyModel, mut command: Command) -> Child {
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while tiny.unfinished().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "no temporary file was begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

#[test]
fn an_interrupted_run_leaves_nothing_after() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("out.jsonl");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"));
    command.args(["embed", "-m", &model, "-o", &out]);
    let mut child = begun(&tiny, command);
    // Kept open: the end of stdin would end the program.
    let stdin = child.stdin.take();
    // Not Ctrl-C's own signal: whoever runs tests in the background may have them ignore that.
    send("-TERM", &child);
    let status = child.wait().unwrap();
    drop(stdin);
    assert_eq!(status.code(), Some(130));
    assert!(tiny.unfinished().is_empty());
    assert!(!std::path::Path::new(&out).exists());
}

/// As under `nohup`.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_signal_stays_ignored() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("out.jsonl");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(assert_cmd::cargo::cargo_bin("nanoembed"));
    command.args(["embed", "-m", &model, "-o", &out]);
    let mut child = begun(&tiny, command);
    send("-HUP", &child);
    // It would end within this time.
    std::thread::sleep(Duration::from_millis(200));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(std::path::Path::new(&out).exists());
}

#[test]
fn a_killed_run_leaves_what_the_next_one_removes() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("out.jsonl");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"));
    command.args(["embed", "-m", &model, "-o", &out]);
    let mut child = begun(&tiny, command);
    let stdin = child.stdin.take();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    assert_eq!(tiny.unfinished().len(), 1);
    tiny.converted("again.weights", &[]);
    assert!(tiny.unfinished().is_empty());
}
