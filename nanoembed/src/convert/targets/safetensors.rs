//! safetensors files: elements as they are, everything else dequantised piece by piece.

use std::path::Path;

use nanoembed_core::format::safetensors::{SafetensorsPlan, SafetensorsWriter, TensorSpec, order};
use nanoembed_core::limit;
use nanoembed_core::quant::quantize;
use nanoembed_core::tensor::Dtype;

use super::FileSink;
use crate::error::{Error, Result};
use crate::files::new_file::NewFile;
use crate::progress::Progress;
use crate::stored::{Stored, Values};

/// A tensor and the type that it shall have.
pub struct Wanted<'s, 'a> {
    pub name: String,
    pub tensor: &'s Stored<'a>,
    pub dtype: Dtype,
}

impl Wanted<'_, '_> {
    fn spec(&self) -> TensorSpec<'_> {
        TensorSpec { name: &self.name, dtype: self.dtype, shape: *self.tensor.values.shape() }
    }
}

/// Writes the tensors in the order of the reference; returns the size of the file.
pub fn write(
    path: &Path,
    tensors: Vec<Wanted<'_, '_>>,
    metadata: &[(&str, &str)],
    progress: &Progress<'_>,
) -> Result<u64> {
    let (file, bytes) = prepare(path, tensors, metadata, progress)?;
    file.commit()?;
    Ok(bytes)
}

/// As [`write()`], but the file is still to be put in its place.
pub fn prepare(
    path: &Path,
    mut tensors: Vec<Wanted<'_, '_>>,
    metadata: &[(&str, &str)],
    progress: &Progress<'_>,
) -> Result<(NewFile, u64)> {
    tensors.sort_unstable_by(|a, b| order(&a.spec(), &b.spec()));
    let mut file = NewFile::create(path, true)?;
    let refused = |error| Error::in_file(file.name(), error);
    let specs = limit::exactly(tensors.iter().map(Wanted::spec)).map_err(refused)?;
    let plan = SafetensorsPlan { metadata, tensors: &specs };
    let bytes = plan.file_bytes().map_err(refused)?;
    let mut sink = FileSink::new(&mut file);
    let mut failed = None;
    let written = SafetensorsWriter::new(&plan, &mut sink).and_then(|mut writer| {
        for tensor in &tensors {
            if let Some(error) = one(tensor, &mut writer).err() {
                match error {
                    OfTensor::Sink(error) => return Err(error),
                    OfTensor::Values(failure) => {
                        failed = Some(failure);
                        break;
                    }
                }
            }
            progress.advance(tensor.tensor.values.stored_bytes());
        }
        Ok(writer)
    });
    let written = match failed {
        Some(failure) => return Err(failure),
        None => written.and_then(|writer| writer.finish().map(|_| ())),
    };
    sink.judge(written)?;
    Ok((file, bytes))
}

/// A failure to store a tensor.
enum OfTensor {
    Sink(nanoembed_core::Error),
    Values(Error),
}

fn one(
    wanted: &Wanted<'_, '_>,
    writer: &mut SafetensorsWriter<&mut FileSink<'_>>,
) -> std::result::Result<(), OfTensor> {
    if let Values::Weight(weight) = &wanted.tensor.values
        && let nanoembed_core::tensor::Encoding::Plain { dtype, data } = *weight.encoding()
        && dtype == wanted.dtype
    {
        return writer.data(data).map_err(OfTensor::Sink);
    }
    let mut bytes = Vec::new();
    let mut failed = None;
    let read = wanted.tensor.pieces(|values| {
        let length = values.len() * wanted.dtype.block_bytes();
        bytes.truncate(length);
        let done = limit::grow(&mut bytes, length, 0)
            .and_then(|()| quantize(wanted.dtype, values, &mut bytes))
            .and_then(|()| writer.data(&bytes));
        done.map_err(|error| {
            failed = Some(error);
            Error::bad_input("")
        })
    });
    match failed {
        Some(error) => Err(OfTensor::Sink(error)),
        None => read.map_err(OfTensor::Values),
    }
}
