//! The files of a folder and their treatment: those with ids are rewritten; other settings,
//! documents and the weights of further modules are copied; the rest is left out and listed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nanoembed_core::owned::folder::{LAYERS_BESIDE, Modules, WEIGHTS};
use nanoembed_core::text::json::Value;
use nanoembed_core::{Error as CoreError, limit};

use super::ids;
use super::numbering::Numbering;
use super::texts::Renumbered;
use super::vocabulary::Vocabulary;
use crate::error::{Error, Result, name_of};
use crate::files::new_file::NewFile;
use crate::files::whole_file;
use crate::open::folder::files::{EncoderFolder, layer_file};

/// The files of a folder, by their paths in it.
pub(super) struct Files {
    folder: PathBuf,
    /// The model's own part of it, empty or with a path's end.
    own: String,
    /// The folders whose files are sorted, in their order: this one, the model's own, those of its
    /// modules.
    folders: Vec<String>,
    renumbered: Vec<(String, Renumbered, String)>,
    copied: Vec<String>,
    left_out: Vec<String>,
}

/// Files that repeat others of the folder, and would contradict the output.
const STALE: [&str; 4] = ["vocab.json", "merges.txt", "model.safetensors.index.json", WEIGHTS];

/// Endings of settings and documents.
const COPIED: [&str; 4] = ["json", "jinja", "md", "txt"];

impl Files {
    pub(super) fn from_folder(source: &EncoderFolder) -> Result<Self> {
        let failed = |error| Error::in_file(source.name(), error);
        let folder = source.texts().path().to_owned();
        let own = limit::copied(source.model().folder()).map_err(failed)?;
        let mut folders = source.texts().read(|texts| Modules::folders(texts))?;
        folders.retain(|module| folder.join(module).is_dir());
        limit::push(&mut folders, String::new()).map_err(failed)?;
        limit::push(&mut folders, limit::copied(&own).map_err(failed)?).map_err(failed)?;
        folders.sort_unstable();
        folders.dedup();
        let (renumbered, copied, left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = Self { folder, own, folders: Vec::new(), renumbered, copied, left_out };
        folders.iter().try_for_each(|folder| files.sort(folder, &folders))?;
        files.folders = folders;
        files.left_out.sort_unstable();
        Ok(files)
    }

    /// Says of each file of a folder, which is one of `folders`, what becomes of it.
    fn sort(&mut self, folder: &str, folders: &[String]) -> Result<()> {
        let refused = |error| Error::in_file(name_of(Path::new(folder)), error);
        let whole = self.folder.join(folder);
        let failed = |error: io::Error| Error::reading(name_of(&whole), &error);
        for entry in whole.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let mut path = limit::joined(&[folder, &name]).map_err(refused)?;
            let is_folder = entry.path().is_dir();
            let leads_to = |known: &String| {
                known.strip_prefix(&*path).is_some_and(|rest| rest.starts_with('/'))
            };
            if name.starts_with('.') || is_folder && folders.iter().any(leads_to) {
                continue;
            }
            if is_folder {
                limit::write(&mut path, "/").map_err(refused)?;
                limit::push(&mut self.left_out, path).map_err(refused)?;
                continue;
            }
            let is_own = folder == self.own;
            let list = match Renumbered::from_name(&name) {
                Some(how) if is_own => {
                    let text = whole_file::read_text(&entry.path());
                    let text =
                        text.map_err(|error| Error::reading(name_of(&entry.path()), &error))?;
                    limit::push(&mut self.renumbered, (path, how, text)).map_err(refused)?;
                    continue;
                }
                // Of a module its own settings; of another tokenizer nothing.
                Some(how) if how != Renumbered::Config => &mut self.left_out,
                _ if is_own && name == WEIGHTS => continue,
                _ if !is_own && !folder.is_empty() && name == WEIGHTS => &mut self.copied,
                _ if LAYERS_BESIDE.iter().any(|layer| name == layer_file(layer)) => {
                    &mut self.copied
                }
                _ if is_copied(&name) => &mut self.copied,
                _ => &mut self.left_out,
            };
            limit::push(list, path).map_err(refused)?;
        }
        Ok(())
    }

    /// The ids that files name.
    pub(super) fn named_ids(&self) -> Result<Vec<u32>, CoreError> {
        let mut ids = Vec::new();
        for config in self.values(Renumbered::Config) {
            limit::extend(&mut ids, ids::in_config(config)?.into_iter().map(|place| place.id))?;
        }
        Ok(ids)
    }

    /// The tokens that files name by their spelling.
    pub(super) fn named_tokens(&self) -> Result<Vec<String>, CoreError> {
        let mut tokens = Vec::new();
        for config in self.values(Renumbered::TokenizerConfig) {
            limit::extend(&mut tokens, ids::tokens_in_config(config)?)?;
        }
        Ok(tokens)
    }

    /// The texts that get this treatment.
    fn values(&self, how: Renumbered) -> impl Iterator<Item = Value<'_>> {
        let texts = self.renumbered.iter().filter(move |(_, its, _)| *its == how);
        texts.filter_map(|(_, _, text)| Value::parse(text, 0).ok())
    }

    /// The same with the tokens' new ids.
    pub(super) fn renumbered(
        mut self,
        vocabulary: &Vocabulary<'_>,
        numbering: &Numbering,
    ) -> Result<Self> {
        for (path, how, text) in &mut self.renumbered {
            let name = name_of(&self.folder.join(&*path));
            *text = how.text((&name, text), vocabulary, numbering)?;
        }
        Ok(self)
    }

    /// The path of the model's own weights.
    pub(super) fn weights(&self) -> String {
        format!("{}{WEIGHTS}", self.own)
    }

    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Writes all but the model's own weights.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        // Modules that have no files are folders all the same.
        self.folders.iter().try_for_each(|inner| create_folder(&folder.join(inner)))?;
        for (path, _, text) in &self.renumbered {
            write(&folder.join(path), &mut text.as_bytes())?;
        }
        for path in &self.copied {
            let from = self.folder.join(path);
            let mut file =
                whole_file::open(&from).map_err(|error| Error::reading(name_of(&from), &error))?;
            write(&folder.join(path), &mut file)?;
        }
        Ok(())
    }
}

/// True if a file of settings or documents has this name.
fn is_copied(name: &str) -> bool {
    let is_known = |ending: &str| COPIED.contains(&ending);
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    let is_licence =
        ["LICENSE", "LICENCE", "NOTICE", "COPYING"].iter().any(|it| name.starts_with(it));
    !STALE.contains(&name) && (is_licence || ending.is_some_and(is_known))
}

fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| Error::writing(path.display(), &error))
}

fn write(path: &Path, content: &mut dyn io::Read) -> Result<()> {
    let mut file = NewFile::create(path, true)?;
    let copied = io::copy(content, &mut file).and_then(|_| file.flush());
    copied.map_err(|error| Error::writing(path.display(), &error))?;
    file.commit()
}
