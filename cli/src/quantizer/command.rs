//! The command `quantize` for the weights of models.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::format::uqff::{Extra, LayerFormat};
use nanoembed_core::tensor::Weight;
use serde::Serialize;

use super::encode::{Encoded, Loss, encode};
use super::spool::Spool;
use super::types::QuantType;
use crate::error::{Failure, Result};
use crate::glob::Glob;
use crate::output::lines::Lines;
use crate::output::table::{Align, Table};
use crate::output::units;
use crate::progress::Progress;
use crate::stored::{Contents, FileSet, Stored, Values};
use crate::targets::Item;
use crate::targets::uqff::Fallback;
use crate::writing::{Job, Target, Writing, Written, residual};

/// The arguments about the weights of models.
#[derive(Args, Debug)]
#[command(next_help_heading = "Weights of models")]
pub(crate) struct WeightOptions {
    /// Quantise only tensors whose names match; may be given several times
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    include: Vec<Glob>,

    /// Quantise no tensors whose names match; may be given several times
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    exclude: Vec<Glob>,

    #[command(flatten)]
    writing: Writing,
}

impl WeightOptions {
    /// An option that was given, and is not about the format of OUT.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [("--include", &self.include), ("--exclude", &self.exclude)];
        let own = options.iter().find(|(_, globs)| !globs.is_empty()).map(|(option, _)| *option);
        own.or_else(|| self.writing.given())
    }
}

/// Why a tensor is not quantised.
enum Kept {
    /// Nobody would want it to be.
    Rightly(&'static str),
    /// Its shape does not suit the type.
    Unsuited(String),
}

/// What became of a tensor. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Outcome {
    tensor: String,
    name: String,
    dtype: String,
    shape: Vec<u64>,
    bits: f64,
    /// 0 for what stays as it is.
    nmse: f64,
    /// Why it is not of the type that was asked for.
    reason: Option<String>,
    /// Whether only its shape is the reason.
    #[serde(skip)]
    unsuited: bool,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    elements: u64,
    #[serde(skip)]
    loss: Loss,
}

/// A tensor on its way.
enum Ready<'s, 'a> {
    Encoded(&'s Stored<'a>, Encoded),
    AsItIs(&'s String, Weight<'a>),
}

/// What is to be done.
pub(crate) struct Task<'t> {
    pub(crate) input: &'t Path,
    pub(crate) output: &'t Path,
    pub(crate) to_type: QuantType,
    pub(crate) json: bool,
    pub(crate) options: &'t WeightOptions,
}

impl Task<'_> {
    pub(crate) fn run(&self, quiet: bool) -> Result<ExitCode> {
        let target = self.options.writing.target(self.output)?;
        self.check(target)?;
        let set = FileSet::open(self.input)?;
        let residual = residual(&set, target, quiet)?;
        let mut contents = set.contents()?;
        if let Some(residual) = &residual {
            contents.tensors.extend(residual.contents()?.tensors);
        }
        self.check_globs(&contents, &set.name())?;
        let mut spool = Spool::new()?;
        let (ready, outcomes) = self.encode_all(&contents, &mut spool, quiet)?;
        let spooled = spool.finish()?;
        let mut items = Vec::new();
        for (tensor, outcome) in ready.iter().zip(&outcomes) {
            let (name, weight) = match tensor {
                Ready::Encoded(tensor, encoded) => (&tensor.name, encoded.weight(&spooled)?),
                Ready::AsItIs(name, weight) => (*name, *weight),
            };
            let mut item = Item::new(name.clone(), weight);
            if outcome.unsuited && item.is_float() {
                item.layer = Some((LayerFormat::Unquantized, Extra::default()));
            }
            items.push(item);
        }
        let fallbacks = outcomes.iter().filter(|outcome| outcome.unsuited);
        let job = Job {
            target,
            output: self.output,
            from: contents.format,
            gguf: contents.gguf.first().copied(),
            source: set.name(),
            folder: set.folder(),
            inputs: [Some(&set), residual.as_ref()]
                .into_iter()
                .flatten()
                .flat_map(FileSet::iter)
                .map(|(path, _)| path.to_owned())
                .collect(),
            fallbacks: fallbacks.map(|outcome| self.fallback(outcome)).collect(),
            requantized: true,
        };
        let written = self.options.writing.write(&job, items, quiet)?;
        if self.json {
            let mut lines = Lines::stdout();
            outcomes.iter().try_for_each(|outcome| lines.json(outcome))?;
            lines.finish()?;
        } else if !quiet {
            report(&outcomes, &written);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Refuses types that the target cannot hold, before any work is done.
    fn check(&self, target: Target) -> Result<()> {
        let floats = matches!(self.to_type, QuantType::F32 | QuantType::F16 | QuantType::Bf16);
        let holds = match target {
            Target::Safetensors => floats,
            Target::Gguf => self.to_type.dtype().is_some(),
            Target::Uqff12 | Target::Uqff02 => true,
        };
        if holds {
            return Ok(());
        }
        let message = format!("{} files do not hold `{}`", target.name(), self.to_type.name());
        Err(Failure::usage(message).hint("`.uqff` files hold every type"))
    }

    /// Refuses a pattern of `--include` that no name matches: the file would be written as if
    /// nothing had been asked for.
    fn check_globs(&self, contents: &Contents<'_>, name: &str) -> Result<()> {
        let has_match =
            |glob: &Glob| contents.tensors.iter().any(|tensor| glob.is_match(&tensor.name));
        match self.options.include.iter().find(|glob| !has_match(glob)) {
            None => Ok(()),
            Some(glob) => {
                let message = format!("--include '{glob}' matches no tensor");
                Err(Failure::not_found(message)
                    .at(name)
                    .hint("`nanoembed inspect` lists the names"))
            }
        }
    }

    fn encode_all<'s, 'a>(
        &self,
        contents: &'s Contents<'a>,
        spool: &mut Spool,
        quiet: bool,
    ) -> Result<(Vec<Ready<'s, 'a>>, Vec<Outcome>)> {
        let total = contents.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
        let progress = (!quiet).then(|| Progress::bytes("quantising", total));
        let (mut ready, mut outcomes) = (Vec::new(), Vec::new());
        for tensor in &contents.tensors {
            let shape = *tensor.values.shape();
            let kept = self.wanted(tensor).err();
            let outcome = match (&kept, &tensor.values) {
                (Some(kept), Values::Weight(weight)) if tensor.values.is_portable() => {
                    ready.push(Ready::AsItIs(&tensor.name, *weight));
                    let dtype = tensor.values.type_name().to_owned();
                    let bytes = tensor.values.stored_bytes();
                    Outcome::new(tensor, dtype, bytes, Loss::default(), Some(kept))
                }
                // Codes of `.weights` and `.amb` files have no place in other formats.
                (kept, values) => {
                    let stays = kept.is_some() && !values.is_portable();
                    let to = if stays { QuantType::F32 } else { self.to_type };
                    let (encoded, loss) = encode(&tensor.all()?, shape, to, spool)?;
                    let bytes = encoded.bytes();
                    ready.push(Ready::Encoded(tensor, encoded));
                    Outcome::new(tensor, to.name(), bytes, loss, kept.as_ref())
                }
            };
            outcomes.push(outcome);
            if let Some(progress) = &progress {
                progress.advance(tensor.values.stored_bytes());
            }
        }
        Ok((ready, outcomes))
    }

    /// Whether a tensor shall be quantised; if not, why.
    fn wanted(&self, tensor: &Stored<'_>) -> std::result::Result<(), Kept> {
        let matches = |globs: &[Glob]| globs.iter().any(|glob| glob.is_match(&tensor.name));
        let shape = tensor.values.shape();
        if shape.dims().len() < 2 {
            return Err(Kept::Rightly("a vector"));
        }
        let integers = ["i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"];
        if integers.contains(&tensor.values.type_name()) {
            return Err(Kept::Rightly("integers"));
        }
        if matches(&self.options.exclude)
            || !self.options.include.is_empty() && !matches(&self.options.include)
        {
            return Err(Kept::Rightly("not selected"));
        }
        self.to_type.suits(shape).map_err(Kept::Unsuited)
    }

    /// The report's entry for a tensor that should have been of the type but does not suit it.
    fn fallback(&self, outcome: &Outcome) -> Fallback {
        Fallback {
            module: outcome.name.strip_suffix(".weight").unwrap_or(&outcome.name).to_owned(),
            from: self.to_type.name(),
            to: "unquant".into(),
            shape: outcome.shape.clone(),
            reason: outcome.reason.clone().unwrap_or_default(),
        }
    }
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn new(
        tensor: &Stored<'_>,
        dtype: String,
        bytes: u64,
        loss: Loss,
        kept: Option<&Kept>,
    ) -> Self {
        let elements = tensor.values.elements();
        let bits = bytes as f64 * 8.0 / elements.max(1) as f64;
        Self {
            tensor: tensor.name.clone(),
            name: tensor.name.clone(),
            dtype,
            shape: tensor.values.shape().dims().to_vec(),
            bits: (bits * 1000.0).round() / 1000.0,
            nmse: loss.nmse(),
            reason: kept.map(|kept| match kept {
                Kept::Rightly(reason) => (*reason).to_owned(),
                Kept::Unsuited(reason) => reason.clone(),
            }),
            unsuited: matches!(kept, Some(Kept::Unsuited(_))),
            bytes,
            elements,
            loss,
        }
    }
}

/// Sizes and errors by type, to stderr, and why some tensors stayed as they were.
#[expect(clippy::cast_precision_loss, reason = "ratios for people")]
fn report(outcomes: &[Outcome], written: &[Written]) {
    for (path, bytes) in written.iter().filter(|(path, _)| path != Path::new("-")) {
        anstream::eprintln!("{}: {}", path.display(), units::bytes(*bytes));
    }
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, right, right, right, right, right]);
    let heads = ["type", "tensors", "parameters", "size", "bits", "error (NMSE)"];
    table.row(heads.map(str::to_owned));
    let mut types: Vec<&str> = outcomes.iter().map(|outcome| outcome.dtype.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    for dtype in types {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.dtype == dtype).collect();
        let elements: u64 = of.iter().map(|outcome| outcome.elements).sum();
        let bytes: u64 = of.iter().map(|outcome| outcome.bytes).sum();
        let error: f64 = of.iter().map(|outcome| outcome.loss.error).sum();
        let power: f64 = of.iter().map(|outcome| outcome.loss.power).sum();
        table.row([
            dtype.to_owned(),
            of.len().to_string(),
            units::count(elements),
            units::bytes(bytes),
            format!("{:.2}", bytes as f64 * 8.0 / elements.max(1) as f64),
            if error > 0.0 { format!("{:.1e}", error / power) } else { "none".into() },
        ]);
    }
    for line in table.lines(2) {
        anstream::eprintln!("{line}");
    }
    let unsuited = outcomes.iter().filter(|outcome| outcome.unsuited);
    for outcome in unsuited {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        anstream::eprintln!("  {} stays {}: {reason}", outcome.name, outcome.dtype);
    }
}
