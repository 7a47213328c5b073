//! `histogram`: how the values of a tensor are distributed.

mod picture;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::atomic::NewFile;
use crate::error::Result;
use crate::output::form::{self, form_of};
use crate::output::lines::Lines;
use crate::output::units;
use crate::stored::{FileSet, Stored};

/// Show how the values of a tensor are distributed
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed histogram q4k-0.uqff model.layers.0.self_attn.q_proj
  nanoembed histogram model.gguf blk.0.ffn_up.weight --bins 80 -o ffn_up.svg

With `--json`: {\"name\", \"dtype\", \"elements\", \"min\", \"max\", \"mean\", \"deviation\", \"zeros\",
\"not_finite\", \"first_bin\", \"bin_width\", \"counts\": […]}")]
pub(crate) struct Histogram {
    /// The file that holds the weights
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The tensor, or the layer whose weight is meant
    #[arg(value_name = "TENSOR")]
    tensor: String,

    /// Write to a file: a picture if its ending is `.svg`; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// How it is shown [default: by the ending of FILE, `.svg`, `.txt` or `.jsonl`; text to stdout]
    #[arg(long, value_enum, value_name = "NAME")]
    format: Option<Format>,

    /// How many bins there are between the smallest and the largest value
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    bins: u16,

    /// The same as `--format jsonl`: one object of JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How a distribution is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Bars of characters
    Text,
    /// One object of JSON
    Jsonl,
    /// A picture
    Svg,
}

impl form::Form for Format {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Svg => &["svg"],
        }
    }
}

/// The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Distribution {
    name: String,
    dtype: &'static str,
    shape: Vec<u64>,
    elements: u64,
    min: f32,
    max: f32,
    mean: f64,
    deviation: f64,
    zeros: u64,
    not_finite: u64,
    first_bin: f64,
    bin_width: f64,
    counts: Vec<u64>,
}

impl Histogram {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let asked = self.json.then_some(Format::Jsonl).or(self.format);
        let format = form_of(&self.output, asked, Format::Text)?;
        let set = FileSet::open(&self.file)?;
        let contents = set.contents()?;
        let tensor = contents.wanted(&self.tensor, &set.name())?;
        let distribution = Distribution::of(tensor, usize::from(self.bins))?;
        let mut lines = Lines::of(NewFile::create(&self.output, false)?);
        match format {
            Format::Text => {
                distribution.text().into_iter().try_for_each(|line| lines.text(line))?;
            }
            Format::Jsonl => lines.json(&distribution)?,
            Format::Svg => lines.text(picture::svg(&distribution).trim_end())?,
        }
        lines.commit()?;
        if !quiet && format == Format::Svg {
            anstream::eprintln!("{}: {}", self.output.display(), distribution.summary());
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Distribution {
    #[expect(clippy::cast_precision_loss, reason = "means and widths of bins")]
    fn of(tensor: &Stored<'_>, bins: usize) -> Result<Self> {
        let (mut min, mut max) = (f32::INFINITY, f32::NEG_INFINITY);
        let (mut sum, mut squares, mut zeros, mut finite) = (0.0_f64, 0.0_f64, 0, 0_u64);
        tensor.pieces(|values| {
            for value in values.iter().filter(|value| value.is_finite()) {
                (min, max) = (min.min(*value), max.max(*value));
                sum += f64::from(*value);
                squares += f64::from(*value).powi(2);
                zeros += u64::from(*value == 0.0);
                finite += 1;
            }
            Ok(())
        })?;
        if finite == 0 {
            (min, max) = (0.0, 0.0);
        }
        let count = finite.max(1) as f64;
        let mean = sum / count;
        let span = f64::from(max) - f64::from(min);
        let width = if span > 0.0 { span / bins as f64 } else { 1.0 };
        let mut counts = vec![0_u64; if span > 0.0 { bins } else { 1 }];
        let last = counts.len() - 1;
        tensor.pieces(|values| {
            for value in values.iter().filter(|value| value.is_finite()) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "within the bins"
                )]
                let bin = ((f64::from(*value) - f64::from(min)) / width) as usize;
                if let Some(count) = counts.get_mut(bin.min(last)) {
                    *count += 1;
                }
            }
            Ok(())
        })?;
        let elements = tensor.values.elements();
        Ok(Self {
            name: tensor.name.clone(),
            dtype: tensor.values.type_name(),
            shape: tensor.values.shape().dims().to_vec(),
            elements,
            min,
            max,
            mean,
            deviation: (squares / count - mean * mean).max(0.0).sqrt(),
            zeros,
            not_finite: elements - finite,
            first_bin: min.into(),
            bin_width: width,
            counts,
        })
    }

    fn summary(&self) -> String {
        let not_finite = match self.not_finite {
            0 => String::new(),
            count => format!(", {count} no finite numbers"),
        };
        format!(
            "{} values of {} in {:?}, {:.4} … {:.4}, mean {:.5}, deviation {:.5}, {} zeros{not_finite}",
            units::count(self.elements),
            self.dtype,
            self.shape,
            self.min,
            self.max,
            self.mean,
            self.deviation,
            units::count(self.zeros),
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "lengths of bars")]
    fn text(&self) -> Vec<String> {
        const WIDTH: f64 = 60.0;
        let largest = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let bar = |(index, count): (usize, &u64)| {
            let from = self.first_bin + self.bin_width * index as f64;
            format!("{from:>11.4}  {}  {count}", bar(*count as f64 / largest * WIDTH))
                .trim_end()
                .to_owned()
        };
        let head = [self.name.clone(), format!("  {}", self.summary()), String::new()];
        head.into_iter().chain(self.counts.iter().enumerate().map(bar)).collect()
    }
}

/// A bar of eighths of a character.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most the width of a screen"
)]
fn bar(length: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    let part = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{part}", "█".repeat(eighths / 8))
}
