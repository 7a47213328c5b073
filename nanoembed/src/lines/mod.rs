//! The lines of a file, with their numbers and places.
//!
//! | file | role |
//! |---|---|
//! | `json_line` | a line that is a JSON object with a text |
//! | `surrogates` | halves of characters in JSON |

pub mod json_line;
mod surrogates;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use nanoembed_core::ErrorKind;

use crate::error::{Error, Result, name_of};
use crate::files::BYTE_ORDER_MARK;

/// Longer lines are refused: they are hardly text, and would be held in memory whole.
const MOST_BYTES: u64 = 64 << 20;

/// The message to users about `count` parts of files that could not be used, such as lines (`part` is
/// the word for one), what became of them, and the error of the first.
#[must_use]
pub fn told_of_unusable(count: u64, part: &str, became: &str, first: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {part}{plural} {became}, the first: {first}")
}

/// The lines of a file, with their numbers.
pub struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    name: String,
    lossy: Option<bool>,
    most_bytes: u64,
    number: u64,
    /// Offset of the current line in the file.
    start: u64,
    next: u64,
}

impl Lines {
    /// The lines that `reader` reads of the file called `name`. `lossy` is the option of this name:
    /// `None` if the caller has none.
    pub fn new(name: String, reader: Box<dyn Read + Send>, lossy: Option<bool>) -> Self {
        let reader = BufReader::with_capacity(1 << 16, reader);
        Self { reader, name, lossy, most_bytes: MOST_BYTES, number: 0, start: 0, next: 0 }
    }

    /// Opens the file at `path`.
    pub fn open(path: &Path, lossy: Option<bool>) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::reading(name_of(path), &error))?;
        Ok(Self::new(name_of(path), Box::new(file), lossy))
    }

    /// These lines, with another limit on the bytes of a line.
    pub fn with_most_bytes(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// The name that messages give to the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line that came last, from 1.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the last line, its end included.
    pub const fn line_bytes(&self) -> u64 {
        self.next.saturating_sub(self.start)
    }

    /// The next line, without its end and, at the file's start, without a byte order mark. After an
    /// error that is about the line and not about reading, the next line can be asked for.
    pub fn next_line(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        let limited = &mut self.reader.by_ref().take(self.most_bytes + 1);
        let read = limited
            .read_until(b'\n', &mut line)
            .map_err(|error| Error::reading(&self.name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.start = self.next;
        self.next += read as u64;
        if line.len() as u64 > self.most_bytes {
            self.skip_line(line.ends_with(b"\n"))?;
            return Err(Error::bad_input(format!("longer than {} bytes", self.most_bytes))
                .at(&self.name)
                .at(format_args!("line {}", self.number)));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { &[] };
        let text = text.strip_prefix(mark).unwrap_or(text);
        match str::from_utf8(text) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) if self.lossy == Some(true) => {
                Ok(Some(String::from_utf8_lossy(text).into_owned()))
            }
            Err(error) => {
                let failure =
                    self.refuse(ErrorKind::InvalidUtf8, error.valid_up_to(), "not valid UTF-8");
                Err(match self.lossy {
                    Some(_) => failure.with_hint("`--lossy` replaces such bytes"),
                    None => failure,
                })
            }
        }
    }

    /// Reads to the end of a line that is too long to be kept.
    fn skip_line(&mut self, is_at_end: bool) -> Result<()> {
        let mut is_at_end = is_at_end;
        while !is_at_end {
            let bytes =
                self.reader.fill_buf().map_err(|error| Error::reading(&self.name, &error))?;
            if bytes.is_empty() {
                return Ok(());
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            is_at_end = end.is_some();
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            self.next += used as u64;
        }
        Ok(())
    }

    /// The error of the current line, which is bad at its byte `at`.
    pub fn refuse(&self, kind: ErrorKind, at: usize, message: impl Into<String>) -> Error {
        let offset = self.start.saturating_add(at as u64);
        Error::input(kind, message)
            .at(&self.name)
            .at(format_args!("line {}", self.number))
            .at_byte(offset)
    }
}
