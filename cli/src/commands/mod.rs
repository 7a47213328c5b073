//! The commands, one file or folder each: its arguments and what it does.

pub(crate) mod analogy;
pub(crate) mod bucket_to_explicit;
pub(crate) mod completions;
pub(crate) mod compute_accuracy;
pub(crate) mod convert;
pub(crate) mod dequantize;
pub(crate) mod diff;
pub(crate) mod embed;
pub(crate) mod generate;
pub(crate) mod histogram;
pub(crate) mod inspect;
pub(crate) mod metadata;
pub(crate) mod migrate;
mod neighbours;
pub(crate) mod prune_vocabulary;
pub(crate) mod quantize;
pub(crate) mod reconstruct;
pub(crate) mod rerank;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod similar;
pub(crate) mod tokenize;
pub(crate) mod vector;
pub(crate) mod verify;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::error::Result;

/// Runs the command that was asked for; the exit code is not always that of success: `verify` may
/// find something.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    let quiet = cli.quiet;
    match cli.command {
        Command::Embed(command) => command.run(quiet),
        Command::Generate(command) => command.run(quiet),
        Command::Search(command) => command.run(quiet),
        Command::Rerank(command) => command.run(quiet),
        Command::Tokenize(command) => command.run(quiet),
        Command::Inspect(command) => command.run(),
        Command::Verify(command) => command.run(quiet),
        Command::Convert(command) => command.run(quiet),
        Command::Quantize(command) => command.run(quiet),
        Command::PruneVocabulary(command) => command.run(quiet),
        Command::Dequantize(command) => command.run(quiet),
        Command::Diff(command) => command.run(quiet),
        Command::Histogram(command) => command.run(quiet),
        Command::Migrate(command) => command.run(quiet),
        Command::Vector(command) => command.run(quiet),
        Command::Similar(command) => command.run(),
        Command::Analogy(command) => command.run(),
        Command::Select(command) => command.run(quiet),
        Command::Reconstruct(command) => command.run(quiet),
        Command::BucketToExplicit(command) => command.run(quiet),
        Command::Metadata(command) => command.run(),
        Command::ComputeAccuracy(command) => command.run(quiet),
        Command::Completions(command) => command.run(),
    }
}
