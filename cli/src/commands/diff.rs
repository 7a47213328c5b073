//! `diff`: how far the weights of two files are apart.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::event::Format;
use rayon::prelude::*;
use serde::Serialize;

use crate::error::{Failure, Result};
use crate::layer_names::{NamesFile, translated};
use crate::output::lines::Lines;
use crate::output::table::{Align, Table};
use crate::progress::Progress;
use crate::quantizer::Spool;
use crate::stored::{Contents, FileSet, Stored};

/// Compare the tensors of two files: names, shapes, and how far the dequantised values are apart
///
/// Exit status 0 whatever the differences are.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed diff model.safetensors q4k-0.uqff
  nanoembed diff --json old.gguf new.gguf | jq '.tensors | max_by(.nmse)'
  nanoembed diff legacy-0.uqff q4k-0.uqff --names layers.json

The files may be of any two formats: UQFF, GGUF, safetensors, `.weights`, `.amb`. A GGUF file of a Llama,
Mistral or Qwen2 is compared under the names of Hugging Face. For each shared tensor:
  max_abs  the largest difference of two values
  nmse     the sum of squared differences as a share of A's squared values
  cosine   of all values as one vector

With `--json`: {\"only_a\", \"only_b\", \"shapes\", \"tensors\": [{\"name\", \"max_abs\", \"nmse\", \"cosine\", …}]}")]
pub(crate) struct Diff {
    /// The one file, the measure
    #[arg(value_name = "A")]
    left: PathBuf,

    /// The other file
    #[arg(value_name = "B")]
    right: PathBuf,

    /// Names of layers that have only numbers: JSON `{"0": "lm_head", …}` or lines `0 lm_head`
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,

    /// One object of JSON
    #[arg(long)]
    json: bool,
}

/// The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Report {
    only_a: Vec<String>,
    only_b: Vec<String>,
    /// Tensors of one name and different shapes.
    shapes: Vec<Shapes>,
    tensors: Vec<Pair>,
}

#[derive(Debug, Serialize)]
struct Shapes {
    name: String,
    a: Vec<u64>,
    b: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct Pair {
    name: String,
    shape: Vec<u64>,
    dtype_a: &'static str,
    dtype_b: &'static str,
    max_abs: f64,
    nmse: f64,
    cosine: f64,
}

impl Diff {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let (left, right) = (FileSet::open(&self.left)?, FileSet::open(&self.right)?);
        let (mut a, mut b) = (left.contents()?, right.contents()?);
        if let Some(path) = &self.names {
            let names = NamesFile::read(path)?;
            let numeric = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
            for tensor in a.tensors.iter_mut().chain(&mut b.tensors) {
                if let Some((number, part)) =
                    tensor.name.split_once('.').filter(|_| numeric(&tensor.name))
                    && let Some(name) = number.parse().ok().and_then(|number| names.name(number))
                {
                    tensor.name = format!("{name}.{part}");
                }
            }
        }
        let mut spool = Spool::new()?;
        let one_is_gguf = (a.format == Format::Gguf) != (b.format == Format::Gguf);
        let mut rename = |contents: &mut Contents<'_>| {
            if one_is_gguf { translated::rename(contents, &mut spool) } else { Ok(Vec::new()) }
        };
        let (of_a, of_b) = (rename(&mut a)?, rename(&mut b)?);
        let spooled = spool.finish()?;
        translated::replace(&mut a, &of_a, &spooled)?;
        translated::replace(&mut b, &of_b, &spooled)?;
        let report = compare(&a, &b, quiet)?;
        let mut lines = Lines::stdout();
        if self.json {
            lines.json(&report)?;
        } else {
            for line in report.text(&left.name(), &right.name()) {
                lines.text(line)?;
            }
        }
        lines.finish()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The first tensor of each name.
fn by_name<'c, 'a>(contents: &'c Contents<'a>) -> HashMap<&'c str, &'c Stored<'a>> {
    contents.tensors.iter().rev().map(|tensor| (tensor.name.as_str(), tensor)).collect()
}

fn compare(a: &Contents<'_>, b: &Contents<'_>, quiet: bool) -> Result<Report> {
    let (in_a, in_b) = (by_name(a), by_name(b));
    let missing = |from: &HashMap<&str, _>, of: &Contents<'_>| -> Vec<String> {
        let names = of.tensors.iter().map(|tensor| &tensor.name);
        names.filter(|name| !from.contains_key(name.as_str())).cloned().collect()
    };
    let mut report = Report {
        only_a: missing(&in_b, a),
        only_b: missing(&in_a, b),
        shapes: Vec::new(),
        tensors: Vec::new(),
    };
    let total = a.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
    let progress = (!quiet).then(|| Progress::bytes("comparing", total));
    for left in &a.tensors {
        let Some(right) = in_b.get(left.name.as_str()) else { continue };
        let (of_a, of_b) = (left.values.shape(), right.values.shape());
        if of_a == of_b {
            report.tensors.push(pair(left, right)?);
        } else {
            let (a, b) = (of_a.dims().to_vec(), of_b.dims().to_vec());
            report.shapes.push(Shapes { name: left.name.clone(), a, b });
        }
        if let Some(progress) = &progress {
            progress.advance(left.values.stored_bytes());
        }
    }
    Ok(report)
}

/// Sums over pairs of values.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    max_abs: f64,
    squared_error: f64,
    a: f64,
    b: f64,
    product: f64,
}

impl Sums {
    fn of(a: &[f32], b: &[f32]) -> Self {
        a.iter().zip(b).fold(Self::default(), |sums, (a, b)| {
            let (a, b) = (f64::from(*a), f64::from(*b));
            let error = (a - b).abs();
            Self {
                // Also if one of them is no number.
                max_abs: if error > sums.max_abs || error.is_nan() { error } else { sums.max_abs },
                squared_error: sums.squared_error + error * error,
                a: sums.a + a * a,
                b: sums.b + b * b,
                product: sums.product + a * b,
            }
        })
    }

    fn and(self, other: Self) -> Self {
        let larger = other.max_abs > self.max_abs || other.max_abs.is_nan();
        Self {
            max_abs: if larger { other.max_abs } else { self.max_abs },
            squared_error: self.squared_error + other.squared_error,
            a: self.a + other.a,
            b: self.b + other.b,
            product: self.product + other.product,
        }
    }
}

fn pair(left: &Stored<'_>, right: &Stored<'_>) -> Result<Pair> {
    const PIECE: usize = 1 << 16;
    let elements = usize::try_from(left.values.elements()).unwrap_or(usize::MAX);
    let piece = |index: usize| {
        let first = index * PIECE;
        let mut a = vec![0.0; PIECE.min(elements - first)];
        let mut b = a.clone();
        left.read(first, &mut a)?;
        right.read(first, &mut b)?;
        Ok::<_, Failure>(Sums::of(&a, &b))
    };
    // Waking threads takes longer than a small tensor does, and a file may have thousands of them.
    let sums = match elements.div_ceil(PIECE) {
        0 => Sums::default(),
        1 => piece(0)?,
        pieces => {
            let pieces = (0..pieces).into_par_iter().map(piece);
            pieces.try_reduce(Sums::default, |a, b| Ok(a.and(b)))?
        }
    };
    let norms = sums.a.sqrt() * sums.b.sqrt();
    let nothing_differs = sums.squared_error == 0.0;
    Ok(Pair {
        name: left.name.clone(),
        shape: left.values.shape().dims().to_vec(),
        dtype_a: left.values.type_name(),
        dtype_b: right.values.type_name(),
        max_abs: sums.max_abs,
        nmse: if nothing_differs { 0.0 } else { sums.squared_error / sums.a },
        cosine: if nothing_differs { 1.0 } else { sums.product / norms },
    })
}

impl Report {
    fn text(&self, left: &str, right: &str) -> Vec<String> {
        let mut text = Vec::new();
        let mut only = |names: &[String], file: &str| {
            if !names.is_empty() {
                text.push(format!("only in {file}:"));
                text.extend(names.iter().map(|name| format!("  {name}")));
            }
        };
        only(&self.only_a, left);
        only(&self.only_b, right);
        if !self.shapes.is_empty() {
            text.push("of different shapes:".into());
            let shape =
                |shapes: &Shapes| format!("  {}: {:?} and {:?}", shapes.name, shapes.a, shapes.b);
            text.extend(self.shapes.iter().map(shape));
        }
        if self.tensors.is_empty() {
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
        for pair in &self.tensors {
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
        let equal = self.tensors.iter().filter(|pair| pair.max_abs == 0.0).count();
        text.push(format!("{} shared tensors, {equal} with equal values", self.tensors.len()));
        text
    }
}
