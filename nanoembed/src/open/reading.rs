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

/// The options of a model that are about reading its files: its options have a field `reading`.
/// `$warnings` is the method that lists warnings.
macro_rules! reading_options {
    ($warnings:literal) => {
        /// Ignores unknown settings of these names, for which the model would be refused, in the
        /// texts of a folder, or of a `.weights` or `.amb` file that keeps them:
        #[doc = concat!("[`", $warnings, "`](crate::", $warnings, ") lists them.")]
        #[must_use]
        pub fn allow_unknown(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
            self.reading.unknown = names.into_iter().map(Into::into).collect();
            self
        }

        /// Merges the LoRA adapter in a folder into the weights of the model, which has to be in a
        /// folder, too. Texts that the adapter's folder has are used instead of the model's.
        #[must_use]
        pub fn adapter(mut self, folder: impl Into<Option<std::path::PathBuf>>) -> Self {
            self.reading.adapter = folder.into();
            self
        }

        #[doc(hidden)]
        #[must_use]
        pub fn reading(self, reading: crate::open::reading::Reading) -> Self {
            Self { reading, ..self }
        }
    };
}

pub(crate) use reading_options;
