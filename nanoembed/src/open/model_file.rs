//! The model file that a command uses: the one named, or the one built into the program.

use std::path::Path;

use crate::causal::bundle::Bundle;
use crate::convert::calibration;
use crate::convert::checkpoint::hugging_face::{Folder, is_safetensors};
use crate::error::{Error, Result, name_of};
use crate::files::mapped::Mapped;
use crate::open::prompts::Prompts;
use crate::stored::files::is_uqff_name;
use crate::stored::{explained, gguf_parts};

/// Bytes at the start of a cache line, as the tensors in the file are relative to its start.
#[cfg(feature = "default-model")]
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

#[cfg(feature = "default-model")]
static BUILT_IN: &Aligned<[u8]> =
    &Aligned(*include_bytes!("../../../models/all-MiniLM-L6-v2.int8.weights"));

/// A model's file, or its files.
pub enum ModelFile {
    #[cfg(feature = "default-model")]
    BuiltIn,
    Named {
        bytes: Mapped,
        name: String,
    },
    /// A decoder in several files.
    Bundle(Box<Bundle>),
}

impl ModelFile {
    /// Opens `path`, or takes the model built in. A decoder of a folder is used as it lies there;
    /// an encoder's through a temporary file, in f32.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        if let Some(bundle) = path.map(Bundle::open).transpose()?.flatten() {
            return Ok(Self::Bundle(Box::new(bundle)));
        }
        match path {
            Some(path) if path.is_dir() || is_safetensors(path) || is_uqff_name(path) => {
                let folder = Folder::open(path)?;
                let bytes = calibration::as_floats(&folder.checkpoint(None, false)?)?;
                Ok(Self::Named { bytes, name: name_of(path) })
            }
            Some(path) => {
                let bytes = gguf_parts::whole(path, Mapped::open(path)?)?;
                Ok(Self::Named { bytes, name: name_of(path) })
            }
            #[cfg(feature = "default-model")]
            None => Ok(Self::BuiltIn),
            #[cfg(not(feature = "default-model"))]
            None => Err(Error::usage("this program was built without a default model")
                .with_hint("name one with `--model FILE`")),
        }
    }

    /// The decoder in several files, if it is one.
    pub fn bundle(&self) -> Option<&Bundle> {
        match self {
            Self::Bundle(bundle) => Some(bundle),
            _ => None,
        }
    }

    /// The file's bytes; none of several files.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bundle(_) => &[],
            #[cfg(feature = "default-model")]
            Self::BuiltIn => &BUILT_IN.0,
            Self::Named { bytes, .. } => bytes,
        }
    }

    /// The name that messages give to the file.
    pub fn name(&self) -> String {
        match self {
            #[cfg(feature = "default-model")]
            Self::BuiltIn => "the default model".into(),
            Self::Named { name, .. } => name.clone(),
            Self::Bundle(bundle) => bundle.name(),
        }
    }

    /// The prompts that the model has.
    pub fn prompts(&self) -> Result<Prompts> {
        match self {
            Self::Bundle(bundle) => bundle.prompts(),
            _ => Ok(Prompts::of_file(self.bytes())),
        }
    }

    /// What the core says is wrong with the file.
    pub fn failure(&self, error: nanoembed_core::Error) -> Error {
        explained::failure(&self.name(), self.bytes(), error)
    }
}
