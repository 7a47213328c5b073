//! The paths of test files.

use std::path::{Path, PathBuf};

use crate::skipped::skipped;

/// The path of the model that is built into the program: all-MiniLM-L6-v2 in 8 bits.
pub const DEFAULT_MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../models/all-MiniLM-L6-v2.int8.weights");

/// A path in the source tree, or next to the program: fuzz targets run on other machines than the
/// one that built them.
fn place(path: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.with_file_name("data");
    if !source.is_dir() && beside.is_dir() { beside.join(path) } else { source.join(path) }
}

/// A file under `tests/data`.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn read(path: &str) -> Vec<u8> {
    let path = place(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The little-endian f32 values of a file under `tests/data`.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn read_f32(path: &str) -> Vec<f32> {
    read(path).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The files under a folder of `tests/data`, sorted by name, with one of these endings.
///
/// # Panics
///
/// If the folder cannot be read.
#[must_use]
pub fn files(folder: &str, endings: &[&str]) -> Vec<(String, Vec<u8>)> {
    let folder = place(folder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|e| endings.iter().any(|known| e == *known)))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a readable file"))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no test files in {}", folder.display());
    files
}

/// The names of the folders in a folder of `tests/data`, sorted.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn folders(folder: &str) -> Vec<String> {
    let folder = place(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("one"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// All files in a folder of `tests/data` and the folders in it, by their paths within it.
///
/// # Panics
///
/// If one cannot be read.
#[must_use]
pub fn tree(folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(place(folder)).expect("a folder") {
        let path = entry.expect("an entry of the folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = tree(&format!("{folder}/{name}")).into_iter();
            files.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.push((name, std::fs::read(&path).expect("a readable file")));
        }
    }
    files
}

/// A path in the conformance folder next to the project, or a visible note that `test` is skipped
/// without it.
#[must_use]
pub fn conformance(path: &str, test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    present(root.join(path), test)
}

/// A file of the published all-MiniLM-L6-v2, in the folder that `NANOEMBED_MODEL_DIR` names, or a
/// visible note that `test` is skipped without it.
#[must_use]
pub fn published_model(file: &str, test: &str) -> Option<PathBuf> {
    present(environment("NANOEMBED_MODEL_DIR", test)?.join(file), test)
}

/// The path that an environment variable names, or a visible note that `test` is skipped without
/// it.
#[must_use]
pub fn environment(variable: &str, test: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        skipped(test, &format!("no {variable}"));
    }
    path
}

fn present(path: PathBuf, test: &str) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    skipped(test, &format!("no {}", path.display()));
    None
}
