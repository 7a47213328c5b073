//! Word vectors of other programs: read whole, as `convert` reads them.

use super::Finding;
use crate::word_vectors::convert::check;
use crate::word_vectors::policy::PolicyArgs;

/// What was checked, or what is wrong; `None` if it is no file of word vectors.
pub(super) fn verify(
    name: &str,
    bytes: &[u8],
    policy: PolicyArgs,
    quiet: bool,
) -> Option<Result<String, Vec<Finding>>> {
    let checked = check((name, bytes), policy, quiet).transpose()?;
    Some(checked.map_err(|failure| vec![Finding::of(name, failure)]))
}
