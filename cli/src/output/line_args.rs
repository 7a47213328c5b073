//! The file and form of the lines for texts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nanoembed::files::new_file::NewFile;

use super::create;
use super::form::{Form, form_of};
use super::lines::LineWriter;
use crate::error::Result;

/// The options of commands that write a line for each text.
#[derive(Args, Debug)]
pub(crate) struct LineArgs {
    /// Write to a file, which appears when it is complete; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,

    /// Format of results [default: by the ending of FILE, `.txt` or `.jsonl`; text to stdout]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Output")]
    format: Option<LineForm>,

    /// The same as `--format jsonl`
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
}

/// A form of the line for each text.
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

impl LineArgs {
    pub(crate) fn form(&self) -> Result<LineForm> {
        let asked = self.json.then_some(LineForm::Jsonl).or(self.format);
        form_of(&self.output, asked, LineForm::Text)
    }

    pub(crate) fn create(&self) -> Result<LineWriter<NewFile>> {
        Ok(LineWriter::new(create(&self.output, false)?))
    }
}
