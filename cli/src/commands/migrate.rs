//! `migrate`: weights between the generations of UQFF, and between UQFF, GGUF and safetensors,
//! without requantising.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::convert::Migration;

use super::convert::report;
use crate::args::limits::{Read, each_file};
use crate::args::writing::WritingArgs;
use crate::error::{Error, Result};
use crate::progress::Terminal;
use crate::streams;

/// Bring quantised weights into another format without requantising them
///
/// Blocks are copied bit by bit where the other format has their type; all else becomes f32.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed migrate old-0.uqff q4k-0.uqff --names layers.json
  nanoembed migrate old-0.uqff residual.safetensors q4k-0.uqff --config config.json
  nanoembed migrate q4k-0.uqff model.gguf --config config.json
  nanoembed migrate model.gguf q4_1-0.uqff
  nanoembed migrate q4_1-0.uqff again.gguf --like model.gguf
  nanoembed migrate q4k-0.uqff model.safetensors

The first of several shards or parts brings the others, and a UQFF file the
`residual.safetensors` beside it. UQFF 0.x has numbers instead of names: they are told by `--names`,
or, for Llama, Mistral, Qwen and Gemma 3, by the model's `config.json`; shapes are held against it.")]
pub(crate) struct Migrate {
    /// Files to read: UQFF of either generation, GGUF, safetensors; and, last, the file to write
    #[arg(value_name = "PATH", num_args = 2.., required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    writing: WritingArgs,
}

impl Migrate {
    /// See [`Command::reads`](super::Command::reads).
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        let (_, inputs) = self.paths.split_last().unzip();
        let inputs = each_file(inputs.unwrap_or_default());
        inputs.into_iter().chain(self.writing.reads()).collect()
    }

    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let Some((output, inputs)) = self.paths.split_last() else {
            return Err(Error::usage("name files to read and a file to write"));
        };
        streams::check_output(output)?;
        let migration = Migration::new(inputs, output).writing(self.writing.writing());
        let written = migration.run(&Terminal::new(quiet))?;
        if !quiet {
            report::files(&written);
        }
        Ok(ExitCode::SUCCESS)
    }
}
