//! Weights of files as they are stored: brought into other formats, turned into floats, compared.

use std::path::PathBuf;

use nanoembed::Progress;
use nanoembed::convert::{Dequantization, Float, Migration, Target, Writing};
use nanoembed::inspect::Comparison;
use nanoembed::stored::FileSet;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;

use crate::error::OrException;
use crate::files::{json_of_files, named};
use crate::watch::interruptible;

/// Options for writing weights.
#[derive(FromPyObject)]
pub(crate) struct WritingOptions {
    #[pyo3(item)]
    to: Option<String>,
    #[pyo3(item)]
    names: Option<PathBuf>,
    #[pyo3(item)]
    config: Option<PathBuf>,
    #[pyo3(item)]
    keep_names: bool,
    #[pyo3(item)]
    like: Option<PathBuf>,
    #[pyo3(item)]
    shard_bytes: Option<u64>,
    #[pyo3(item)]
    report: bool,
    #[pyo3(item)]
    residual: Option<PathBuf>,
}

impl WritingOptions {
    fn writing(self) -> PyResult<Writing> {
        let to = self.to.map(|name| named::<Target>("to", &name)).transpose()?;
        let writing = Writing::default()
            .to(to)
            .names(self.names)
            .config(self.config)
            .keep_names(self.keep_names)
            .like(self.like)
            .report(self.report)
            .residual(self.residual);
        Ok(match self.shard_bytes {
            Some(bytes) => writing.shard_size(bytes),
            None => writing,
        })
    }
}

/// Brings weights into another format as they are; the files as JSON.
#[pyfunction]
pub(crate) fn migrate(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    output: PathBuf,
    options: WritingOptions,
) -> PyResult<String> {
    let migration = Migration::new(inputs, output).writing(options.writing()?);
    let written = interruptible(py, |observer| migration.run(observer))?;
    Ok(json!({ "files": json_of_files(&written) }).to_string())
}

/// Writes all tensors as floats; the file as JSON.
#[pyfunction]
pub(crate) fn dequantize(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    type_name: &str,
) -> PyResult<String> {
    let float = named::<Float>("type", type_name)?;
    let dequantization = Dequantization::new(input, output).float(float);
    let written = interruptible(py, |observer| dequantization.run(observer))?;
    Ok(json!({ "files": json_of_files(&[written]) }).to_string())
}

/// The differences between the tensors of two files, as JSON.
#[pyfunction]
pub(crate) fn differences(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    names: Option<PathBuf>,
) -> PyResult<String> {
    let comparison = Comparison::new(a, b).names(names);
    let differences = interruptible(py, |observer| comparison.run(observer))?;
    Ok(json!(differences).to_string())
}

/// A tensor of a file in f32, which an array of NumPy shares.
#[pyclass(frozen)]
pub(crate) struct Floats {
    values: Vec<f32>,
    shape: Vec<u64>,
}

#[pymethods]
impl Floats {
    /// Dequantises the tensor called `name`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, name: &str) -> PyResult<Self> {
        let set = FileSet::open(&path).or_exception(py)?;
        interruptible(py, |observer| {
            let contents = set.contents()?;
            let tensor = contents.wanted(name, &set.name())?;
            let stored = &tensor.values;
            let bytes = stored.elements().saturating_mul(4);
            let progress = Progress::bytes(observer, "dequantising", bytes);
            let mut values = Vec::new();
            tensor.pieces(|piece| {
                values.extend_from_slice(piece);
                progress.advance(piece.len() as u64 * 4);
                Ok(())
            })?;
            Ok(Self { values, shape: stored.shape().dims().to_vec() })
        })
    }

    /// NumPy's array interface: the array shares this memory.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", "<f4")?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.values.as_ptr().addr(), true))?;
        Ok(interface)
    }
}
