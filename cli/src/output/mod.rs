//! Results on their way out.

pub(crate) mod form;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod members;
pub(crate) mod npy;
pub(crate) mod result_args;
pub(crate) mod table;
pub(crate) mod truncation;
pub(crate) mod vector;

use std::path::Path;

use nanoembed::files::new_file::NewFile;

use crate::error::Result;
use crate::streams;

/// Starts to write what shall become `target`; `-` is stdout, which must not be a terminal for
/// `binary` content.
pub(crate) fn create(target: &Path, binary: bool) -> Result<NewFile> {
    streams::check_output(target)?;
    NewFile::create(target, binary)
}
