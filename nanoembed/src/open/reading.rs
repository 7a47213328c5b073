//! How the files of a model are read.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::role::Role;

/// How the files of a model are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The role of the texts, for which a model with a Router may have other modules.
    pub role: Role,
    /// Names of unknown settings that are ignored in the texts of a folder, or of a file that keeps
    /// them.
    pub unknown: Vec<String>,
    /// The folder of a LoRA adapter for the model.
    pub adapter: Option<PathBuf>,
}

impl Reading {
    /// The same for texts of a role.
    #[must_use]
    pub fn in_role(&self, role: Role) -> Self {
        Self { role, ..self.clone() }
    }

    /// Refuses an adapter for a model that is not in a folder.
    pub(crate) fn check_without_folder(&self) -> Result<()> {
        match self.adapter {
            Some(_) => Err(Error::argument("adapter", "is for models in folders")
                .with_hint("`nanoembed convert FOLDER OUT.weights --adapter FOLDER` merges it")),
            None => Ok(()),
        }
    }
}
