//! What `verify` checks of a file: one file a format.

mod embd;
mod finalfusion;

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::sniff;
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;

use crate::error::hint;
use crate::word_vectors::policy::PolicyArgs;

/// One thing that is wrong. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    file: String,
    pub(crate) offset: u64,
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
    #[serde(skip)]
    pub(crate) hint: Option<&'static str>,
}

impl Finding {
    fn new(file: &str, error: Error) -> Self {
        Self {
            file: file.to_owned(),
            offset: error.offset,
            code: error.code(),
            name: error.kind.name(),
            message: error.message().to_owned(),
            hint: hint(error.kind),
        }
    }
}

/// Checks a file of any format: what was checked, or what is wrong.
pub(crate) fn verify(
    name: &str,
    bytes: &[u8],
    mode: Mode,
    policy: PolicyArgs,
    quiet: bool,
) -> Result<String, Vec<Finding>> {
    match sniff(bytes) {
        Some(Format::Embd) => embd::verify(name, bytes, mode, quiet),
        Some(Format::Finalfusion) => finalfusion::verify(name, bytes, (mode, policy), quiet),
        _ => Err(vec![Finding::new(name, Error::new(0, ErrorKind::UnknownFormat))]),
    }
}
