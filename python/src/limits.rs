//! Limits on the memory that a file makes the library take.

use nanoembed::Limits;
use pyo3::prelude::*;

/// `nanoembed.Limits`, whose attributes these are.
#[derive(FromPyObject)]
pub(crate) struct Given {
    file_bytes: u64,
    session_bytes: u64,
}

/// The limits that were given, else the library's defaults.
pub(crate) fn limits(given: Option<&Given>) -> Limits {
    given.map_or_else(Limits::default, |&Given { file_bytes, session_bytes }| Limits {
        file_bytes,
        session_bytes,
    })
}
