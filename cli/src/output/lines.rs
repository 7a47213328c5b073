//! Lines on stdout or in a file: buffered, with a closed pipe being a quiet end. Control characters
//! are escaped, but for text in files.

use std::fmt::{Arguments, Display};
use std::io::{self, BufWriter, Write};

use nanoembed::escape;
use nanoembed::files::new_file::NewFile;
use serde::Serialize;

use super::json;
use crate::error::{Error, Result};
use crate::streams::{self, Stdout};

/// Buffered lines.
pub(crate) struct LineWriter<W: Write> {
    to: BufWriter<W>,
    name: String,
    /// True if lines are flushed as they come, because people may read along.
    is_shown: bool,
}

impl LineWriter<Stdout> {
    pub(crate) fn stdout() -> Self {
        Self { to: BufWriter::new(streams::stdout()), name: "stdout".into(), is_shown: true }
    }
}

impl LineWriter<anstream::AutoStream<io::StdoutLock<'static>>> {
    /// Writer of styled lines, whose styles are left out where nobody sees them: not a terminal, or `NO_COLOR`.
    pub(crate) fn styled() -> Result<Self> {
        streams::check_stdout().map_err(|error| Error::writing("stdout", &error))?;
        let stdout = anstream::AutoStream::auto(io::stdout().lock());
        Ok(Self { to: BufWriter::new(stdout), name: "stdout".into(), is_shown: true })
    }
}

impl LineWriter<NewFile> {
    /// Writer of lines to a file that appears when [`commit`](Self::commit) is called.
    pub(crate) fn new(file: NewFile) -> Self {
        Self { name: file.name(), is_shown: file.is_stream(), to: BufWriter::new(file) }
    }

    /// Puts the whole file in its place.
    pub(crate) fn commit(self) -> Result<()> {
        let Self { to, name, .. } = self;
        let file = to.into_inner().map_err(|error| Error::writing(name, &error.into_error()))?;
        file.commit()
    }
}

impl<W: Write> LineWriter<W> {
    /// One line of text.
    pub(crate) fn text(&mut self, line: impl Display) -> Result<()> {
        self.text_after(format_args!(""), line)
    }

    /// The same with a prefix that may have styles: for [`LineWriter::styled`].
    pub(crate) fn text_after(&mut self, own: Arguments<'_>, line: impl Display) -> Result<()> {
        let line = line.to_string();
        let line = if self.is_shown { escape::line(&line) } else { line.into() };
        writeln!(self.to, "{own}{line}").map_err(|error| self.failed(error))
    }

    /// A text of several lines.
    pub(crate) fn block(&mut self, text: &str) -> Result<()> {
        let text = if self.is_shown { escape::lines(text) } else { text.into() };
        writeln!(self.to, "{text}").map_err(|error| self.failed(error))
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        json::write_line(&mut self.to, value).map_err(|error| self.failed(error))
    }

    /// Hands on what there is: someone may be waiting for it at the other end of a pipe.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.to.flush().map_err(|error| self.failed(error))
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::writing(&self.name, &error)
    }
}
