//! Adapters beside the weights, as peft saves them: transformers applies them, nobody does here.

use super::{FolderFault, FolderResult, Texts};
use crate::error::{Error, ErrorKind};
use crate::text::json::Fault;

/// The file that says how an adapter changes the model beside it.
const ADAPTER: &str = "adapter_config.json";

/// Refuses a transformer with an adapter in the same `folder`, which ends with `/` or is empty.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedSetting`] at the adapter's settings.
pub fn refuse_adapter(texts: Texts<'_, '_>, folder: &str) -> FolderResult<()> {
    let path = [folder, ADAPTER].concat();
    let fault = |error, only| FolderFault::new(&path, Fault { error, key: "", only });
    match texts(&path).map_err(|error| fault(error, ""))? {
        None => Ok(()),
        Some(_) => {
            let only = "adapters are not applied: merge it into the weights";
            Err(fault(Error::new(0, ErrorKind::UnsupportedSetting), only))
        }
    }
}
