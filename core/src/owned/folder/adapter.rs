//! The LoRA adapter of a folder, in memory of its own.

use alloc::string::String;
use alloc::vec::Vec;

use super::text_loader::{no_memory, read};
use super::{FolderResult, Texts};
use crate::describe::folder::AdapterSettings;
use crate::error::Result;
use crate::limit::{push, spelled};
use crate::text::json::chars;

/// A LoRA adapter's settings: see [`AdapterSettings`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Adapter {
    /// The path or the name of the model that is adapted; may be empty.
    pub base: String,
    /// True if products are divided by the square root of their rank instead of the rank.
    pub by_root: bool,
    /// The rank of products.
    pub rank: f64,
    /// What products are multiplied by.
    pub alpha: f64,
    /// The ranks of products that have others: regular expressions that describe the end of a
    /// matrix's name after a dot, or all of it. The first that fits counts.
    pub ranks: Vec<(String, f64)>,
    /// The factors of products that have others.
    pub alphas: Vec<(String, f64)>,
}

impl Adapter {
    /// Reads the adapter of a folder; `None` if it has none.
    ///
    /// # Errors
    ///
    /// As [`AdapterSettings::read`]; [`ErrorKind::NoMemory`](crate::ErrorKind::NoMemory).
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Option<Self>> {
        read(texts, &|texts| {
            let settings = AdapterSettings::read(texts)?;
            settings.map(|it| Self::from_settings(&it).map_err(no_memory)).transpose()
        })
    }

    fn from_settings(settings: &AdapterSettings<'_>) -> Result<Self> {
        let AdapterSettings { base, by_root, rank, alpha, .. } = *settings;
        Ok(Self {
            base: spelled(chars(base.unwrap_or_default()))?,
            by_root,
            rank,
            alpha,
            ranks: owned(settings.ranks())?,
            alphas: owned(settings.alphas())?,
        })
    }
}

fn owned<'a>(numbers: impl Iterator<Item = (&'a str, f64)>) -> Result<Vec<(String, f64)>> {
    let mut owned = Vec::new();
    for (pattern, number) in numbers {
        push(&mut owned, (spelled(chars(pattern))?, number))?;
    }
    Ok(owned)
}
