//! The content of a file with BERT in its own layout.

use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::Decode;
#[cfg(any(feature = "amb", feature = "gguf"))]
use nanoembed_core::event::Format;
#[cfg(any(feature = "amb", feature = "gguf"))]
use nanoembed_core::format::sniff;
#[cfg(any(feature = "amb", feature = "gguf"))]
use nanoembed_core::model::ModelSource;
use nanoembed_core::model::stored::{Contents, TensorPlace};
use nanoembed_core::tensor::TensorHeader;

use crate::source::Bytes;
use crate::status::Outcome;

/// The content of a file.
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(super) enum File {
    /// The content of a `.weights` file, in memory or in storage, read in one pass.
    Passed(Contents<'static>),
    /// A file of another format, in memory.
    #[cfg(any(feature = "amb", feature = "gguf"))]
    Parsed(ModelSource<'static>),
}

impl File {
    pub(super) const fn unread(places: &'static mut [TensorPlace]) -> Self {
        Self::Passed(Contents::new(places))
    }

    pub(super) fn tensor(&self, name: &str) -> Option<TensorHeader<'static>> {
        match self {
            Self::Passed(contents) => contents.tensor(name),
            #[cfg(any(feature = "amb", feature = "gguf"))]
            Self::Parsed(model) => model.encoder_tensor(name),
        }
    }

    /// Reads a `.weights` file in one pass.
    pub(super) fn read(
        &mut self,
        source: &Bytes,
        decoder: impl Decode,
        buffer: &mut [u8],
    ) -> Outcome {
        match self {
            Self::Passed(contents) => Ok(contents.read(source, decoder, buffer)?),
            #[cfg(any(feature = "amb", feature = "gguf"))]
            Self::Parsed(_) => Ok(()),
        }
    }

    pub(super) fn config(&self) -> Outcome<BertConfig> {
        match self {
            Self::Passed(contents) => Ok(contents.config()?),
            #[cfg(any(feature = "amb", feature = "gguf"))]
            Self::Parsed(model) => Ok(model.encoder_config()?),
        }
    }

    /// The file in memory if it is of a format that is parsed whole.
    #[cfg(any(feature = "amb", feature = "gguf"))]
    pub(super) fn parsed(source: &Bytes) -> Outcome<Option<Self>> {
        match source.memory().map(|bytes| (bytes, sniff(bytes))) {
            Some((bytes, Some(Format::Amb | Format::Gguf))) => {
                Ok(Some(Self::Parsed(crate::parsed::parse(bytes)?)))
            }
            _ => Ok(None),
        }
    }
}
