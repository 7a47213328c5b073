//! The model file that a command uses: the one named, or the one built into the program.

use std::path::Path;

use crate::calibration;
use crate::checkpoint::hugging_face::{Folder, is_safetensors};
use crate::error::{Failure, Result, name_of};
use crate::mapped::Mapped;

/// Bytes at the start of a cache line, as the tensors in the file are relative to its start.
#[cfg(feature = "default-model")]
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

#[cfg(feature = "default-model")]
static BUILT_IN: &Aligned<[u8]> =
    &Aligned(*include_bytes!("../../models/all-MiniLM-L6-v2.int8.weights"));

/// The bytes of a model file.
pub(crate) enum ModelFile {
    #[cfg(feature = "default-model")]
    BuiltIn,
    Named {
        bytes: Mapped,
        name: String,
    },
}

impl ModelFile {
    /// Opens `path`, or takes the model built in. A folder's model is used through a temporary file, in f32.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) if path.is_dir() || is_safetensors(path) => {
                let folder = Folder::open(path)?;
                let bytes = calibration::as_floats(&folder.checkpoint(None, false)?)?;
                Ok(Self::Named { bytes, name: name_of(path) })
            }
            Some(path) => Ok(Self::Named { bytes: Mapped::open(path)?, name: name_of(path) }),
            #[cfg(feature = "default-model")]
            None => Ok(Self::BuiltIn),
            #[cfg(not(feature = "default-model"))]
            None => Err(Failure::usage("this program was built without a default model")
                .hint("name one with `--model FILE`")),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            #[cfg(feature = "default-model")]
            Self::BuiltIn => &BUILT_IN.0,
            Self::Named { bytes, .. } => bytes,
        }
    }

    /// The name that messages give to the file.
    pub(crate) fn name(&self) -> &str {
        match self {
            #[cfg(feature = "default-model")]
            Self::BuiltIn => "the default model",
            Self::Named { name, .. } => name,
        }
    }

    /// What the core says is wrong with the file.
    pub(crate) fn failure(&self, error: nanoembed_core::Error) -> Failure {
        Failure::of_file(self.name(), error)
    }
}
