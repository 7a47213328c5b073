//! The content of a file with BERT in its own layout.

use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::Decode;
use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;
use nanoembed_core::source::ModelSource;
use nanoembed_core::source::stored::{Contents, TensorPlace};
use nanoembed_core::tensor::TensorHeader;

use crate::leaf::{self, Part};
use crate::source::Bytes;
use crate::status::Outcome;

/// The content of a file.
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(super) enum File {
    /// The content of a `.weights` file, in memory or in storage, read in one pass.
    Passed(Contents<'static>),
    /// A file of another format, in memory.
    Parsed(Part<leaf::Parsed, ModelSource<'static>>),
}

impl File {
    pub(super) const fn unread(places: &'static mut [TensorPlace]) -> Self {
        Self::Passed(Contents::new(places))
    }

    pub(super) fn tensor(&self, name: &str) -> Option<TensorHeader<'static>> {
        match self {
            Self::Passed(contents) => contents.tensor(name),
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
            Self::Parsed(_) => Ok(()),
        }
    }

    #[inline(never)] // so that reading them has its stack to itself
    pub(super) fn config(&self) -> Outcome<BertConfig> {
        match self {
            Self::Passed(contents) => Ok(contents.config()?),
            Self::Parsed(model) => Ok(model.encoder_config()?),
        }
    }

    /// Parses the file in memory if it is of a format that is parsed whole; returns false if it is
    /// of another.
    pub(super) fn parse_whole(&mut self, source: &Bytes) -> Outcome<bool> {
        let bytes = source.memory().filter(|_| leaf::Parsed::built_in().is_ok());
        match bytes.map(|bytes| (bytes, sniff(bytes))) {
            Some((bytes, Some(Format::Amb | Format::Gguf))) => self.parse(bytes).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Parses the file in memory, which `bytes` are.
    pub(super) fn parse(&mut self, bytes: &'static [u8]) -> Outcome {
        let leaf = leaf::Parsed::built_in()?;
        *self = Self::Parsed(Part::new(leaf, crate::memory_file::parse(bytes)?));
        Ok(())
    }
}
