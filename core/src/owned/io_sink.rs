//! Writing to what Rust's standard library writes to.

use std::io;

use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;

/// A sink over an `io::Write`, which keeps the `io::Error` that made a call fail.
///
/// ```
/// use nanoembed_core::ErrorKind;
/// use nanoembed_core::owned::IoSink;
/// use nanoembed_core::sink::Sink;
///
/// let mut room = [0; 4];
/// let mut sink = IoSink::new(&mut room[..]);
/// sink.write(b"four")?;
/// assert_eq!(sink.write(b"!").map_err(|error| error.kind()), Err(ErrorKind::WriteFailed));
/// assert!(sink.take_error().is_some());
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Debug)]
pub struct IoSink<W> {
    writer: W,
    error: Option<io::Error>,
}

impl<W: io::Write> IoSink<W> {
    /// Writes to `writer`, which is best buffered.
    pub const fn new(writer: W) -> Self {
        Self { writer, error: None }
    }

    /// The error behind the last [`ErrorKind::WriteFailed`]; none the second time.
    pub const fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: io::Write> Sink for IoSink<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| {
            self.error = Some(error);
            Error::without_offset(ErrorKind::WriteFailed)
        })
    }
}
