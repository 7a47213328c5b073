//! Inspection, verification, conversion and quantisation of files.

use std::path::PathBuf;

use nanoembed::Choice;
use nanoembed::convert::{
    Conversion, Converted, Glob, ModelTarget, QuantType, Quantization, WeightType, WrittenFile,
};
use nanoembed::inspect::{Verification, inspect};
use nanoembed::words::{self, OnBrokenUtf8, OnDuplicate, Policy};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::OrException;
use crate::model::role;
use crate::threads;
use crate::watch::interruptible;

/// The description of a file, as JSON.
#[pyfunction]
pub(crate) fn inspection(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let pool = threads::usual()?;
    let inspected = py.detach(|| pool.install(|| inspect(&path)));
    Ok(inspected.or_exception(py)?.to_json())
}

/// The outcome of a check, as JSON.
#[pyfunction]
pub(crate) fn verification(
    py: Python<'_>,
    path: PathBuf,
    strict: bool,
    duplicates: &str,
    utf8: &str,
) -> PyResult<(String, String)> {
    let policy = policy(duplicates, utf8)?;
    let verification = Verification::new(path).strict(strict).policy(policy);
    let verified = interruptible(py, |observer| verification.run(observer))?;
    Ok((verified.checked, json!(verified.findings).to_string()))
}

fn policy(duplicates: &str, utf8: &str) -> PyResult<Policy> {
    let policy = Policy::default().duplicates(named::<OnDuplicate>("duplicates", duplicates)?);
    Ok(policy.utf8(named::<OnBrokenUtf8>("utf8", utf8)?))
}

/// The value of this name.
pub(crate) fn named<T: Choice>(argument: &str, name: &str) -> PyResult<T> {
    T::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = T::ALL.iter().map(|value| value.name()).collect();
        PyValueError::new_err(format!("{argument}={name:?} is not one of {}", names.join(", ")))
    })
}

/// Options for converting a model.
#[derive(FromPyObject)]
pub(crate) struct ModelOptions {
    #[pyo3(item)]
    block: Option<u16>,
    #[pyo3(item)]
    bits: Option<f64>,
    #[pyo3(item)]
    for_web: bool,
    #[pyo3(item)]
    config: Option<PathBuf>,
    #[pyo3(item)]
    vocab: Option<PathBuf>,
    #[pyo3(item)]
    calibrate: Option<PathBuf>,
    #[pyo3(item)]
    pooler: bool,
    #[pyo3(item)]
    name: Option<String>,
    #[pyo3(item)]
    metadata: Vec<(String, String)>,
    /// `query` or `document`.
    #[pyo3(item)]
    role: Option<String>,
    #[pyo3(item)]
    allow_unknown: Vec<String>,
    #[pyo3(item)]
    adapter: Option<PathBuf>,
}

impl ModelOptions {
    fn applied_to(self, conversion: Conversion) -> PyResult<Conversion> {
        let conversion = conversion
            .role(role(self.role.as_deref())?)
            .block(self.block)
            .bits(self.bits)
            .for_web(self.for_web)
            .config(self.config)
            .vocab(self.vocab)
            .calibrate(self.calibrate)
            .pooler(self.pooler)
            .name(self.name)
            .allow_unknown(self.allow_unknown)
            .adapter(self.adapter);
        let entries = self.metadata.into_iter();
        Ok(entries.fold(conversion, |conversion, (key, value)| conversion.metadata(key, value)))
    }
}

/// True if the ending of a path is that of a model.
#[pyfunction]
pub(crate) fn is_model_name(path: PathBuf) -> bool {
    ModelTarget::from_ending(&path).is_some()
}

/// Converts a model; the result as JSON.
#[pyfunction]
pub(crate) fn convert_model(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    weight_type: &str,
    options: ModelOptions,
) -> PyResult<String> {
    let conversion = options.applied_to(Conversion::new(input, output))?;
    let conversion = conversion.weight_type(named::<WeightType>("type", weight_type)?);
    let converted = interruptible(py, |observer| conversion.run(observer))?;
    Ok(json_of_model(&converted).to_string())
}

fn json_of_model(converted: &Converted) -> Value {
    json!({
        "files": json_of_files(&converted.files),
        "tensors": converted.tally.tensors,
        "left_out": converted.left_out,
    })
}

/// The paths and sizes of files that were written.
pub(crate) fn json_of_files(files: &[WrittenFile]) -> Vec<Value> {
    let file = |file: &WrittenFile| json!({ "path": file.path, "bytes": file.bytes });
    files.iter().map(file).collect()
}

/// Options for converting word vectors.
#[derive(FromPyObject)]
pub(crate) struct WordOptions {
    #[pyo3(item)]
    duplicates: String,
    #[pyo3(item)]
    utf8: String,
    #[pyo3(item)]
    normalize: bool,
    #[pyo3(item)]
    normalized: bool,
    #[pyo3(item)]
    first: Option<u64>,
    #[pyo3(item)]
    ignore_count: bool,
    #[pyo3(item)]
    metadata: Vec<(String, String)>,
}

/// Converts word vectors; the result as JSON.
#[pyfunction]
pub(crate) fn convert_words(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    options: WordOptions,
) -> PyResult<String> {
    let conversion = words::Conversion::new(input, output)
        .policy(policy(&options.duplicates, &options.utf8)?)
        .normalize(options.normalize)
        .normalized(options.normalized)
        .first(options.first)
        .ignore_count(options.ignore_count);
    let entries = options.metadata.into_iter();
    let conversion =
        entries.fold(conversion, |conversion, (key, value)| conversion.metadata(key, value));
    let report = interruptible(py, |observer| conversion.run(observer))?;
    Ok(json!({
        "words": report.words,
        "subwords": report.subwords,
        "dimensions": report.cols,
        "repeated": report.repeated,
    })
    .to_string())
}

/// Stores weights in fewer bits, or word vectors as codes; the result as JSON.
#[pyfunction]
pub(crate) fn quantize(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    type_name: &str,
    include: Vec<String>,
    exclude: Vec<String>,
    bits: Option<u32>,
) -> PyResult<String> {
    if type_name == "pq" {
        let usual = words::Quantization::new(input, output);
        let quantization = match bits {
            Some(bits) => usual.code_bits(bits),
            None => usual,
        };
        if !include.is_empty() || !exclude.is_empty() {
            return Err(PyValueError::new_err("include and exclude are not for type=\"pq\""));
        }
        let report = interruptible(py, |observer| quantization.run(observer))?;
        return Ok(json!({ "bits": report.bits, "nmse": report.nmse }).to_string());
    }
    if bits.is_some() {
        return Err(PyValueError::new_err("bits is for type=\"pq\""));
    }
    let quant_type = named::<QuantType>("type", type_name)?;
    let quantization = Quantization::new(input, output, quant_type);
    let quantization = quantization.include(globs(&include)?).exclude(globs(&exclude)?);
    let quantized = interruptible(py, |observer| quantization.run(observer))?;
    Ok(json!({
        "files": json_of_files(&quantized.written),
        "tensors": quantized.outcomes,
    })
    .to_string())
}

fn globs(patterns: &[String]) -> PyResult<Vec<Glob>> {
    let parse = |pattern: &String| Glob::parse(pattern).map_err(PyValueError::new_err);
    patterns.iter().map(parse).collect()
}
