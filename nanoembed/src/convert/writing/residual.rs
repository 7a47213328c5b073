//! The tensors that are no layers of a UQFF file, in a file beside it.

use std::path::PathBuf;

use super::{Job, Writing, safetensors};
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::{NewFile, keep_inputs};
use crate::progress::Progress;

/// Written, and still to be put in its place.
pub(super) struct Residual {
    pub(super) path: PathBuf,
    pub(super) file: NewFile,
}

impl Residual {
    /// The file for `items`. All models in a folder share one of the usual name: another one is not
    /// replaced, unless the user says where it shall be.
    pub(super) fn prepare(
        writing: &Writing,
        job: &Job<'_, '_>,
        items: &[&Item<'_>],
    ) -> Result<Self> {
        let path = writing.residual_of(job.output);
        keep_inputs(&job.inputs, [&path])?;
        let mut file = safetensors::prepare(&path, items, &Progress::silent())?;
        if writing.residual.is_none() && path.is_file() {
            let there = MappedFile::open(&path)?;
            let reading = |error| Error::reading(name_of(&path), &error);
            let new = file.written()?.map(MappedFile::from_file).transpose().map_err(reading)?;
            if new.is_some_and(|new| *new != *there) {
                let message = format!("{} belongs to another model", path.display());
                return Err(Error::usage(message).with_hint(
                    "write into a folder of its own, or say with `--residual FILE` where the tensors go that are no layers",
                ));
            }
        }
        Ok(Self { path, file })
    }
}
