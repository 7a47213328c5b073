//! A file whose first bytes have been looked at and are still to be read.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::files::scratch;
use crate::signature::foreign;
use crate::signature::word_form::{Form, HEAD_BYTES};

/// A file at its start.
pub struct Start<'f> {
    pub name: String,
    pub head: Cow<'f, [u8]>,
    /// The file's length, where it has one.
    pub bytes: Option<u64>,
    rest: Box<dyn Read + 'f>,
}

impl<'f> Start<'f> {
    /// Opens `path`; `-` is stdin.
    pub fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let opened = (|| -> io::Result<Self> {
            let (mut rest, bytes): (Box<dyn Read>, _) = if path == Path::new("-") {
                (Box::new(io::stdin()), None)
            } else {
                let file = crate::files::whole_file::open(path)?;
                let bytes = file.metadata()?.len();
                // What is added while it is read is beyond the length that limits are checked by.
                (Box::new(file.take(bytes)), Some(bytes))
            };
            let mut head = Vec::new();
            rest.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
            Ok(Self { name: name.clone(), head: head.into(), bytes, rest })
        })();
        opened.map_err(|error| Error::reading(name, &error))
    }

    /// The start of a file that is in memory.
    pub fn from_bytes(name: &str, bytes: &'f [u8]) -> Self {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES));
        let rest = Box::new(Cursor::new(rest));
        Self { name: name.into(), head: head.into(), bytes: Some(bytes.len() as u64), rest }
    }

    /// The form that the first bytes tell.
    pub fn form(&self) -> Option<Form> {
        Form::sniff(&self.head, self.head.len() < HEAD_BYTES)
    }

    /// The error for a form that the first bytes do not tell: the likely kind of the file instead.
    pub fn unknown(&self) -> Error {
        let unknown = CoreError::new(0, ErrorKind::UnknownFormat);
        let at_end = self.head.len() < HEAD_BYTES;
        match foreign::seems(&self.head, at_end) {
            Some(foreign) => foreign.refuse(&self.name),
            None => Error::in_file(&self.name, unknown),
        }
    }

    /// The whole file as a stream.
    pub fn into_stream(self) -> impl BufRead + use<'f> {
        BufReader::with_capacity(1 << 18, Cursor::new(self.head).chain(self.rest))
    }

    /// The whole file, mapped; what comes through a pipe goes into an unnamed temporary file first.
    pub fn into_mapped(self, path: &Path) -> Result<MappedFile> {
        if path != Path::new("-") {
            return MappedFile::open(path);
        }
        let name = self.name.clone();
        let spooled = (|| -> io::Result<MappedFile> {
            let mut file = scratch::create()?;
            io::copy(&mut self.into_stream(), &mut file)?;
            io::Seek::rewind(&mut file)?;
            MappedFile::from_file(file)
        })();
        spooled.map_err(|error| Error::reading(name, &error))
    }
}
