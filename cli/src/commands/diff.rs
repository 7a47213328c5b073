//! `diff`: how far the weights of two files are apart.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::inspect::{Comparison, Differences, Shapes};

use crate::args::writing::NamesArgs;
use crate::error::Result;
use crate::output::lines::LineWriter;
use crate::output::table::{Align, Table};
use crate::progress::Terminal;

/// Compare the tensors of two files: names, shapes, and how far the dequantised values are apart
///
/// Exit status 1 if the files have no tensor in common, else 0, however large the differences are.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed diff model.safetensors q4k-0.uqff
  nanoembed diff --json old.gguf new.gguf | jq '.tensors | max_by(.nmse)'
  nanoembed diff legacy-0.uqff q4k-0.uqff --names layers.json

The files may be of any two formats: UQFF, GGUF, safetensors, `.weights`, `.amb`. A GGUF file of a Llama,
Mistral, Qwen or Gemma 3 is compared under the names of Hugging Face, one of an encoder under those of
the folder that it is compared with. GGUF has some values otherwise: 1 is added to the norms of
encoders of Gemma. For each shared tensor:
  max_abs  the largest difference of two values
  nmse     the sum of squared differences as a share of A's squared values
  cosine   of all values as one vector

With `--json`: {\"only_a\", \"only_b\", \"shapes\", \"tensors\": [{\"name\", \"max_abs\", \"nmse\", \"cosine\", …}]}")]
pub(crate) struct Diff {
    /// The one file, the measure
    #[arg(value_name = "A")]
    pub(super) left: PathBuf,

    /// The other file
    #[arg(value_name = "B")]
    pub(super) right: PathBuf,

    #[command(flatten)]
    names: NamesArgs,

    /// One object of JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let comparison = Comparison::new(&self.left, &self.right).names(self.names.file());
        let report = comparison.run(&Terminal::new(quiet))?;
        let mut lines = LineWriter::stdout();
        if self.json {
            lines.json(&report)?;
        } else {
            for line in text(&report) {
                lines.text(line)?;
            }
        }
        lines.finish()?;
        let is_any_shared = !report.tensors.is_empty() || !report.shapes.is_empty();
        Ok(if is_any_shared { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn text(report: &Differences) -> Vec<String> {
    let mut text = Vec::new();
    let mut only = |names: &[String], file: &str| {
        if !names.is_empty() {
            text.push(format!("only in {file}:"));
            text.extend(names.iter().map(|name| format!("  {name}")));
        }
    };
    only(&report.only_a, &report.file_a);
    only(&report.only_b, &report.file_b);
    if !report.shapes.is_empty() {
        text.push("of different shapes:".into());
        let shape =
            |shapes: &Shapes| format!("  {}: {:?} and {:?}", shapes.name, shapes.a, shapes.b);
        text.extend(report.shapes.iter().map(shape));
    }
    if report.tensors.is_empty() {
        text.push("no tensor of one name and shape is in both files".into());
        return text;
    }
    let mut table = Table::new(&[
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.row(["tensor", "A", "B", "max_abs", "nmse", "cosine"].map(str::to_owned));
    for pair in &report.tensors {
        table.row([
            pair.name.clone(),
            pair.dtype_a.to_owned(),
            pair.dtype_b.to_owned(),
            format!("{:.3e}", pair.max_abs),
            format!("{:.3e}", pair.nmse),
            format!("{:.7}", pair.cosine),
        ]);
    }
    text.extend(table.lines(0));
    let equal = report.tensors.iter().filter(|pair| pair.max_abs == 0.0).count();
    text.push(format!("{} shared tensors, {equal} with equal values", report.tensors.len()));
    text
}
