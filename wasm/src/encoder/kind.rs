//! The kinds of encoders that a module is built with.

use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::owned::{EncoderFile, TableFile};

use super::file_model::FileModel;
use super::prompting::Prompting;
use super::whole_model::WholeModel;
use super::{EncoderModel, requantize};
use crate::failure::Result;
use crate::leaf::{self, Part};
use crate::reader::Reader;

/// The formats of files that hold an encoder.
pub(crate) const FORMATS: &[Format] = &[Format::Embd, Format::Amb, Format::Gguf];

/// An encoder of one of the kinds: modules of the package are built with one.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub(crate) enum Kind {
    Whole(Part<leaf::Whole, WholeModel>),
    File(Part<leaf::File, FileModel>),
    Table(Part<leaf::Table, TableFile<Vec<u8>>>),
}

impl Kind {
    /// The model in the file that `reader` has read.
    pub(crate) fn open(mut reader: Reader, requantize: Option<bool>) -> Result<Self> {
        if let Some(table) = reader.take_table() {
            let leaf = leaf::Table::built_in()?;
            requantize::refuse_if_wanted(requantize)?;
            let file = reader.into_file(&[Format::Embd])?;
            return Ok(Self::Table(Part::new(leaf, table.with_file(file))));
        }
        if leaf::Whole::built_in().is_err() && leaf::File::built_in().is_err() {
            return Err(ErrorKind::OtherModel.into());
        }
        let file = reader.into_file(FORMATS)?;
        if let Ok(leaf) = leaf::File::built_in()
            && EncoderFile::is_in(&file)
        {
            requantize::refuse_if_wanted(requantize)?;
            return Ok(Self::File(Part::new(leaf, FileModel::open(file)?)));
        }
        let leaf = leaf::Whole::built_in()?;
        Ok(Self::Whole(Part::new(leaf, WholeModel::open(file, requantize)?)))
    }

    pub(crate) fn model(&self) -> &dyn EncoderModel {
        match self {
            Self::Whole(model) => &**model,
            Self::File(model) => &**model,
            Self::Table(model) => &**model,
        }
    }

    pub(crate) fn model_mut(&mut self) -> &mut dyn EncoderModel {
        match self {
            Self::Whole(model) => &mut **model,
            Self::File(model) => &mut **model,
            Self::Table(model) => &mut **model,
        }
    }

    pub(crate) fn prompted(&self) -> &dyn Prompting {
        match self {
            Self::Whole(model) => &**model,
            Self::File(model) => &**model,
            Self::Table(model) => &**model,
        }
    }

    pub(crate) fn prompted_mut(&mut self) -> &mut dyn Prompting {
        match self {
            Self::Whole(model) => &mut **model,
            Self::File(model) => &mut **model,
            Self::Table(model) => &mut **model,
        }
    }
}
