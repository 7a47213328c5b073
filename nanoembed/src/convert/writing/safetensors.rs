//! safetensors: floats as they are, all quantised tensors as f32.

use std::path::Path;

use nanoembed_core::format::safetensors::dtype_name;
use nanoembed_core::limit;
use nanoembed_core::tensor::Dtype;

use super::{WrittenFile, size_of};
use crate::convert::targets::Item;
use crate::convert::targets::safetensors::{Wanted, prepare as prepare_file};
use crate::error::{Error, Result, name_of};
use crate::files::new_file::NewFile;
use crate::progress::Progress;
use crate::stored::{Stored, Values};

pub(super) fn write(
    path: &Path,
    items: &[Item<'_>],
    progress: &Progress<'_>,
) -> Result<WrittenFile> {
    let all = limit::exactly(items.iter());
    let all = all.map_err(|error| Error::in_file(name_of(path), error))?;
    prepare(path, &all, progress)?.commit()?;
    Ok(size_of(path))
}

/// Writes some of the items; the file is still to be put in its place.
pub(super) fn prepare<'a>(
    path: &Path,
    items: &[&Item<'a>],
    progress: &Progress<'_>,
) -> Result<NewFile> {
    let failed = |error| Error::in_file(name_of(path), error);
    let of = |item: &&Item<'a>| {
        let (name, values) = (limit::copied(&item.name)?, Values::Weight(item.weight));
        Ok(Stored { name, values, offset: 0, file: 0 })
    };
    let stored = limit::gathered(items.iter().map(of)).map_err(failed)?;
    let wanted = stored.iter().zip(items).map(|(tensor, item)| {
        let own = item.dtype().filter(|dtype| dtype_name(*dtype).is_some());
        let name = limit::copied(&tensor.name)?;
        Ok(Wanted { name, tensor, dtype: own.unwrap_or(Dtype::F32) })
    });
    let wanted = limit::gathered(wanted).map_err(failed)?;
    prepare_file(path, wanted, &[("format", "pt")], progress).map(|(file, _)| file)
}
