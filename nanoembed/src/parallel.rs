//! Results of several threads. Without memory for them there is an error.

use nanoembed_core::{Error, limit};
use rayon::prelude::*;

/// All results in their order, or the first error. Memory for them is reserved before the threads
/// start.
///
/// # Errors
///
/// The first error among the results; [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn gathered<T: Send>(
    results: impl IndexedParallelIterator<Item = Result<T, Error>>,
) -> Result<Vec<T>, Error> {
    let mut all = limit::reserved(results.len())?;
    results.collect_into_vec(&mut all);
    limit::gathered(all)
}
