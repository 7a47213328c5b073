//! `inspect`: all that a file says of itself, without reading its weights.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::error::Result;
use crate::inspection;
use crate::mapped::Mapped;
use crate::output::lines::Lines;

/// Show a file's header, metadata, tokenizer and tensors, without reading its weights
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed inspect model.weights
  nanoembed inspect --json *.weights | jq '.tensors | length'
  curl -s https://example.org/model.weights | nanoembed inspect -

With `--json` every file is one line:
  {\"file\", \"format\", \"variant\", \"file_bytes\", \"metadata\", \"tokenizer\", …,
   \"tensors\": [{\"name\", \"dtype\", \"shape\", \"offset\", \"bytes\"}]}")]
pub(crate) struct Inspect {
    /// Files to look into; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// One line of JSON for every file
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut lines = Lines::stdout();
        for (ordinal, path) in self.files.iter().enumerate() {
            let file = Mapped::open(path)?;
            let inspection = inspection::inspect(path, &file)?;
            if self.json {
                lines.text(&inspection.json)?;
                continue;
            }
            if ordinal > 0 {
                lines.text("")?;
            }
            for line in inspection.text {
                lines.text(line)?;
            }
        }
        lines.finish()?;
        Ok(ExitCode::SUCCESS)
    }
}
