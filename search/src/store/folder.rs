//! The folder of indices.

use std::env;
use std::path::PathBuf;

/// The folder where indices are kept: that of `NANOEMBED_CACHE`, else `nanoembed` in the user's folder
/// for caches; `None` if there is no such folder.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|it| !it.as_os_str().is_empty());
    let own = set("NANOEMBED_CACHE").or_else(|| Some(users(&set)?.join("nanoembed")));
    own.map(|folder| folder.join("search"))
}

/// The user's folder for caches, as the system has it.
fn users(set: &dyn Fn(&'static str) -> Option<PathBuf>) -> Option<PathBuf> {
    if cfg!(windows) {
        return set("LOCALAPPDATA");
    }
    // XDG: relative paths are to be ignored.
    let named = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let below = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    named.or_else(|| Some(set("HOME")?.join(below)))
}
