//! Synthetic AMB files: any tensors, written by the project's writer.

use nanoembed_core::Error;
use nanoembed_core::format::amb::{Plan, TensorSpec, Writer};

/// Writes `plan` with the tensors' data, which is concatenated in `data`.
///
/// # Errors
///
/// As the writer.
pub fn write(plan: Plan<'_>, data: &[u8]) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(plan, Vec::new())?;
    writer.data(data)?;
    writer.finish()
}

/// A file with only these tensors and a checksum.
///
/// # Errors
///
/// As the writer.
pub fn file_with_tensors(tensors: &[TensorSpec<'_>], data: &[u8]) -> Result<Vec<u8>, Error> {
    write(Plan { metadata: "{}", config: "{}", tokenizer: None, tensors, checksum: true }, data)
}
