//! English text for benchmarks: the prose of this repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The documentation comments of the core and the repository's Markdown, as paragraphs.
///
/// # Errors
///
/// If the repository cannot be read.
pub fn prose() -> io::Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paragraphs = Vec::new();
    for path in files(&root.join("core/src"))? {
        let source = fs::read_to_string(path)?;
        let comments = source.lines().map(|line| {
            let line = line.trim_start();
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).unwrap_or("")
        });
        add_paragraphs(&mut paragraphs, comments);
    }
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            add_paragraphs(&mut paragraphs, fs::read_to_string(path)?.lines());
        }
    }
    Ok(paragraphs)
}

/// The paragraphs of a text file, or of the repository if there is no `path`.
///
/// # Errors
///
/// If it cannot be read.
pub fn paragraphs(path: Option<&Path>) -> io::Result<Vec<String>> {
    let Some(path) = path else { return prose() };
    let mut paragraphs = Vec::new();
    add_paragraphs(&mut paragraphs, fs::read_to_string(path)?.lines());
    Ok(paragraphs)
}

fn add_paragraphs<'a>(paragraphs: &mut Vec<String>, lines: impl Iterator<Item = &'a str>) {
    let mut paragraph = String::new();
    for line in lines.map(str::trim).chain([""]) {
        if !line.is_empty() {
            paragraph.push_str(line);
            paragraph.push(' ');
        } else if !paragraph.is_empty() {
            paragraphs.push(std::mem::take(&mut paragraph));
        }
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
