//! `histogram`: how the values of a tensor are distributed.

mod picture;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed::inspect::Distribution;
use nanoembed::stored::FileSet;
use nanoembed::units;

use crate::error::Result;
use crate::output::create;
use crate::output::form;
use crate::output::lines::LineWriter;
use crate::output::result_args::{Readable, ResultArgs};
use crate::streams::say;

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
    pub(super) file: PathBuf,

    /// The tensor, or the layer whose weight is meant
    #[arg(value_name = "TENSOR")]
    tensor: String,

    /// Number of bins between the smallest and the largest value
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    bins: u16,

    #[command(flatten)]
    pub(super) output: ResultArgs<PictureFormat>,
}

/// A form of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PictureFormat {
    /// Bars of characters
    Text,
    /// One object of JSON
    Jsonl,
    /// A picture
    Svg,
}

impl form::Form for PictureFormat {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Svg => &["svg"],
        }
    }
}

impl Readable for PictureFormat {
    const TEXT: Self = Self::Text;
    const JSONL: Self = Self::Jsonl;
}

impl Histogram {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let format = self.output.form()?;
        let set = FileSet::open(&self.file)?;
        let contents = set.contents()?;
        let tensor = contents.wanted(&self.tensor, &set.name())?;
        let distribution = Distribution::from_tensor(tensor, usize::from(self.bins))?;
        let mut lines = LineWriter::new(create(&self.output.path, false)?);
        match format {
            PictureFormat::Text => {
                text(&distribution).into_iter().try_for_each(|line| lines.text(line))?;
            }
            PictureFormat::Jsonl => lines.json(&distribution)?,
            PictureFormat::Svg => lines.block(picture::svg(&distribution).trim_end())?,
        }
        lines.commit()?;
        if !quiet && format == PictureFormat::Svg {
            say(format_args!("{}: {}", self.output.path.display(), summary(&distribution)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn summary(of: &Distribution) -> String {
    let not_finite = match of.not_finite {
        0 => String::new(),
        count => format!(", {count} no finite numbers"),
    };
    format!(
        "{} values of {} in {:?}, {:.4} … {:.4}, mean {:.5}, deviation {:.5}, {} zeros{not_finite}",
        units::count(of.elements),
        of.dtype,
        of.shape,
        of.min,
        of.max,
        of.mean,
        of.deviation,
        units::count(of.zeros),
    )
}

#[expect(clippy::cast_precision_loss, reason = "lengths of bars")]
fn text(of: &Distribution) -> Vec<String> {
    const WIDTH: f64 = 60.0;
    let largest = of.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |(index, count): (usize, &u64)| {
        let from = of.first_bin + of.bin_width * index as f64;
        format!("{from:>11.4}  {}  {count}", bar(*count as f64 / largest * WIDTH))
            .trim_end()
            .to_owned()
    };
    let head = [of.name.clone(), format!("  {}", summary(of)), String::new()];
    head.into_iter().chain(of.counts.iter().enumerate().map(bar)).collect()
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
