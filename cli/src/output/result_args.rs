//! The file and form of results.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nanoembed::files::new_file::NewFile;

use super::create;
use super::form::{Form, form_of};
use super::lines::LineWriter;
use crate::error::Result;

/// The options of commands that write results, in one of the forms `F`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs<F: Readable> {
    /// Write to a file, which appears when it is complete; `-` is stdout
    #[arg(id = "output", long = "output", short, value_name = "FILE", default_value = "-")]
    pub(crate) path: PathBuf,

    /// Format of results [default: by the ending of FILE; text to stdout]
    #[arg(long, value_enum, value_name = "NAME")]
    format: Option<F>,

    /// The same as `--format jsonl`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Forms among which are text and lines of JSON.
pub(crate) trait Readable: Form + Send + Sync + 'static {
    /// Text, which stdout gets.
    const TEXT: Self;
    /// Lines of JSON.
    const JSONL: Self;
}

/// The options of commands that write lines.
pub(crate) type LineArgs = ResultArgs<LineForm>;

/// A form of the line for each result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineForm {
    /// The result alone, a line for each text
    Text,
    /// A JSON object for each text
    Jsonl,
}

impl Form for LineForm {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
        }
    }
}

impl Readable for LineForm {
    const TEXT: Self = Self::Text;
    const JSONL: Self = Self::Jsonl;
}

impl<F: Readable> ResultArgs<F> {
    pub(crate) fn form(&self) -> Result<F> {
        let asked = match self.json {
            true => Some(F::JSONL),
            false => self.format.clone(),
        };
        form_of(&self.path, asked, F::TEXT)
    }
}

impl LineArgs {
    pub(crate) fn create(&self) -> Result<LineWriter<NewFile>> {
        Ok(LineWriter::new(create(&self.path, false)?))
    }
}
