//! Lines on stdout: buffered, with a closed pipe being a quiet end.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::error::{Failure, Result};

/// Buffered lines on stdout.
pub(crate) struct Lines<W: Write> {
    to: BufWriter<W>,
}

impl Lines<io::StdoutLock<'static>> {
    pub(crate) fn stdout() -> Self {
        Self { to: BufWriter::new(io::stdout().lock()) }
    }
}

impl Lines<anstream::AutoStream<io::StdoutLock<'static>>> {
    /// Lines whose styles are left out where nobody sees them: not a terminal, or `NO_COLOR`.
    pub(crate) fn styled() -> Self {
        Self { to: BufWriter::new(anstream::AutoStream::auto(io::stdout().lock())) }
    }
}

impl<W: Write> Lines<W> {
    /// One line of text; styles in it are for [`Lines::styled`].
    pub(crate) fn text(&mut self, line: impl Display) -> Result<()> {
        writeln!(self.to, "{line}").map_err(failed)
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.to, value).map_err(|error| failed(error.into()))?;
        self.to.write_all(b"\n").map_err(failed)
    }

    /// Hands on what there is: someone may be waiting for it at the other end of a pipe.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.to.flush().map_err(failed)
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.to.flush().map_err(failed)
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::writing("stdout", &error)
}
