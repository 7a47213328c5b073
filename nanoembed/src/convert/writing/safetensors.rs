//! safetensors: floats as they are, all quantised tensors as f32.

use std::path::Path;

use nanoembed_core::format::safetensors::dtype_name;
use nanoembed_core::tensor::Dtype;

use super::{WrittenFile, size_of};
use crate::convert::targets::Item;
use crate::convert::targets::safetensors::{Wanted, prepare as prepare_file};
use crate::error::Result;
use crate::files::new_file::NewFile;
use crate::progress::Progress;
use crate::stored::{Stored, Values};

pub(super) fn write(
    path: &Path,
    items: &[Item<'_>],
    progress: &Progress<'_>,
) -> Result<Vec<WrittenFile>> {
    prepare(path, &items.iter().collect::<Vec<_>>(), progress)?.commit()?;
    Ok(vec![size_of(path)])
}

/// Writes some of the items; the file is still to be put in its place.
pub(super) fn prepare(
    path: &Path,
    items: &[&Item<'_>],
    progress: &Progress<'_>,
) -> Result<NewFile> {
    let stored: Vec<Stored<'_>> = items
        .iter()
        .map(|item| Stored {
            name: item.name.clone(),
            values: Values::Weight(item.weight),
            offset: 0,
            file: 0,
        })
        .collect();
    let wanted = stored.iter().zip(items).map(|(tensor, item)| {
        let own = item.dtype().filter(|dtype| dtype_name(*dtype).is_some());
        Wanted { name: tensor.name.clone(), tensor, dtype: own.unwrap_or(Dtype::F32) }
    });
    prepare_file(path, wanted.collect(), &[("format", "pt")], progress).map(|(file, _)| file)
}
