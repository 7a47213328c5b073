//! The library's errors as exceptions: `nanoembed._errors` chooses the class by the code.

use std::error::Error as _;
use std::io;

use nanoembed::Error;
use pyo3::prelude::*;

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let path = error.path().map(|path| path.to_string_lossy().into_owned());
    let of_system = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let told = (
        error.code(),
        of_system.is_some_and(|error| error.kind() == io::ErrorKind::NotFound),
        error.kind().name(),
        error.to_string(),
        path,
        error.offset(),
        error.hint(),
        error.argument_name(),
    );
    let make = py.import("nanoembed._errors").and_then(|module| module.getattr("make"));
    match make.and_then(|make| make.call1(told)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Results of the library as Python's.
pub(crate) trait OrException<T> {
    /// The value, or the exception for the error.
    fn or_exception(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrException<T> for nanoembed::Result<T> {
    fn or_exception(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
