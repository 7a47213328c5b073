//! A digest of a model's files, which tells models apart without reading all of their weights.
//!
//! | bytes | covered |
//! |---|---|
//! | headers, metadata, vocabularies: all that is no tensor's | all |
//! | a tensor of up to 16 KiB | all |
//! | a larger tensor | four pieces of 4 KiB, at even distances from its first byte to its last |
//! | settings and tokenizers in a folder and the folders in it | all of `.json`, `.txt` and `.model` files |
//!
//! Training changes nearly every value of a tensor, and requantising all of them: pieces show it. A
//! model whose weights were changed by hand elsewhere has the same digest. Reading whole weights would
//! take longer than a search.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::folder::files::EncoderFolder;
use super::source::{Content, Source};
use crate::bytes::Bytes;
use crate::checkpoint::model_files::ModelFiles;
use crate::digest::digest;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;
use crate::stored::FileSet;

/// The pieces of a tensor, and the bytes of a piece.
const PIECES: usize = 4;
const PIECE_BYTES: usize = 4 << 10;

/// The endings of files with settings and tokenizers.
const SETTINGS: [&str; 3] = ["json", "txt", "model"];

impl Source {
    /// The digest of the files.
    pub(crate) fn content_digest(&self) -> Result<u128> {
        let mut digests = Digests::default();
        match self.content() {
            Content::Whole(bytes) => {
                digests.add_set(&FileSet::from_bytes(self.name().into(), Bytes::clone(bytes)))?;
            }
            Content::Bundle(bundle) => {
                digests.add_settings(bundle.folder())?;
                digests.add_files(bundle.files())?;
            }
            Content::Folder(folder) => digests.add_folder(folder)?,
        }
        Ok(digest(&digests.0))
    }
}

/// Digests of parts, one after the other.
#[derive(Default)]
struct Digests(Vec<u8>);

impl Digests {
    fn add(&mut self, part: &[u8]) {
        self.0.extend(digest(part).to_le_bytes());
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
                    let start = array.as_ptr().addr().checked_sub(file.as_ptr().addr())?;
                    let range = start..start.checked_add(array.len())?;
                    (range.end <= file.len()).then_some((at, range))
                };
                if let Some((at, range)) = set.iter().enumerate().find_map(within)
                    && let Some(own) = tensors.get_mut(at)
                {
                    own.push(range);
                }
            }
        }
        set.iter().zip(tensors).for_each(|((_, file), tensors)| self.add_file(file, tensors));
        Ok(())
    }

    fn add_file(&mut self, file: &[u8], mut tensors: Vec<Range<usize>>) {
        tensors.sort_unstable_by_key(|range| (range.start, range.end));
        let mut end = 0;
        for range in tensors {
            self.add(file.get(end..range.start).unwrap_or_default());
            self.add_tensor(file.get(range.clone()).unwrap_or_default());
            end = end.max(range.end);
        }
        self.add(file.get(end..).unwrap_or_default());
        self.0.extend((file.len() as u64).to_le_bytes());
    }

    fn add_tensor(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.len().checked_sub(PIECES * PIECE_BYTES) else {
            return self.add(bytes);
        };
        let last = last + (PIECES - 1) * PIECE_BYTES;
        for piece in 0..PIECES {
            let start = last / (PIECES - 1) * piece;
            let start = if piece + 1 == PIECES { last } else { start };
            self.add(bytes.get(start..start + PIECE_BYTES).unwrap_or_default());
        }
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
            name.iter().for_each(|part| self.add(part.as_encoded_bytes()));
            match whole_file::read(&path) {
                Ok(bytes) => self.add(&bytes),
                // What cannot be read is no part of the model, which was opened without it.
                Err(_) => self.add(&[]),
            }
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(file: &[u8], tensors: &[Range<usize>]) -> Vec<u8> {
        let mut digests = Digests::default();
        digests.add_file(file, tensors.to_vec());
        digests.0
    }

    #[test]
    fn all_bytes_count_but_those_between_the_pieces_of_a_large_tensor() {
        let large = 100..100 + PIECES * PIECE_BYTES * 2;
        let small = large.end + 8..large.end + 72;
        let file = vec![7; small.end + 9];
        let tensors = [small, large.clone()];
        let whole = of(&file, &tensors);
        let counts = |at: usize| {
            let mut changed = file.clone();
            changed[at] ^= 1;
            of(&changed, &tensors) != whole
        };
        let ignored: Vec<usize> = (0..file.len()).filter(|at| !counts(*at)).collect();
        assert_eq!(ignored.len(), PIECES * PIECE_BYTES);
        assert!(ignored.iter().all(|at| large.contains(at)));
        assert!(counts(large.start) && counts(large.end - 1));
    }

    #[test]
    fn lengths_and_borders_count() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            assert!(seen.insert(of(&vec![0; length], &[])));
        }
        let tensors = [0..8, 8..16];
        assert_ne!(of(&[0; 16], &tensors), of(&[0; 16], &tensors[..1]));
        let whole = 0..PIECES * PIECE_BYTES;
        assert_eq!(of(&[0; PIECES * PIECE_BYTES], std::slice::from_ref(&whole)).len() / 16, 6);
    }
}
