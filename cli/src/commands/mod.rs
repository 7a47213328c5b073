//! The commands, one file or folder each: arguments and execution.

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
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod mcp;
pub(crate) mod metadata;
pub(crate) mod migrate;
pub(crate) mod models;
mod neighbours;
pub(crate) mod prune_vocabulary;
pub(crate) mod quantize;
pub(crate) mod reconstruct;
pub(crate) mod rerank;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod serve;
pub(crate) mod similar;
pub(crate) mod tokenize;
pub(crate) mod vector;
pub(crate) mod verify;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;

use clap::Subcommand;
use nanoembed::files::new_file::keep_inputs;

use crate::args::limits::{Read, each_file};
use crate::error::Result;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Embed(embed::Embed),
    Search(search::Search),
    Index(index::Index),
    Mcp(mcp::Mcp),
    Install(install::Install),
    Rerank(rerank::Rerank),
    Serve(serve::Serve),
    Generate(generate::Generate),
    Tokenize(tokenize::Tokenize),
    Models(models::Models),
    Inspect(inspect::Inspect),
    Verify(verify::Verify),
    Convert(convert::Convert),
    Quantize(quantize::Quantize),
    PruneVocabulary(prune_vocabulary::PruneVocabulary),
    Dequantize(dequantize::Dequantize),
    Diff(diff::Diff),
    Histogram(histogram::Histogram),
    Migrate(migrate::Migrate),
    Vector(vector::Vector),
    Similar(similar::Similar),
    Analogy(analogy::Analogy),
    Select(select::Select),
    Reconstruct(reconstruct::Reconstruct),
    BucketToExplicit(bucket_to_explicit::BucketToExplicit),
    Metadata(metadata::Metadata),
    ComputeAccuracy(compute_accuracy::ComputeAccuracy),
    Completions(completions::Completions),
}

impl Command {
    /// The models and files that the command reads beside texts and settings, as they were named.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        match self {
            Self::Embed(command) => command.embedder.model.reads(),
            Self::Search(command) => command.reads(),
            Self::Index(command) => command.embedder.model.reads(),
            Self::Mcp(command) => command.reads(),
            Self::Rerank(command) => command.model.reads(),
            Self::Serve(command) => command.reads(),
            Self::Tokenize(command) => command.model.reads(),
            Self::Generate(command) => vec![Read::Model { path: &command.model, adapter: None }],
            Self::Inspect(command) => each_file(&command.files),
            Self::Verify(command) => each_file(&command.files),
            Self::Convert(command) => vec![Read::Files(&command.input)],
            Self::Quantize(command) => command.reads(),
            Self::PruneVocabulary(command) => vec![Read::Files(&command.model)],
            Self::Dequantize(command) => vec![Read::Files(&command.file)],
            Self::Diff(command) => vec![Read::Files(&command.left), Read::Files(&command.right)],
            Self::Histogram(command) => vec![Read::Files(&command.file)],
            Self::Migrate(command) => command.reads(),
            Self::Vector(command) => vec![Read::Files(&command.file)],
            Self::Similar(command) => vec![Read::Files(&command.file)],
            Self::Analogy(command) => vec![Read::Files(&command.file)],
            Self::Select(command) => vec![Read::Files(&command.input)],
            Self::Reconstruct(command) => vec![Read::Files(&command.input)],
            Self::BucketToExplicit(command) => vec![Read::Files(&command.input)],
            Self::Metadata(command) => vec![Read::Files(&command.input)],
            Self::ComputeAccuracy(command) => vec![Read::Files(&command.file)],
            Self::Install(_) | Self::Models(_) | Self::Completions(_) => Vec::new(),
        }
    }

    /// Files of texts and words that it reads.
    fn texts(&self) -> Cow<'_, [PathBuf]> {
        match self {
            Self::Embed(command) => (&command.input.files).into(),
            Self::Rerank(command) => (&command.input.files).into(),
            Self::Tokenize(command) => (&command.input.files).into(),
            Self::Search(command) => command.paths().into(),
            Self::Select(command) => slice::from_ref(&command.words).into(),
            _ => Cow::default(),
        }
    }

    /// The file that the command writes, if the output does not replace the input: a file may be
    /// converted in place.
    fn writes(&self) -> Option<&Path> {
        match self {
            Self::Embed(command) => Some(&command.output.path),
            Self::Rerank(command) => Some(&command.output.path),
            Self::Tokenize(command) => Some(&command.output.path),
            Self::Search(command) => Some(&command.output.path),
            Self::Dequantize(command) => Some(&command.output),
            Self::Histogram(command) => Some(&command.output.path),
            Self::Vector(command) => Some(&command.output.path),
            Self::Similar(command) => Some(&command.output.path),
            Self::Analogy(command) => Some(&command.output.path),
            Self::Select(command) => Some(&command.output),
            _ => None,
        }
    }

    /// Refuses an output that would overwrite an input.
    fn keep_inputs(&self) -> Result<()> {
        let reads = self.reads();
        let texts = self.texts();
        let inputs = reads.iter().map(Read::path).chain(texts.iter().map(PathBuf::as_path));
        keep_inputs(inputs, self.writes().filter(|path| *path != Path::new("-")))
    }
}

/// Runs the command that was asked for; the exit code is not always that of success: `verify` may
/// find something.
///
/// `program` describes the whole command line, for completions.
pub(crate) fn run(
    command: Command,
    quiet: bool,
    program: fn() -> clap::Command,
) -> Result<ExitCode> {
    command.keep_inputs()?;
    match command {
        Command::Embed(command) => command.run(quiet),
        Command::Generate(command) => command.run(quiet),
        Command::Search(command) => command.run(quiet),
        Command::Index(command) => command.run(quiet),
        Command::Mcp(command) => command.run(),
        Command::Install(command) => command.run(quiet),
        Command::Rerank(command) => command.run(quiet),
        Command::Serve(command) => command.run(quiet),
        Command::Tokenize(command) => command.run(quiet),
        Command::Models(command) => command.run(),
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
        Command::Completions(command) => command.run(program()),
    }
}
