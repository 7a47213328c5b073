//! The arguments of `quantize` that only some types have a use for.

use clap::Args;
use nanoembed::convert::Glob;
use nanoembed::words::{Quantization, RotationKind};

use crate::args::choice::choice;
use crate::args::words::PolicyArgs;
use crate::args::writing::WritingArgs;

/// The arguments about the weights of models.
#[derive(Args, Debug)]
#[command(next_help_heading = "Weights of models")]
pub(super) struct WeightArgs {
    /// Quantise only tensors whose names match; may be given several times
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    pub(super) include: Vec<Glob>,

    /// Quantise no tensors whose names match; may be given several times
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    pub(super) exclude: Vec<Glob>,

    #[command(flatten)]
    pub(super) writing: WritingArgs,
}

impl WeightArgs {
    /// An option that was given, and is not about the format of OUT.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [("--include", &self.include), ("--exclude", &self.exclude)];
        let own = options.iter().find(|(_, globs)| !globs.is_empty()).map(|(option, _)| *option);
        own.or_else(|| self.writing.given())
    }
}

/// The arguments about product quantisation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Product quantisation")]
pub(super) struct PqArgs {
    /// Number of parts that a vector is cut into, and so of its bytes; divides its length [default:
    /// the largest that gives parts of six columns or more]
    #[arg(long, short = 's', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    subquantizers: Option<u32>,

    /// Turn vectors before they are cut, which stores a matrix and makes the error smaller
    #[arg(long, value_parser = choice::<RotationKind>(), default_value = "none", value_name = "KIND")]
    rotation: RotationKind,

    /// Rounds of k-means
    #[arg(long, value_name = "N", default_value_t = Quantization::ITERATIONS, value_parser = clap::value_parser!(u16).range(1..))]
    iterations: u16,

    /// Number of rows that the quantiser is fitted to
    #[arg(long, value_name = "ROWS", default_value_t = Quantization::SAMPLE, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,

    /// The same seed gives the same file
    #[arg(long, value_name = "S", default_value_t = Quantization::SEED)]
    seed: u64,

    /// Quantise vectors as they are, without their lengths beside them
    #[arg(long)]
    no_norms: bool,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl PqArgs {
    /// `quantization` as it is asked for.
    pub(super) fn applied_to(&self, quantization: Quantization) -> Quantization {
        quantization
            .subquantizers(self.subquantizers)
            .rotation(self.rotation)
            .iterations(self.iterations)
            .sample(self.sample)
            .seed(self.seed)
            .norms(!self.no_norms)
            .policy(self.policy.policy())
    }

    /// An option that was given another value than it has of itself.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--subquantizers", self.subquantizers.is_some()),
            ("--rotation", self.rotation != RotationKind::default()),
            ("--iterations", self.iterations != Quantization::ITERATIONS),
            ("--sample", self.sample != Quantization::SAMPLE),
            ("--seed", self.seed != Quantization::SEED),
            ("--no-norms", self.no_norms),
        ];
        let own = options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option);
        own.or_else(|| self.policy.given())
    }
}
