//! The files of a folder and their treatment: those with ids are rewritten; other settings,
//! documents and the weights of further modules are copied; the rest is left out and listed.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nanoembed_core::owned::folder::{LAYERS_BESIDE, Modules, WEIGHTS};
use nanoembed_core::text::json::Value;

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
    /// The folders whose files are sorted: this one, the model's own, those of its modules.
    folders: BTreeSet<String>,
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
        let folder = source.texts().path().to_owned();
        let own = source.model().folder().to_owned();
        let modules = source.texts().read(|texts| Modules::folders(texts))?;
        let mut folders: BTreeSet<String> =
            modules.into_iter().filter(|module| folder.join(module).is_dir()).collect();
        folders.extend([String::new(), own.clone()]);
        let (renumbered, copied, left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = Self { folder, own, folders, renumbered, copied, left_out };
        for folder in files.folders.clone() {
            files.sort(&folder)?;
        }
        files.left_out.sort_unstable();
        Ok(files)
    }

    /// Says of each file of a folder what becomes of it.
    fn sort(&mut self, folder: &str) -> Result<()> {
        let whole = self.folder.join(folder);
        let failed = |error: io::Error| Error::reading(name_of(&whole), &error);
        for entry in whole.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}{name}");
            let is_folder = entry.path().is_dir();
            let leads_to = |known: &String| known.starts_with(&format!("{path}/"));
            if name.starts_with('.') || is_folder && self.folders.iter().any(leads_to) {
                continue;
            }
            if is_folder {
                self.left_out.push(format!("{path}/"));
                continue;
            }
            let is_own = folder == self.own;
            match Renumbered::from_name(&name) {
                Some(how) if is_own => {
                    let text = whole_file::read_text(&entry.path());
                    let text =
                        text.map_err(|error| Error::reading(name_of(&entry.path()), &error))?;
                    self.renumbered.push((path, how, text));
                }
                // Of a module its own settings; of another tokenizer nothing.
                Some(how) if how != Renumbered::Config => self.left_out.push(path),
                _ if is_own && name == WEIGHTS => {}
                _ if !is_own && !folder.is_empty() && name == WEIGHTS => self.copied.push(path),
                _ if LAYERS_BESIDE.iter().any(|layer| name == layer_file(layer)) => {
                    self.copied.push(path);
                }
                _ if is_copied(&name) => self.copied.push(path),
                _ => self.left_out.push(path),
            }
        }
        Ok(())
    }

    /// The ids that files name.
    pub(super) fn named_ids(&self) -> Vec<u32> {
        let configs = self.renumbered.iter().filter(|(_, how, _)| *how == Renumbered::Config);
        let values = configs.filter_map(|(_, _, text)| Value::parse(text, 0).ok());
        values.flat_map(ids::in_config).map(|place| place.id).collect()
    }

    /// The tokens that files name by their spelling.
    pub(super) fn named_tokens(&self) -> Vec<String> {
        let texts = self.renumbered.iter().map(|(_, how, text)| (*how, text));
        let texts = texts.filter(|(how, _)| *how == Renumbered::TokenizerConfig);
        let values = texts.filter_map(|(_, text)| Value::parse(text, 0).ok());
        values.flat_map(ids::tokens_in_config).collect()
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
