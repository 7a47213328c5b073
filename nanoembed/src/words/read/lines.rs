//! Lines of bytes with their numbers and offsets, each read into the same memory.

use std::io::{BufRead, Read};

use nanoembed_core::ErrorKind;

use crate::error::{Error, Result};
use crate::files::BYTE_ORDER_MARK;
use crate::words::number;

/// Longer lines are refused: no word has so many numbers.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// The lines of a stream.
pub struct ByteLines<R> {
    stream: R,
    name: String,
    line: Vec<u8>,
    number: u64,
    /// Offsets of the current line and of the next.
    start: u64,
    next: u64,
}

impl<R: BufRead> ByteLines<R> {
    pub const fn new(stream: R, name: String) -> Self {
        Self { stream, name, line: Vec::new(), number: 0, start: 0, next: 0 }
    }

    /// Reads the next line; `false` at the end.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let mut limited = self.stream.by_ref().take(MAX_LINE_BYTES + 1);
        let read = limited
            .read_until(b'\n', &mut self.line)
            .map_err(|error| Error::reading(&self.name, &error))?;
        (self.start, self.next) = (self.next, self.next + read as u64);
        self.number += 1;
        if self.line.len() as u64 > MAX_LINE_BYTES {
            return Err(self.bad(format!("longer than {MAX_LINE_BYTES} bytes")));
        }
        Ok(read > 0)
    }

    /// The current line without trailing blanks and line end, and, at the file's start, without a
    /// byte order mark.
    pub fn line(&self) -> &[u8] {
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { &[] };
        self.line.strip_prefix(mark).unwrap_or(&self.line).trim_ascii_end()
    }

    /// The number that `field` of the current line spells.
    pub fn parse_number(&self, field: &[u8]) -> Result<f32> {
        number::parse(field).map_err(|wrong| self.bad(wrong))
    }

    /// The bytes that have been read.
    pub const fn bytes_read(&self) -> u64 {
        self.next
    }

    /// The current line is bad.
    pub fn bad(&self, message: impl Into<String>) -> Error {
        self.refuse(Error::bad_input(message))
    }

    /// The current line is bad in a way that one of the core's causes names.
    pub fn bad_as(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        self.refuse(Error::input(kind, message))
    }

    /// `failure` with the current line as its place.
    pub fn refuse(&self, failure: Error) -> Error {
        failure.at(&self.name).at(format_args!("line {}", self.number)).at_byte(self.start)
    }
}
