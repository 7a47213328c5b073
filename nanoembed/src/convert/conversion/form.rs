//! Forms of models that can be converted, and formats they become.

use std::io::Read;
use std::path::Path;

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;

use crate::files::whole_file;
use crate::stored::file_names::{is_safetensors, is_uqff_name};

/// The forms of models that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelForm {
    /// A folder with `model.safetensors` or UQFF and its JSON files.
    HuggingFace,
    /// An EMBD `.weights` file.
    Weights,
    /// An `.amb` file.
    Amb,
    /// A GGUF file of an encoder, or of a decoder of the Llama family.
    Gguf,
}

impl ModelForm {
    /// The form of `path`: folders, `.safetensors` and `.uqff` are Hugging Face's; of the rest
    /// `.amb` and GGUF files are told by their first bytes, and all else is a `.weights` file,
    /// stdin too, which can be read only once.
    #[must_use]
    pub fn detect(path: &Path) -> Self {
        if path == Path::new("-") {
            return Self::Weights;
        }
        let mut start = [0; 5];
        let begins = whole_file::open(path).and_then(|mut file| file.read_exact(&mut start));
        match sniff(&start) {
            Some(Format::Amb) if begins.is_ok() => return Self::Amb,
            Some(Format::Gguf) if begins.is_ok() => return Self::Gguf,
            _ => {}
        }
        let is_of_folder = path.is_dir() || is_safetensors(path) || is_uqff_name(path);
        if is_of_folder { Self::HuggingFace } else { Self::Weights }
    }
}

/// The forms of models that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelTarget {
    /// An EMBD `.weights` file.
    Weights,
    /// An `.amb` file.
    Amb,
    /// A GGUF file, which takes the weights as they are.
    Gguf,
}

impl ModelTarget {
    /// The form's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Amb => "amb",
            Self::Gguf => "gguf",
        }
    }

    /// The endings of such files.
    pub(super) const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Weights => &["weights"],
            Self::Amb => &["amb"],
            Self::Gguf => &["gguf"],
        }
    }

    /// The form that the ending of `path` names, if it is a model's.
    #[must_use]
    pub fn from_ending(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "weights" => Some(Self::Weights),
            "amb" => Some(Self::Amb),
            "gguf" => Some(Self::Gguf),
            _ => None,
        }
    }
}
