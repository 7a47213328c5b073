//! LoRA adapters: the adapter in a folder, and the model near it that it adapts.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::folder::{ADAPTER, Adapter, CONFIG, WEIGHTS, WEIGHTS_INDEX};
use nanoembed_core::text::path::is_file_name;

use super::texts::FolderTexts;
use crate::error::{Error, Result, name_of};

/// The adapter in a folder, and the folder of the model that it adapts.
pub(crate) struct FolderAdapter {
    pub(crate) settings: Adapter,
    pub(crate) folder: PathBuf,
    pub(crate) base: PathBuf,
}

impl FolderAdapter {
    /// The adapter in the folder of `texts`; `None` if there is none.
    pub(crate) fn among(texts: &FolderTexts) -> Result<Option<Self>> {
        let Some(settings) = texts.read(|texts| Adapter::read(texts))? else { return Ok(None) };
        let folder = texts.path();
        let base = base_near(folder, &settings.base)?;
        Self::new(settings, folder, base).map(Some)
    }

    /// The adapter in the folder of `texts`, for the model in the folder `base`.
    pub(crate) fn for_model(texts: &FolderTexts, base: PathBuf) -> Result<Self> {
        let settings = texts.read(|texts| Adapter::read(texts))?;
        let missing = || Error::reading(name_of(&texts.file(ADAPTER)), &NotFound.into());
        Self::new(settings.ok_or_else(missing)?, texts.path(), base)
    }

    fn new(settings: Adapter, folder: &Path, base: PathBuf) -> Result<Self> {
        if base != folder && base.join(ADAPTER).exists() {
            let message = "the model that the adapter is for has an adapter itself";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message)
                .at(name_of(&folder.join(ADAPTER)))
                .with_hint("merge that one with peft's `merge_and_unload` first"));
        }
        Ok(Self { settings, folder: folder.to_owned(), base })
    }
}

/// The folder of the model called `name`, which may be a path or a name of the hub: beside
/// `folder`, or around it, or else `folder` itself if it has weights. A file does not choose other
/// places.
fn base_near(folder: &Path, name: &str) -> Result<PathBuf> {
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let whole = folder.canonicalize();
    let whole = whole.map_err(|error| Error::reading(name_of(folder), &error))?;
    let around = whole.parent();
    let beside = around.map(|around| around.join(last)).filter(|_| is_file_name(last));
    let around = around.filter(|around| around.file_name().is_some_and(|name| name == last));
    let near = beside.into_iter().chain(around.map(Path::to_owned));
    let mut near = near.filter(|near| *near != whole && near.join(CONFIG).is_file());
    if let Some(base) = near.next() {
        return Ok(base);
    }
    if [WEIGHTS, WEIGHTS_INDEX].iter().any(|name| folder.join(name).exists()) {
        return Ok(folder.to_owned());
    }
    let message = format!("`base_model_name_or_path` is {name:?}, which is not near this folder");
    Err(Error::input(ErrorKind::UnsupportedSetting, message)
        .at(name_of(&folder.join(ADAPTER)))
        .with_hint(format!(
            "put the model's folder beside the adapter's and call it `{last}`, or name both: `--model MODEL --adapter FOLDER`"
        )))
}
