//! Models that were downloaded to the cache of the Hugging Face hub, by the layout that
//! `huggingface_hub` documents: `models--ORGANISATION--MODEL` has `refs/main`, which names a folder
//! in `snapshots`. Nothing is downloaded here.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use super::user_folders::{self, from_variable};
use super::whole_file;
use crate::hub_name::is_hub_name;

/// A model in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedModel {
    /// Its name on the hub, `organisation/model`.
    pub name: String,
    /// The folder of its files.
    pub folder: PathBuf,
}

/// A model's path: that of the cache if `path` is the name of a model on the hub that is cached, and
/// no file or folder.
#[must_use]
pub fn resolved(path: &Path) -> Cow<'_, Path> {
    let name = path.to_str().filter(|name| is_hub_name(name) && !path.exists());
    let cached = name.and_then(|name| {
        let folder = folder()?.join(format!("models--{}", name.replace('/', "--")));
        snapshot(&folder)
    });
    cached.map_or(path.into(), Cow::Owned)
}

/// The models in the cache, by name.
#[must_use]
pub fn models() -> Vec<CachedModel> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let mut models: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_prefix("models--")?.replacen("--", "/", 1);
            let folder = snapshot(&entry.path())?;
            is_hub_name(&name).then_some(CachedModel { name, folder })
        })
        .collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models
}

/// The cache's folder, as `huggingface_hub` looks for it.
fn folder() -> Option<PathBuf> {
    from_variable("HF_HUB_CACHE").or_else(|| {
        let home = from_variable("HF_HOME").or_else(|| {
            let caches = from_variable("XDG_CACHE_HOME");
            let caches = caches.or_else(|| Some(user_folders::home()?.join(".cache")));
            Some(caches?.join("huggingface"))
        });
        Some(home?.join("hub"))
    })
}

/// The files of a model: those of the branch `main`.
fn snapshot(model: &Path) -> Option<PathBuf> {
    let commit = whole_file::read_text(&model.join("refs/main")).ok()?;
    let commit = commit.trim();
    let is_commit = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let folder = model.join("snapshots").join(commit);
    (is_commit && folder.is_dir()).then_some(folder)
}
