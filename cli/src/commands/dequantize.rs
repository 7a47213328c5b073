//! `dequantize`: one tensor as a NumPy array, or all as a safetensors file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed::convert::{Dequantization, Float};
use nanoembed::stored::{FileSet, Stored};
use nanoembed::units;
use nanoembed::{Observer, Progress};

use crate::args::choice::choice;
use crate::error::{Error, Result};
use crate::output::create;
use crate::output::form::{self, form_of};
use crate::output::npy::{self, write_header, write_values};
use crate::progress::Terminal;
use crate::streams::{self, say};

/// Turn quantised weights back into floats: one tensor to `.npy`, all to `.safetensors`
///
/// Values are those that the format's own program computes, to the last bit.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed dequantize q4k-0.uqff model.layers.0.self_attn.q_proj -o q_proj.npy
  nanoembed dequantize model.gguf -o model.safetensors
  nanoembed dequantize legacy.uqff 3 -o - | python3 -c 'import numpy, sys; …'

FILE may be UQFF (0.x and 1.x), GGUF, safetensors, `.weights` or `.amb`; the first of several shards
or parts brings the others. A layer of UQFF 0.x is named by its number.")]
pub(crate) struct Dequantize {
    /// The file that holds the weights
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// The tensor, or the layer whose weight is meant [default: all tensors]
    #[arg(value_name = "TENSOR")]
    tensor: Option<String>,

    /// Output file: `.npy` for one tensor, `.safetensors` for all; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: PathBuf,

    /// Format of the output [default: by the ending of FILE; to stdout npy of one tensor,
    /// safetensors of all]
    #[arg(long, value_enum, value_name = "NAME")]
    format: Option<FloatFormat>,

    /// The type of floats in a `.safetensors` file
    #[arg(long = "type", short = 't', value_parser = choice::<Float>(), default_value = "f32", value_name = "TYPE")]
    float: Float,
}

/// A format for dequantised tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FloatFormat {
    /// One tensor as a NumPy array of f32
    Npy,
    /// All tensors
    Safetensors,
}

impl form::Form for FloatFormat {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Npy => &["npy"],
            Self::Safetensors => &["safetensors"],
        }
    }
}

impl Dequantize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.check_format()?;
        let set = FileSet::open(&self.file)?;
        let contents = set.contents()?;
        let observer = Terminal::new(quiet);
        if let Some(name) = &self.tensor {
            if self.float != Float::F32 {
                return Err(Error::usage(
                    "a `.npy` file holds f32: `--type` is for `.safetensors`",
                ));
            }
            let tensor = contents.wanted(name, &set.name())?;
            npy(tensor, &self.output, &observer)?;
        } else {
            streams::check_output(&self.output)?;
            let job = Dequantization::new(&self.file, &self.output).float(self.float);
            let bytes = job.write(&contents, &observer)?.bytes;
            if !quiet && self.output != Path::new("-") {
                let count = contents.tensors.len();
                let (name, size) = (self.output.display(), units::bytes(bytes));
                say(format_args!("{name}: {size}, {count} tensors"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Refuses formats that do not fit: one tensor is a `.npy` file, all are a `.safetensors` file.
    fn check_format(&self) -> Result<()> {
        let needed =
            if self.tensor.is_some() { FloatFormat::Npy } else { FloatFormat::Safetensors };
        match (form_of(&self.output, self.format, needed)?, needed) {
            (FloatFormat::Npy, FloatFormat::Safetensors) => {
                Err(Error::usage("a `.npy` file holds one tensor")
                    .with_hint("name it, or write all tensors to a `.safetensors` file"))
            }
            (FloatFormat::Safetensors, FloatFormat::Npy) => {
                Err(Error::usage("one tensor is written as `.npy`")
                    .with_hint("leave TENSOR out to write all of them to a `.safetensors` file"))
            }
            _ => Ok(()),
        }
    }
}

/// Writes the tensor in its logical shape.
fn npy(tensor: &Stored<'_>, path: &Path, observer: &dyn Observer) -> Result<()> {
    let progress =
        Progress::bytes(observer, "dequantising", tensor.values.elements().saturating_mul(4));
    let mut file = create(path, true)?;
    let name = file.name();
    let failed = |error: std::io::Error| Error::writing(&name, &error);
    write_header(&mut file, npy::F32, tensor.values.shape().dims()).map_err(failed)?;
    tensor.pieces(|values| {
        write_values(&mut file, values).map_err(failed)?;
        progress.advance(values.len() as u64 * 4);
        Ok(())
    })?;
    file.commit()
}
