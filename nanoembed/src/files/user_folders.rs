//! Folders of the user for caches, data and settings, as the system has them.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// The user's folder for caches; `None` if the environment does not tell it.
#[must_use]
pub fn for_caches() -> Option<PathBuf> {
    user_folder("LOCALAPPDATA", "XDG_CACHE_HOME", "Library/Caches", ".cache")
}

/// The user's folder for data; `None` if the environment does not tell it.
#[must_use]
pub fn for_data() -> Option<PathBuf> {
    user_folder("APPDATA", "XDG_DATA_HOME", "Library/Application Support", ".local/share")
}

/// The user's folder for settings; `None` if the environment does not tell it.
#[must_use]
pub fn for_settings() -> Option<PathBuf> {
    user_folder("APPDATA", "XDG_CONFIG_HOME", "Library/Application Support", ".config")
}

/// The user's home folder; `None` if the environment does not tell it.
#[must_use]
pub fn home() -> Option<PathBuf> {
    from_variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}

/// The path in a variable of the environment; `None` if it is not set or empty.
#[must_use]
pub fn from_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty())
}

/// The folder that a variable names, or else one in the home folder. XDG: relative paths are to be
/// ignored.
fn user_folder(windows: &str, xdg: &str, macos: &str, others: &str) -> Option<PathBuf> {
    if cfg!(windows) {
        return from_variable(windows);
    }
    let named = from_variable(xdg).filter(|path| path.is_absolute());
    let below = if cfg!(target_os = "macos") { macos } else { others };
    named.or_else(|| Some(home()?.join(below)))
}

/// Creates a folder, and those around it that are missing, that only its owner may read.
///
/// # Errors
///
/// Fails if the system does not create it.
pub fn create_private(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
