//! Models in the cache of the Hugging Face hub, which are known by their names.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::tiny_model::TinyModel;
use crate::{nanoembed, objects};

const NAME: &str = "org/tiny-model";
const COMMIT: &str = "0123456789abcdef";

/// A cache with one model, whose files are links as there.
struct Cache(TempDir);

impl Cache {
    fn new(files: &Path) -> Self {
        let cache = Self(TempDir::new().unwrap());
        let model = cache.0.path().join("models--org--tiny-model");
        for folder in ["refs", "blobs"] {
            fs::create_dir_all(model.join(folder)).unwrap();
        }
        fs::write(model.join("refs/main"), COMMIT).unwrap();
        let snapshot = model.join("snapshots").join(COMMIT);
        let mut blobs = 0;
        link(files, &snapshot, &model.join("blobs"), &mut blobs);
        cache
    }

    fn run(&self, arguments: &[&str], status: i32) -> String {
        let mut command = nanoembed(arguments);
        let assert = command.env("HF_HUB_CACHE", self.0.path()).assert().code(status);
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    }
}

/// Copies files to blobs, and links to them from a snapshot.
fn link(files: &Path, snapshot: &Path, blobs: &Path, count: &mut u32) {
    fs::create_dir_all(snapshot).unwrap();
    for entry in fs::read_dir(files).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if entry.path().is_dir() {
            link(&entry.path(), &snapshot.join(name), blobs, count);
            continue;
        }
        *count += 1;
        let blob = blobs.join(format!("{count:040x}"));
        fs::copy(entry.path(), &blob).unwrap();
        symlink(&blob, snapshot.join(name)).unwrap();
    }
}

#[test]
fn they_are_used_as_folders_are() {
    let tiny = TinyModel::new();
    let folder = tiny.folder.path().to_str().unwrap();
    let cache = Cache::new(tiny.folder.path());
    let vectors = cache.run(&["embed", "-m", folder, "the cat"], 0);
    assert_eq!(cache.run(&["embed", "-m", NAME, "the cat"], 0), vectors);
    cache.run(&["verify", NAME], 0);
    let out = TempDir::new().unwrap();
    let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    cache.run(&["convert", folder, &path("here.weights"), "--name", "tiny-model"], 0);
    cache.run(&["convert", NAME, &path("there.weights")], 0);
    let [here, there] = ["here.weights", "there.weights"].map(|name| fs::read(path(name)).unwrap());
    assert!(here == there, "the name is the hub's");
    let printed = cache.run(&["install", "claude", "--print", "-m", NAME], 0);
    assert!(printed.contains(&format!("\"{NAME}\"")), "{printed}");
    // Other names are not looked for outside the cache.
    for name in ["org/other", "../org/tiny-model", "org/tiny-model/x", "org/..", "models--org--x"] {
        cache.run(&["embed", "-m", name, "x"], 3);
    }
}

#[test]
fn they_are_listed_with_what_they_do() {
    let tiny = TinyModel::new();
    let cache = Cache::new(tiny.folder.path());
    let broken = cache.0.path().join("models--org--broken");
    fs::create_dir_all(broken.join("refs")).unwrap();
    fs::create_dir_all(broken.join("snapshots/ab")).unwrap();
    fs::write(broken.join("refs/main"), "ab").unwrap();
    let outside = cache.0.path().join("models--org--outside");
    fs::create_dir_all(outside.join("refs")).unwrap();
    fs::write(outside.join("refs/main"), "../../../models--org--broken").unwrap();
    let listed = objects(&cache.run(&["models", "--json"], 0));
    let cached: Vec<_> = listed.iter().filter(|model| !model["path"].is_null()).collect();
    let [broken, whole] = cached[..] else { panic!("{listed:?}") };
    assert_eq!(whole["name"], NAME);
    assert_eq!(whole["kind"], "encoder");
    assert_eq!(whole["dimensions"], 8);
    assert!(whole["error"].is_null());
    assert_eq!(broken["name"], "org/broken");
    assert!(broken["error"].is_string() && broken["kind"].is_null());
    let text = cache.run(&["models"], 0);
    assert!(text.contains("embeds in 8 dimensions"), "{text}");
    assert!(text.contains("cannot be used: "), "{text}");
}
