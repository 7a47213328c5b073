//! Masked language models.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Read, Value};

/// Rejects a masked language model if nothing tells how to embed texts with it: some, such as
/// SPLADE, use the scores of the head, and others the hidden states.
pub(super) fn refuse_masked(config: Value<'_>) -> Read<'_, ()> {
    let architectures = config.member("architectures").into_iter().flat_map(|list| list.items());
    let mut masked =
        architectures.filter(|it| it.as_text().is_some_and(|name| name.ends_with("ForMaskedLM")));
    let Some(masked) = masked.next() else { return Ok(()) };
    Err(Fault {
        error: Error::new(masked.offset(), ErrorKind::UnsupportedSetting),
        key: "architectures",
        only: "there is no `modules.json` that says how an embedding is made of its tokens; for SPLADE it lists MLMTransformer and SpladePooling",
    })
}
