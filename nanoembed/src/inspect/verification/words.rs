//! Word vectors of other programs: read whole, as `convert` reads them.

use super::Finding;
use crate::progress::Observer;
use crate::words::convert::check;
use crate::words::policy::Policy;

/// A description of the check, or the faults; `None` if it is no file of word vectors.
pub(super) fn verify(
    name: &str,
    bytes: &[u8],
    policy: Policy,
    observer: &dyn Observer,
) -> Option<Result<String, Vec<Finding>>> {
    let checked = check((name, bytes), policy, observer).transpose()?;
    Some(checked.map_err(|failure| vec![Finding::from_error(name, failure)]))
}
