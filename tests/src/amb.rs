//! Synthetic AMB files: any tensors, written by the project's writer.

use nanoembed_core::Error;
use nanoembed_core::format::amb::{AmbPlan, AmbTensorSpec, AmbWriter};

/// Writes `plan` with the tensors' data, which is concatenated in `data`.
///
/// # Errors
///
/// As the writer.
pub fn write(plan: AmbPlan<'_>, data: &[u8]) -> Result<Vec<u8>, Error> {
    let mut writer = AmbWriter::new(plan, Vec::new())?;
    writer.data(data)?;
    writer.finish()
}

/// A file with only these tensors and a checksum.
///
/// # Errors
///
/// As the writer.
pub fn file_with_tensors(tensors: &[AmbTensorSpec<'_>], data: &[u8]) -> Result<Vec<u8>, Error> {
    write(AmbPlan { metadata: "{}", config: "{}", tokenizer: None, tensors, checksum: true }, data)
}
