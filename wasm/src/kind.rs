//! The kinds of encoders that a module is built with.

#[cfg(feature = "static")]
use alloc::vec::Vec;

#[cfg(not(any(feature = "embed", feature = "any-encoder")))]
use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
#[cfg(feature = "encoder-weights")]
use nanoembed_core::owned::EncoderFile;
#[cfg(feature = "static")]
use nanoembed_core::owned::TableFile;

use crate::encoder_model::EncoderModel;
use crate::failure::Result;
#[cfg(feature = "encoder-weights")]
use crate::file_model::FileModel;
use crate::reader::Reader;
#[cfg(any(feature = "encoder-weights", feature = "static"))]
use crate::requantize;
#[cfg(any(feature = "embed", feature = "any-encoder"))]
use crate::whole_model::WholeModel;

/// The formats of files that hold an encoder.
#[cfg(any(feature = "embed", feature = "encoders"))]
const FORMATS: &[Format] = &[
    #[cfg(any(feature = "embed", feature = "encoder-files", feature = "encoder-weights"))]
    Format::Embd,
    #[cfg(any(feature = "embed", feature = "encoder-files", feature = "encoder-weights"))]
    Format::Amb,
    #[cfg(feature = "encoder-gguf")]
    Format::Gguf,
];

/// An encoder of one of the kinds: modules of the package are built with one.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub(crate) enum Kind {
    #[cfg(any(feature = "embed", feature = "any-encoder"))]
    Whole(WholeModel),
    #[cfg(feature = "encoder-weights")]
    File(FileModel),
    #[cfg(feature = "static")]
    Table(TableFile<Vec<u8>>),
}

impl Kind {
    /// The model in the file that `reader` has read.
    pub(crate) fn open(
        #[allow(unused_mut, reason = "of some kinds")] mut reader: Reader,
        requantize: Option<bool>,
    ) -> Result<Self> {
        #[cfg(feature = "static")]
        if let Some(table) = reader.take_table() {
            requantize::refuse_if_wanted(requantize)?;
            return Ok(Self::Table(table.with_file(reader.into_file(&[Format::Embd])?)));
        }
        #[cfg(any(feature = "embed", feature = "encoders"))]
        let file = reader.into_file(FORMATS)?;
        #[cfg(feature = "encoder-weights")]
        if EncoderFile::is_in(&file) {
            requantize::refuse_if_wanted(requantize)?;
            return Ok(Self::File(FileModel::open(file)?));
        }
        #[cfg(any(feature = "embed", feature = "any-encoder"))]
        return Ok(Self::Whole(WholeModel::open(file, requantize)?));
        #[cfg(not(any(feature = "embed", feature = "any-encoder")))]
        Err(ErrorKind::OtherModel.into())
    }

    pub(crate) fn model(&self) -> &dyn EncoderModel {
        match self {
            #[cfg(any(feature = "embed", feature = "any-encoder"))]
            Self::Whole(model) => model,
            #[cfg(feature = "encoder-weights")]
            Self::File(model) => model,
            #[cfg(feature = "static")]
            Self::Table(model) => model,
        }
    }

    pub(crate) fn model_mut(&mut self) -> &mut dyn EncoderModel {
        match self {
            #[cfg(any(feature = "embed", feature = "any-encoder"))]
            Self::Whole(model) => model,
            #[cfg(feature = "encoder-weights")]
            Self::File(model) => model,
            #[cfg(feature = "static")]
            Self::Table(model) => model,
        }
    }
}
