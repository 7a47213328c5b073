//! `quantize`: the same in fewer bits.

mod args;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use nanoembed::convert::{Conversion, QuantType, Quantization as WeightQuantization, WeightType};
use nanoembed::words::{Form, PqReport, Quantization as WordQuantization};
use nanoembed::{Choice, units};
use serde_json::json;

use super::convert::report::Model;
use super::convert::time::created;
use crate::args::ThreadArgs;
use crate::args::choice::possible_value;
use crate::args::limits::Read;
use crate::error::{Error, Result};
use crate::output::lines::LineWriter;
use crate::progress::Terminal;
use crate::streams::{self, say};
use args::{PqArgs, WeightArgs};

/// Store the same in fewer bits
///
/// The types on offer depend on IN: word vectors become product-quantised (`pq`), weights of models
/// take all others. Of weights the tensors of two and more dimensions are quantised, if their rows
/// are whole blocks of the type; norms and biases stay as they are. In `.gguf` files rows that are no
/// whole blocks of 256 take a type with blocks of 32, as llama.cpp has it: `q5_0` for `q4k`, `q8_0`
/// for `q6k`, `q4_0` for ternary types. OUT tells the format: `.uqff` (mistral.rs), `.gguf`
/// (llama.cpp), `.amb` (whole models, with special types) or `.safetensors` (floats).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed quantize vectors.fifu small.fifu --type pq
  nanoembed quantize vectors.fifu small.fifu --type pq --subquantizers 60 --rotation opq --json
  nanoembed quantize model.safetensors q4k-0.uqff --type q4k
  nanoembed quantize model/ afq4-0.uqff --type afq4 --exclude '*embed*' --report
  nanoembed quantize model.gguf model.q8_0.gguf --type q8_0 --include 'blk.*'
  nanoembed quantize all-MiniLM-L6-v2/ model.amb --type int5block
  nanoembed quantize all-MiniLM-L6-v2/ model.amb --type adaptive --bits 4.8 --json
  nanoembed quantize model/ old.uqff --type q8_0 --to uqff-0.2

Weights are read from a safetensors file, a folder as on Hugging Face, a GGUF, UQFF or `.weights`
file. Beside a UQFF file `residual.safetensors` is written with the tensors that are no layers of
it, as mistral.rs wants it, and the settings and tokenizer of a folder are copied there.
`nanoembed convert` makes `.weights` files.
For `.amb` files IN is a whole model with its tokenizer: a folder, `.weights`, `.amb` or GGUF.

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

    /// Type of the weights
    #[arg(long = "type", short = 't', value_enum, value_name = "TYPE")]
    quantization: Quantization,

    /// Print bits and error of every tensor as a line of JSON
    #[arg(long)]
    json: bool,

    /// Bits that a number takes: with `--type adaptive` a weight on average, with its part of
    /// scales and mask; with `--type pq` a code, 1 to 8 [default: 8]. All other types have their
    /// number of bits in the name
    #[arg(long, short, value_name = "B")]
    bits: Option<f64>,

    #[command(flatten)]
    pq: PqArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    amb: AmbArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// The arguments about `.amb` files.
#[derive(Args, Debug)]
#[command(next_help_heading = "`.amb` files")]
struct AmbArgs {
    /// Elements that share a scale [default: 32; a row for `int8`]
    #[arg(long, value_name = "N")]
    block: Option<u16>,

    /// Texts like those that will be embedded, one a line, that weights of few bits are tuned to
    /// [default: built-in ones]
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
}

/// A type of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantization {
    /// Parts of vectors as numbers of centroids.
    Pq,
    /// Weights of models.
    Weights(QuantType),
    /// Weights of models in `.amb` files.
    Amb(WeightType),
}

/// Types that only `.amb` files hold.
const AMB_TYPES: [WeightType; 6] = [
    WeightType::Int8,
    WeightType::Int5block,
    WeightType::Int4block,
    WeightType::Adaptive,
    WeightType::Int5,
    WeightType::Int4,
];

impl ValueEnum for Quantization {
    fn value_variants<'a>() -> &'a [Self] {
        const COUNT: usize = 1 + <QuantType as Choice>::ALL.len() + AMB_TYPES.len();
        const ALL: [Quantization; COUNT] = {
            let mut all = [Quantization::Pq; COUNT];
            let mut index = 0;
            while index < <QuantType as Choice>::ALL.len() {
                all[index + 1] = Quantization::Weights(<QuantType as Choice>::ALL[index]);
                index += 1;
            }
            while index + 1 < COUNT {
                all[index + 1] =
                    Quantization::Amb(AMB_TYPES[index - <QuantType as Choice>::ALL.len()]);
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
            Self::Weights(weights) => Some(possible_value(*weights)),
            Self::Amb(weights) => Some(possible_value(*weights)),
        }
    }
}

impl Quantize {
    /// See [`Command::reads`](super::Command::reads).
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        [Read::Files(&self.input)].into_iter().chain(self.weights.writing.reads()).collect()
    }

    /// Refuses options that mean nothing for the type.
    fn check_options(&self) -> Result<()> {
        let (option, use_is) = match self.quantization {
            Quantization::Pq => (self.weights.given(), "weights of models, not for `--type pq`"),
            Quantization::Weights(_) => (self.pq.given(), "word vectors, with `--type pq`"),
            Quantization::Amb(_) => match self.pq.given() {
                Some(option) => (Some(option), "word vectors, with `--type pq`"),
                None => (self.weights.given(), "other formats than `.amb`"),
            },
        };
        let refuse = |option, use_is| Err(Error::usage(format!("{option} is for {use_is}")));
        if let Some(option) = option {
            return refuse(option, use_is);
        }
        let takes_bits =
            matches!(self.quantization, Quantization::Pq | Quantization::Amb(WeightType::Adaptive));
        if self.bits.is_some() && !takes_bits {
            return refuse("--bits", "`--type adaptive` in `.amb` files and `--type pq`");
        }
        Ok(())
    }

    /// The bits of a code of product-quantised vectors: a whole number, at most a byte.
    fn code_bits(&self) -> Result<u32> {
        const USUAL: u32 = 8;
        let Some(asked) = self.bits else { return Ok(USUAL) };
        (1..=USUAL).find(|bits| f64::from(*bits) == asked).ok_or_else(|| {
            Error::usage(format!("--bits {asked}: with `--type pq` a code has 1 to 8 whole bits"))
        })
    }

    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.check_options()?;
        streams::check_output(&self.output)?;
        self.threads.use_threads()?;
        let is_amb = self.output.extension().is_some_and(|ending| ending == "amb");
        let AmbArgs { block, calibrate } = &self.amb;
        if !is_amb && (block.is_some() || calibrate.is_some()) {
            return Err(Error::usage("--block and --calibrate are for `.amb` files"));
        }
        match self.quantization {
            Quantization::Amb(weight_type) if is_amb => {
                let conversion = Conversion::new(&self.input, &self.output)
                    .weight_type(weight_type)
                    .block(*block)
                    .bits(self.bits)
                    .calibrate(calibrate.clone())
                    .created(created()?);
                let converted = conversion.run(&Terminal::new(quiet))?;
                let report = Model { output: &self.output, json: self.json, pooler: false };
                report.print(&converted, quiet)?;
                Ok(ExitCode::SUCCESS)
            }
            Quantization::Amb(weight_type) => {
                let message = format!("`{}` is a type of `.amb` files", weight_type.name());
                Err(Error::usage(message).with_hint("give OUT the ending `.amb`"))
            }
            Quantization::Weights(weights) if is_amb => {
                let message = format!("`.amb` files do not hold `{}`", weights.name());
                Err(Error::usage(message).with_hint(
                    "their types are int8, int5block, int4block, adaptive, int5 and int4",
                ))
            }
            Quantization::Pq => self.word_vectors(quiet),
            Quantization::Weights(to_type) => self.weights(to_type, quiet),
        }
    }

    fn weights(&self, to_type: QuantType, quiet: bool) -> Result<ExitCode> {
        let quantization = WeightQuantization::new(&self.input, &self.output, to_type)
            .include(self.weights.include.iter().cloned())
            .exclude(self.weights.exclude.iter().cloned())
            .writing(self.weights.writing.writing());
        let quantized = quantization.run(&Terminal::new(quiet))?;
        if self.json {
            let mut lines = LineWriter::stdout();
            quantized.outcomes.iter().try_for_each(|outcome| lines.json(outcome))?;
            lines.finish()?;
        }
        match quiet || self.json {
            true => report::warn_of_unsuited(&quantized.outcomes, to_type.name()),
            false => report::print(&quantized),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn report_words(&self, report: &PqReport, quiet: bool) -> Result<ExitCode> {
        let PqReport { bits, nmse, sizes, .. } = *report;
        if self.json {
            let mut lines = LineWriter::stdout();
            lines.json(&json!({ "tensor": "embeddings", "bits": bits, "nmse": nmse }))?;
            lines.finish()?;
        }
        if let (false, Some((before, after))) = (quiet, sizes) {
            say(format_args!(
                "{} became {}: {bits:.2} bits a number, error (NMSE) {nmse:.4}",
                units::bytes(before),
                units::bytes(after)
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn word_vectors(&self, quiet: bool) -> Result<ExitCode> {
        let code_bits = self.code_bits()?;
        if self.output != Path::new("-") && Form::from_path(&self.output) != Some(Form::Finalfusion)
        {
            return Err(Error::usage("`pq` writes finalfusion files")
                .with_hint("give OUT the ending `.fifu`"));
        }
        let quantization = WordQuantization::new(&self.input, &self.output);
        let quantization = self.pq.applied_to(quantization).code_bits(code_bits);
        self.report_words(&quantization.run(&Terminal::new(quiet))?, quiet)
    }
}
