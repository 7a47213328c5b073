//! `inspect`: the description that a file gives of itself, without reading its weights.

mod amb;
mod embd;
mod finalfusion;
mod gguf;
mod safetensors;
mod tensors;
mod uqff;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::inspect::inspection::{Inspection, Summary, inspect_files};
use nanoembed::stored::FileSet;

use crate::error::{self, Result};
use crate::output::lines::LineWriter;

/// Show a file's header, metadata, tokenizer and tensors, without reading all of its weights
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed inspect model.weights
  nanoembed inspect --json *.weights | jq '.tensors | length'
  nanoembed inspect q4k-0.uqff
  nanoembed inspect all-MiniLM-L6-v2/
  curl -s https://example.org/model.weights | nanoembed inspect -

The shards of a UQFF file, `NAME-0.uqff`, `NAME-1.uqff` …, are opened together.

With `--json` every file is one line:
  {\"file\", \"format\", \"variant\", \"file_bytes\", \"metadata\", \"tokenizer\", …,
   \"tensors\": [{\"name\", \"dtype\", \"shape\", \"offset\", \"bytes\"}], \"fingerprint\"}
\"fingerprint\" is that of the model's vectors, if it embeds texts: vectors may be compared if theirs
are equal.
UQFF has \"shards\" and \"layers\" besides:
  \"layers\": [{\"name\", \"format\", \"dtype\", \"shape\", \"bits_per_weight\", \"bias\", …}]")]
pub(crate) struct Inspect {
    /// Files or folders to look into; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// One line of JSON for every file
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut lines = LineWriter::stdout();
        let mut first = true;
        let mut status = 0;
        for set in FileSet::open_each(&self.files) {
            let inspection = match set.and_then(|set| inspect_files(&set)) {
                Ok(inspection) => inspection,
                Err(failure) => {
                    error::print(&failure);
                    status = status.max(error::exit_code(&failure));
                    continue;
                }
            };
            if self.json {
                lines.json(&inspection)?;
                continue;
            }
            if !std::mem::take(&mut first) {
                lines.text("")?;
            }
            for line in text(&inspection) {
                lines.text(line)?;
            }
        }
        lines.finish()?;
        Ok(ExitCode::from(status))
    }
}

/// An inspection as lines for people.
fn text(inspection: &Inspection) -> Vec<String> {
    let fingerprint = inspection.fingerprint();
    match inspection.summary() {
        Summary::Amb(summary) => amb::text(summary, fingerprint),
        Summary::Embd(summary) => embd::text(summary, fingerprint),
        Summary::Finalfusion(summary) => finalfusion::text(summary),
        Summary::Gguf(summary) => gguf::text(summary, fingerprint),
        Summary::Safetensors(summary) => safetensors::text(summary, fingerprint),
        Summary::Uqff(summary) => uqff::text(summary, fingerprint),
        Summary::Words(summary) => words::text(summary),
    }
}
