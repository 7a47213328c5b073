//! Folders of encoders under `tests/data/models`, opened as they are or with some texts changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::owned::folder::{FolderModel, FolderResult};
use nanoembed_core::owned::{Encoder, FileWeights, ModelFault};
use nanoembed_core::{Error, ErrorKind};

/// The folder of all models.
#[must_use]
pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models")
}

/// The folders that have weights, in the order of their names.
///
/// # Panics
///
/// If there are fewer than there were.
#[must_use]
pub fn complete() -> Vec<PathBuf> {
    let folders =
        fs::read_dir(models()).expect("models").map(|entry| entry.expect("an entry").path());
    let mut complete: Vec<PathBuf> =
        folders.filter(|path| path.join("model.safetensors").exists()).collect();
    complete.sort();
    assert!(complete.len() >= 19, "{}", complete.len());
    complete
}

/// A folder of an encoder, with some of its texts changed.
#[derive(Clone, Debug)]
pub struct EncoderFolder {
    path: PathBuf,
    changed: BTreeMap<&'static str, Option<String>>,
}

impl EncoderFolder {
    /// The folder at `path`.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), changed: BTreeMap::new() }
    }

    /// The folder called `name` among the models.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::new(&models().join(name))
    }

    /// The same folder with another text at a path, or none.
    #[must_use]
    pub fn with(mut self, path: &'static str, text: Option<String>) -> Self {
        self.changed.insert(path, text);
        self
    }

    /// The text at a path; `None` for files that are missing.
    ///
    /// # Errors
    ///
    /// None.
    pub fn text(&self, path: &str) -> Result<Option<Cow<'static, str>>, Error> {
        let text = match self.changed.get(path) {
            Some(text) => text.clone(),
            None => fs::read_to_string(self.path.join(path)).ok(),
        };
        Ok(text.map(Cow::Owned))
    }

    /// The files of weights with their paths.
    ///
    /// # Errors
    ///
    /// As [`FolderModel::read`] and [`FolderModel::weight_files`].
    ///
    /// # Panics
    ///
    /// If a file cannot be read.
    pub fn weights(&self) -> FolderResult<Vec<(String, Vec<u8>)>> {
        let texts = |path: &str| self.text(path);
        let is_there = |path: &str| self.path.join(path).exists();
        let paths = FolderModel::read(&texts)?.weight_files(&texts, &is_there)?;
        let read = |path: String| {
            let bytes = fs::read(self.path.join(&path)).expect("weights");
            (path, bytes)
        };
        Ok(paths.into_iter().map(read).collect())
    }

    /// Opens the model.
    ///
    /// # Errors
    ///
    /// As [`Encoder::open_folder`].
    pub fn open(&self) -> Result<Encoder<FileWeights<Vec<u8>>>, ModelFault> {
        Encoder::open_folder(&|path: &str| self.text(path), self.weights()?)
    }

    /// The error of opening the model: its kind, the file and the setting.
    ///
    /// # Panics
    ///
    /// If it opens.
    #[must_use]
    pub fn fault(&self) -> (ErrorKind, String, String) {
        match self.open().expect_err("a fault") {
            ModelFault::Text(fault) => (fault.error.kind(), fault.file, fault.key),
            fault => (fault.error().kind(), String::new(), String::new()),
        }
    }
}
