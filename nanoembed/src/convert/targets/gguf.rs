//! GGUF files, version 3.

use std::path::Path;

use nanoembed_core::format::gguf::{GgufPlan, GgufWriter, TensorSpec, WriteValue};
use nanoembed_core::limit;
use nanoembed_core::tensor::Dtype;

use super::{FileSink, Item};
use crate::error::{Error, Result};
use crate::files::new_file::NewFile;
use crate::progress::Progress;

/// Writes the items, which are all elements or blocks of one type, in their order; returns the size
/// of the file.
pub fn write<'i>(
    path: &Path,
    metadata: &[(&str, WriteValue<'_>)],
    alignment: u32,
    items: &'i [Item<'_>],
    progress: &Progress<'_>,
) -> Result<u64> {
    let spec = |item: &'i Item<'_>| TensorSpec {
        name: &item.name,
        dtype: item.dtype().unwrap_or(Dtype::F32),
        shape: *item.weight.shape(),
    };
    let mut file = NewFile::create(path, true)?;
    let specs = limit::exactly(items.iter().map(spec));
    let specs = specs.map_err(|error| Error::in_file(file.name(), error))?;
    let plan = GgufPlan { metadata, tensors: &specs, alignment };
    let bytes = plan.file_bytes().map_err(|error| Error::in_file(file.name(), error))?;
    let mut sink = FileSink::new(&mut file);
    let written = GgufWriter::new(plan, &mut sink).and_then(|mut writer| {
        for item in items {
            writer.data(item.data())?;
            progress.advance(item.data().len() as u64);
        }
        writer.finish().map(|_| ())
    });
    sink.judge(written)?;
    file.commit()?;
    Ok(bytes)
}
