//! `quantize`: the same in fewer bits.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed_core::event::Format;
use nanoembed_core::format::{SNIFF_BYTES, sniff};
use nanoembed_core::{Error, ErrorKind};

use crate::args::ThreadArgs;
use crate::error::{Failure, Result, name_of};
use crate::mapped::Mapped;
use crate::word_vectors::quantize::{PqOptions, quantize};

/// Store the same in fewer bits
///
/// What types there are depends on IN: word vectors become product-quantised (`pq`).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed quantize vectors.fifu small.fifu --type pq
  nanoembed quantize vectors.fifu small.fifu --type pq --subquantizers 60 --rotation opq --json

With `--json` every tensor is one line:
  {\"tensor\", \"bits\", \"nmse\"}
where `bits` are those a number takes, and `nmse` is the mean squared error by the
mean square.")]
pub(crate) struct Quantize {
    /// The file to quantise
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// The file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// How numbers are stored
    #[arg(long = "type", short = 't', value_enum, value_name = "TYPE")]
    quantization: Quantization,

    /// Print bits and error of every tensor as a line of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pq: PqOptions,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Quantization {
    /// Parts of vectors as numbers of centroids; for word vectors
    Pq,
}

impl Quantize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.threads.use_threads()?;
        let bytes = Mapped::open(&self.input)?;
        match (format_of(&self.input, &bytes)?, self.quantization) {
            (Format::Finalfusion, Quantization::Pq) => {
                quantize((&self.input, &bytes), &self.output, &self.pq, (self.json, quiet))
            }
            (format, Quantization::Pq) => Err(Failure::usage(format!(
                "`pq` is for word vectors, but {} is a {} file",
                name_of(&self.input),
                format.name()
            ))),
        }
    }
}

fn format_of(path: &Path, bytes: &[u8]) -> Result<Format> {
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let unknown = Error::new(0, ErrorKind::UnknownFormat);
    sniff(head).ok_or_else(|| Failure::of_file(name_of(path), unknown))
}
