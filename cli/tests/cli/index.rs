//! `index`: indices in the folders of their texts, and those that are kept up to date.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::search::{out, tree, with_cache};
use crate::{failure, objects};

/// Long after a line should have come.
const LONG: Duration = Duration::from_secs(120);

/// A program that watches a folder, and the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(folder: &TempDir, cache: &TempDir, arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"));
        command.args(["index", "--watch"]).args(arguments);
        command.current_dir(folder.path()).env("NANOEMBED_CACHE", cache.path());
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = lines(child.stderr.take().unwrap());
        Self { child, lines }
    }

    /// Waits for a line that contains this text.
    fn until(&self, text: &str) -> String {
        let mut said = Vec::new();
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => said.push(line),
                Err(error) => panic!("{error}: {text:?} is not in {said:?}"),
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    lines
}

#[test]
fn an_index_in_its_folder_is_the_one_of_all_commands() {
    let (_tiny, model, folder) = tree(&[("a.txt", "the cat\n"), ("b/c.txt", "hello world\n")]);
    let cache = TempDir::new().unwrap();
    let run = |arguments: &[&str]| with_cache(&folder, &cache, arguments);
    run(&["index", "-m", &model, "--in-folder"]).success();
    let own = folder.path().join(".nanoembed");
    assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(
        out(run(&["search", "-m", &model, "hello", "b", "--exact"])),
        "b/c.txt:1: hello world\n"
    );
    let state = objects(&out(run(&["index", "-m", &model, "--status", "--json", "b"]))).remove(0);
    let index = Path::new(state["index"].as_str().unwrap());
    assert_eq!(index.parent().unwrap(), own.canonicalize().unwrap());
    let said = out(run(&["index", "-m", &model, "--status"]));
    assert!(said.contains(".nanoembed"), "{said}");
    let others = fs::read_dir(cache.path().join("search")).unwrap();
    assert_eq!(others.map(|it| it.unwrap().file_name()).collect::<Vec<_>>(), ["key"]);
    run(&["index", "-m", &model, "--drop"]).success();
    assert!(!own.exists());
    fs::write(&own, "in its place").unwrap();
    let assert = run(&["index", "-m", &model, "--in-folder"]).code(3);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(said.contains("is a link or a file") && said.contains("hint"), "{said}");
    for with in ["--status", "--drop"] {
        failure(&["index", with, "--in-folder"], b"", 2);
        failure(&["index", with, "--watch"], b"", 2);
    }
}

#[cfg(unix)]
#[test]
fn a_watched_index_follows_its_files_until_an_interruption() {
    let (_tiny, model, folder) = tree(&[("a.txt", "the cat\n"), ("b/c.txt", "hello world\n")]);
    let cache = TempDir::new().unwrap();
    let mut one = Watching::start(&folder, &cache, &["-m", &model]);
    one.until("2 passages, 2 texts embedded");
    one.until("watching .; Ctrl-C ends");
    let other = Watching::start(&folder, &cache, &["-m", &model, "-q"]);
    fs::create_dir_all(folder.path().join("new")).unwrap();
    fs::write(folder.path().join("new/d.txt"), "sing sing\n").unwrap();
    fs::write(folder.path().join("new/f.txt"), "hello the cat\n").unwrap();
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    let status = ["index", "-m", &model, "--status", "--json"];
    let start = Instant::now();
    // One of both makes the update.
    let files = || objects(&out(with_cache(&folder, &cache, &status)))[0]["files"].clone();
    let names =
        || out(with_cache(&folder, &cache, &["search", "-m", &model, "sing", "-l", "--exact"]));
    while files() != 3 || names() != "new/d.txt\n" {
        assert!(start.elapsed() < LONG, "{}", files());
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(other);
    fs::write(folder.path().join("e.txt"), "the mat\n").unwrap();
    let line = one.until("files read, 0 removed: 4 passages, ");
    assert!(line.ends_with(" 1 texts embedded"), "{line}");
    let id = one.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(one.child.wait().unwrap().code(), Some(130));
    assert_eq!(files(), 4);
}

#[test]
fn a_quiet_watch_says_nothing_and_a_folder_that_is_gone_ends_it() {
    let (_tiny, model, folder) = tree(&[("b/c.txt", "hello world\n")]);
    let cache = TempDir::new().unwrap();
    let mut watching = Watching::start(&folder, &cache, &["-m", &model, "-q", "b"]);
    let status = ["index", "-m", &model, "--status", "b"];
    let start = Instant::now();
    while with_cache(&folder, &cache, &status).get_output().status.code() != Some(0) {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::remove_dir_all(folder.path().join("b")).unwrap();
    assert_eq!(watching.child.wait().unwrap().code(), Some(3));
    let said: Vec<String> = watching.lines.iter().collect();
    assert!(said.len() == 1 && said[0].starts_with("error[5") && said[0].contains('b'), "{said:?}");
}
