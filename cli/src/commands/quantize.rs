//! `quantize`: the same in fewer bits.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use nanoembed_core::event::Format;
use nanoembed_core::format::{SNIFF_BYTES, sniff};
use nanoembed_core::{Error, ErrorKind};

use crate::args::ThreadArgs;
use crate::error::{Failure, Result, name_of};
use crate::mapped::Mapped;
use crate::quantizer::QuantType;
use crate::quantizer::command::{Task, WeightOptions};
use crate::word_vectors::quantize::{PqOptions, quantize};

/// Store the same in fewer bits
///
/// What types there are depends on IN: word vectors become product-quantised (`pq`), weights of models take all others.
/// Of weights the tensors of two and more dimensions are quantised, if their rows are whole blocks of the type; norms and
/// biases stay as they are. OUT tells the format: `.uqff` (mistral.rs), `.gguf` (llama.cpp) or `.safetensors` (floats).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed quantize vectors.fifu small.fifu --type pq
  nanoembed quantize vectors.fifu small.fifu --type pq --subquantizers 60 --rotation opq --json
  nanoembed quantize model.safetensors q4k-0.uqff --type q4k
  nanoembed quantize model/ afq4-0.uqff --type afq4 --exclude '*embed*' --report
  nanoembed quantize model.gguf model.q8_0.gguf --type q8_0 --include 'blk.*'
  nanoembed quantize model/ old.uqff --type q8_0 --to uqff-0.2

Weights are read from a safetensors file, a folder as on Hugging Face, a GGUF, UQFF or `.weights`
file. Beside a UQFF file `residual.safetensors` is written with the tensors that are no layers of
it, as mistral.rs wants it. `nanoembed convert` makes `.weights` files.

With `--json` every tensor is one line:
  {\"tensor\", \"bits\", \"nmse\"}, of weights also {\"name\", \"dtype\", \"shape\", \"reason\"}
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
    weights: WeightOptions,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantization {
    /// Parts of vectors as numbers of centroids.
    Pq,
    /// Weights of models.
    Weights(QuantType),
}

impl ValueEnum for Quantization {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Quantization; 1 + QuantType::ALL.len()] = {
            let mut all = [Quantization::Pq; 1 + QuantType::ALL.len()];
            let mut index = 0;
            while index < QuantType::ALL.len() {
                all[index + 1] = Quantization::Weights(QuantType::ALL[index]);
                index += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Pq => {
                let help = "Parts of vectors as numbers of centroids; for word vectors";
                Some(PossibleValue::new("pq").help(help))
            }
            Self::Weights(weights) => weights.to_possible_value(),
        }
    }
}

impl Quantize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.threads.use_threads()?;
        match self.quantization {
            Quantization::Pq => self.word_vectors(quiet),
            Quantization::Weights(to_type) => {
                let task = Task {
                    input: &self.input,
                    output: &self.output,
                    to_type,
                    json: self.json,
                    options: &self.weights,
                };
                task.run(quiet)
            }
        }
    }

    fn word_vectors(&self, quiet: bool) -> Result<ExitCode> {
        let bytes = Mapped::open(&self.input)?;
        match format_of(&self.input, &bytes)? {
            Format::Finalfusion => {
                quantize((&self.input, &bytes), &self.output, &self.pq, (self.json, quiet))
            }
            format => Err(Failure::usage(format!(
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
