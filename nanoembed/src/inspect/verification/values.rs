//! Checks that all values are finite numbers, for strict mode.

use nanoembed_core::{Error as CoreError, ErrorKind};

use super::Finding;
use crate::progress::{Observer, Progress};
use crate::stored::{FileSet, Stored};

/// Dequantises everything. A finding for each tensor with a value that is no finite number, placed
/// at its data.
pub(super) fn not_finite(
    set: &FileSet,
    tensors: &[Stored<'_>],
    observer: &dyn Observer,
) -> Vec<Finding> {
    let total = tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
    let progress = Progress::bytes(observer, "verifying", total);
    let mut findings = Vec::new();
    for tensor in tensors {
        if let Some(element) = first_not_finite(tensor) {
            let error = CoreError::new(tensor.offset, ErrorKind::BadScale);
            let message = format!("element {element} of `{}` is no finite number", tensor.name);
            let finding = Finding::new(&set.name_of(tensor.file), error);
            findings.push(Finding { message, ..finding });
        }
        progress.advance(tensor.values.stored_bytes());
    }
    findings
}

fn first_not_finite(tensor: &Stored<'_>) -> Option<u64> {
    let (mut found, mut seen) = (None, 0);
    let looked = tensor.pieces(|values| {
        if found.is_none() {
            found = values.iter().position(|value| !value.is_finite()).map(|at| seen + at as u64);
        }
        seen += values.len() as u64;
        Ok(())
    });
    // Types that are no numbers by themselves have no values to look at.
    looked.ok().and(found)
}
