//! The files beside the weights of a folder and in those of its modules: settings that are JSON, a
//! vocabulary that is text.

use std::path::Path;

use nanoembed_core::owned::folder::Modules;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::Finding;
use crate::folder::texts::FolderTexts;

/// Checks the files beside the weights; returns their number, or the faults found.
pub(super) fn verify(folder: &Path) -> Result<usize, Vec<Finding>> {
    let modules = FolderTexts::new(folder).read(|texts| Modules::folders(texts));
    let modules = modules.unwrap_or_default();
    let folders =
        std::iter::once(folder.to_owned()).chain(modules.iter().map(|it| folder.join(it)));
    let mut paths: Vec<_> = folders
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten())
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !path.is_dir())
        .collect();
    paths.sort_unstable();
    let (mut findings, mut count) = (Vec::new(), 0);
    for path in paths {
        let found = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => check(&path, json),
            Some("txt") if path.ends_with("vocab.txt") => check(&path, text),
            _ => continue,
        };
        count += 1;
        findings.extend(found.err());
    }
    if findings.is_empty() { Ok(count) } else { Err(findings) }
}

fn check(path: &Path, sound: fn(&[u8]) -> Result<(), CoreError>) -> Result<(), Finding> {
    let name = path.display().to_string();
    let bytes = crate::files::whole_file::read(path)
        .map_err(|_| Finding::new(&name, CoreError::without_offset(ErrorKind::ReadFailed)))?;
    sound(&bytes).map_err(|error| Finding::new(&name, error))
}

fn text(bytes: &[u8]) -> Result<(), CoreError> {
    let place = |error: std::str::Utf8Error| error.valid_up_to() as u64;
    match str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(CoreError::new(place(error), ErrorKind::InvalidUtf8)),
    }
}

fn json(bytes: &[u8]) -> Result<(), CoreError> {
    text(bytes)?;
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).map(drop).map_err(|error| {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        let at = before.saturating_add(error.column().saturating_sub(1));
        CoreError::new(at as u64, ErrorKind::BadJson)
    })
}
