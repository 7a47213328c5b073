//! Lines on stdout or in a file: buffered, with a closed pipe being a quiet end.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use nanoembed::files::new_file::NewFile;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::streams::{self, Stdout};

/// Buffered lines.
pub(crate) struct Lines<W: Write> {
    to: BufWriter<W>,
    name: String,
}

impl Lines<Stdout> {
    pub(crate) fn stdout() -> Self {
        Self { to: BufWriter::new(streams::stdout()), name: "stdout".into() }
    }
}

impl Lines<anstream::AutoStream<io::StdoutLock<'static>>> {
    /// Lines whose styles are left out where nobody sees them: not a terminal, or `NO_COLOR`.
    pub(crate) fn styled() -> Result<Self> {
        streams::check_stdout().map_err(|error| Error::writing("stdout", &error))?;
        let stdout = anstream::AutoStream::auto(io::stdout().lock());
        Ok(Self { to: BufWriter::new(stdout), name: "stdout".into() })
    }
}

impl Lines<NewFile> {
    /// Lines of a file that appears when [`commit`](Self::commit) is called.
    pub(crate) fn of(file: NewFile) -> Self {
        Self { name: file.name(), to: BufWriter::new(file) }
    }

    /// Puts the whole file in its place.
    pub(crate) fn commit(self) -> Result<()> {
        let Self { to, name } = self;
        let file = to.into_inner().map_err(|error| Error::writing(name, &error.into_error()))?;
        file.commit()
    }
}

impl<W: Write> Lines<W> {
    /// One line of text; styles in it are for [`Lines::styled`].
    pub(crate) fn text(&mut self, line: impl Display) -> Result<()> {
        writeln!(self.to, "{line}").map_err(|error| self.failed(error))
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.to, value).map_err(|error| self.failed(error.into()))?;
        self.to.write_all(b"\n").map_err(|error| self.failed(error))
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
