//! Ctrl-C: status 130, and no temporary file left behind.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tiny_model::TinyModel;

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("out.jsonl");
    // Stdin stays open, so that the program waits with its temporary file begun.
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"))
        .args(["embed", "-m", &model, "-o", &out])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let start = Instant::now();
    while tiny.unfinished().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "no temporary file was begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    drop(stdin);
    assert_eq!(status.code(), Some(130));
    assert!(tiny.unfinished().is_empty());
    assert!(!std::path::Path::new(&out).exists());
}
