//! The folder of indices.

use std::path::PathBuf;

use nanoembed::files::user_folders::{for_caches, from_variable};

/// The folder where indices are kept: that of `NANOEMBED_CACHE`, else `nanoembed` in the user's folder
/// for caches; `None` if there is no such folder.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let own = from_variable("NANOEMBED_CACHE").or_else(|| Some(for_caches()?.join("nanoembed")));
    own.map(|folder| folder.join("search"))
}
