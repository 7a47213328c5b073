//! A digest of a model's files, which tells models apart without reading all of their weights: see
//! core's [`ContentDigest`]. In a folder and the folders in it, all of `.json`, `.txt` and `.model` files
//! counts, as they have settings and tokenizers.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::content_digest::{ContentDigest, range_in};

use super::folder::files::EncoderFolder;
use super::source::{Content, Source};
use crate::checkpoint::model_files::ModelFiles;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;
use crate::stored::FileSet;

/// The endings of files with settings and tokenizers.
const SETTINGS: [&str; 3] = ["json", "txt", "model"];

impl Source {
    /// The digest of the files.
    pub(crate) fn content_digest(&self) -> Result<u128> {
        let mut digests = Digests::default();
        match self.content() {
            Content::Whole(bytes) => {
                return ContentDigest::of_file(bytes).map_err(|error| self.failure(error));
            }
            Content::Bundle(bundle) => {
                digests.add_settings(bundle.folder())?;
                digests.add_files(bundle.files())?;
            }
            Content::Folder(folder) => digests.add_folder(folder)?,
        }
        Ok(digests.0.finish())
    }
}

/// Digests of parts, one after the other.
#[derive(Default)]
struct Digests(ContentDigest);

impl Digests {
    fn add(&mut self, part: &[u8], name: &Path) -> Result<()> {
        self.0.add(part).map_err(|error| refused(name, error))
    }

    fn add_folder(&mut self, folder: &EncoderFolder) -> Result<()> {
        let texts = folder.texts();
        for of in std::iter::once(texts.path()).chain(texts.base()) {
            self.add_settings(of)?;
        }
        folder.all_files().try_for_each(|files| self.add_files(files))
    }

    fn add_files(&mut self, files: &ModelFiles) -> Result<()> {
        files.sets().try_for_each(|set| self.add_set(set))
    }

    fn add_set(&mut self, set: &FileSet) -> Result<()> {
        let mut tensors: Vec<Vec<Range<usize>>> = vec![Vec::new(); set.iter().len()];
        for stored in set.contents()?.tensors {
            for array in stored.values.arrays() {
                let within = |(at, (_, file)): (usize, (&Path, &[u8]))| {
                    range_in(file, array).map(|range| (at, range))
                };
                if let Some((at, range)) = set.iter().enumerate().find_map(within)
                    && let Some(own) = tensors.get_mut(at)
                {
                    own.push(range);
                }
            }
        }
        for ((path, file), mut tensors) in set.iter().zip(tensors) {
            let added = self.0.add_file(file, &mut tensors);
            added.map_err(|error| refused(path, error))?;
        }
        Ok(())
    }

    /// The files with settings in a folder and in the folders in it, in the order of their paths.
    fn add_settings(&mut self, folder: &Path) -> Result<()> {
        let mut paths = Vec::new();
        for entry in entries(folder)? {
            match entry.is_dir() {
                true => paths.extend(entries(&entry)?.filter(|path| has_settings(path))),
                false if has_settings(&entry) => paths.push(entry),
                false => {}
            }
        }
        paths.sort_unstable();
        for path in paths {
            let name = path.strip_prefix(folder).unwrap_or(&path);
            name.iter().try_for_each(|part| self.add(part.as_encoded_bytes(), &path))?;
            // What cannot be read is no part of the model, which was opened without it.
            let bytes = whole_file::read(&path).unwrap_or_default();
            self.add(&bytes, &path)?;
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<impl Iterator<Item = PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.map_err(|error| Error::reading(name_of(folder), &error))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())))
}

fn has_settings(path: &Path) -> bool {
    path.extension().is_some_and(|own| SETTINGS.iter().any(|ending| own == *ending))
}

fn refused(path: &Path, error: CoreError) -> Error {
    Error::in_file(name_of(path), error)
}
