//! Lines of bytes with their numbers and offsets, each read into the same memory.

use std::io::{self, BufRead};

use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::error::{Error, Result};
use crate::files::BYTE_ORDER_MARK;
use crate::words::number;

/// Longer lines are refused: no word has so many numbers.
const MAX_LINE_BYTES: usize = 64 << 20;

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
        let read = read_until(&mut self.stream, b'\n', MAX_LINE_BYTES + 1, &mut self.line)
            .map_err(|error| Error::reading(&self.name, &error))?;
        (self.start, self.next) = (self.next, self.next + read as u64);
        self.number += 1;
        if self.line.len() > MAX_LINE_BYTES {
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

    /// The failure for which the core stops at this file.
    pub fn failure(&self, error: CoreError) -> Error {
        Error::in_file(&self.name, error)
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

/// Appends the bytes up to and including the next `end` to `line`, at most `most`, in memory that
/// may be refused; returns their number.
pub(super) fn read_until(
    stream: &mut impl BufRead,
    end: u8,
    most: usize,
    line: &mut Vec<u8>,
) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let available = match stream.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        let available = &available[..available.len().min(most - read)];
        let end_at = available.iter().position(|&byte| byte == end);
        let taken = end_at.map_or(available.len(), |at| at + 1);
        limit::append(line, &available[..taken]).map_err(|_| io::ErrorKind::OutOfMemory)?;
        stream.consume(taken);
        read += taken;
        if end_at.is_some() || taken == 0 {
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_end_where_they_should_however_the_stream_is_cut() {
        for capacity in 1..8 {
            let mut stream = BufReader::with_capacity(capacity, &b"ab\n\nlonger than that"[..]);
            let mut next = |most| {
                let mut line = Vec::new();
                let read = read_until(&mut stream, b'\n', most, &mut line).unwrap();
                assert_eq!(read, line.len());
                line
            };
            assert_eq!(next(9), b"ab\n");
            assert_eq!(next(9), b"\n");
            assert_eq!(next(9), b"longer th");
            assert_eq!(next(20), b"an that");
            assert_eq!(next(20), b"");
        }
    }
}
