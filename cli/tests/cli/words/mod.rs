//! The commands about word vectors.

mod convert;
mod derive;
mod fasttext;
mod foreign;
mod inspect;
mod search;
mod text;
mod vector;

use std::path::{Path, PathBuf};

use crate::skipped::skipped;
use crate::{objects, stdout};

/// A file of the project's test data.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

/// A reference file that is not part of the project; `None`, visibly, where there are none.
fn upstream(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path = folder.join("conformance/finalfusion/upstream").join(name);
    if path.exists() {
        return Some(path.to_str().unwrap().to_owned());
    }
    skipped(name, &format!("no {}", path.display()));
    None
}

/// A folder that goes away with it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn join(&self, name: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// A file with this content.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// `input` converted to a file of this name.
    fn converted(&self, input: &str, name: &str, options: &[&str]) -> String {
        let output = self.join(name);
        stdout(&[&["convert", input, &output], options].concat(), "");
        output
    }
}

/// What `vector --json` says of words, and whether all had one.
fn vectors(file: &str, words: &[&str]) -> Vec<serde_json::Value> {
    let arguments = [&["vector", file, "--json"], words].concat();
    let output = crate::nanoembed(&arguments).assert();
    objects(&String::from_utf8_lossy(&output.get_output().stdout))
}

/// Four words in two columns.
const TEXT: &str = "one 1 2\ntwo -0.5 0.25\nthree 3e-3 1e10\nfour 0 -0.1\n";
