//! Numbers and strings from a file in memory, each checked against its end.

use std::fmt;

use nanoembed_core::{Error as CoreError, ErrorKind, limit};

/// A fault and its place.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) offset: u64,
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

/// What has no place in the file.
impl From<CoreError> for Wrong {
    fn from(error: CoreError) -> Self {
        Self { offset: 0, kind: error.kind(), message: error.message().into() }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Wrong>;

/// Names with commas between them.
struct Names<'n>(&'n [&'static str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}{name}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// A place in a file.
#[derive(Debug)]
pub(crate) struct Cursor<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> Cursor<'f> {
    pub(crate) const fn new(file: &'f [u8]) -> Self {
        Self { file, at: 0 }
    }

    pub(crate) const fn offset(&self) -> u64 {
        self.at as u64
    }

    pub(crate) const fn file(&self) -> &'f [u8] {
        self.file
    }

    pub(crate) const fn file_bytes(&self) -> u64 {
        self.file.len() as u64
    }

    /// The item of `bytes` bytes before this place is wrong.
    pub(crate) fn wrong(&self, bytes: u64, kind: ErrorKind, message: impl Into<String>) -> Wrong {
        self.wrong_at(self.offset().saturating_sub(bytes), kind, message)
    }

    pub(crate) fn wrong_at(
        &self,
        offset: u64,
        kind: ErrorKind,
        message: impl Into<String>,
    ) -> Wrong {
        Wrong { offset, kind, message: message.into() }
    }

    fn ended(&self) -> Wrong {
        let kind = ErrorKind::UnexpectedEnd;
        self.wrong_at(self.file.len() as u64, kind, kind.message())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.file.get(self.at..).and_then(<[u8]>::first_chunk);
        let array = *bytes.ok_or(self.ended())?;
        self.at += N;
        Ok(array)
    }

    /// An `i32` that is not negative.
    pub(crate) fn count(&mut self) -> Result<u32> {
        let number = i32::from_le_bytes(self.array()?);
        u32::try_from(number).map_err(|_| {
            let message = format!("{number} is less than none");
            self.wrong(4, ErrorKind::BadCount, message)
        })
    }

    /// An `i64` that is not negative.
    pub(crate) fn long_count(&mut self) -> Result<u64> {
        let number = i64::from_le_bytes(self.array()?);
        u64::try_from(number).map_err(|_| {
            let message = format!("{number} is less than none");
            self.wrong(8, ErrorKind::BadCount, message)
        })
    }

    /// An `i32` that stands for one of `names`, from 1 on.
    pub(crate) fn one_of(&mut self, names: &[&'static str]) -> Result<&'static str> {
        let number = self.count()?;
        let name = (number as usize).checked_sub(1).and_then(|at| names.get(at));
        let Some(name) = name else {
            let message = format_args!("{number} is none of {}", Names(names));
            return Err(self.wrong(4, ErrorKind::BadField, limit::formatted(message)?));
        };
        Ok(name)
    }

    /// A string that a zero ends.
    pub(crate) fn until_zero(&mut self) -> Result<&'f [u8]> {
        let rest = self.file.get(self.at..).unwrap_or(&[]);
        let length = rest.iter().position(|&byte| byte == 0).ok_or(self.ended())?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// As many bytes.
    pub(crate) fn take(&mut self, bytes: Option<u64>) -> Result<&'f [u8]> {
        let taken = bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .and_then(|bytes| self.file.get(self.at..self.at.checked_add(bytes)?));
        let taken = taken.ok_or(self.ended())?;
        self.at += taken.len();
        Ok(taken)
    }
}
