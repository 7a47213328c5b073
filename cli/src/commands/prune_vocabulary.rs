//! `prune-vocabulary`: a model with only the pieces that some languages need.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::convert::{Pruned, Pruning};
use nanoembed::units::{self, Listed};
use serde::Serialize;

use crate::args::ThreadArgs;
use crate::error::{Result, name_of_output};
use crate::input::InputArgs;
use crate::output::lines::LineWriter;
use crate::progress::{Reading, Terminal};
use crate::streams::say;

/// Cut a model's vocabulary to the pieces that texts need
///
/// A multilingual model spends most of its weights on a table of pieces of all languages that it
/// knows. The folder that is written has a model with the same layers and fewer pieces: those that
/// the texts consist of, alone and after the model's prompts; special and added tokens; single
/// characters of the texts' scripts, and bytes, so that other words are still cut into pieces. Ids
/// are renumbered in all of its files. The texts keep their pieces and their vectors, bit by bit;
/// other words may be cut into more pieces than before, so give texts of all languages and fields
/// that are to be embedded: some megabytes of each.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed prune-vocabulary -m multilingual-e5-small/ -o e5-german/ -f german.txt
  nanoembed prune-vocabulary -m bge-m3/ -o bge-m3-cut/ -f texts.jsonl -i jsonl --field body
  nanoembed prune-vocabulary -m multilingual-e5-small/ --dry-run --min-count 5 -f german.txt
  nanoembed convert e5-german/ e5-german.amb --type int4block

With `--json`: {\"texts\", \"pieces\", \"pieces_before\", \"rare\", \"weight_bytes\",
\"weight_bytes_before\", \"left_out\": […]}, where `rare` counts pieces of the texts that `--min-count`
took away, and `left_out` names files of the folder that are not in the new one.")]
pub(crate) struct PruneVocabulary {
    /// The model: a folder as on Hugging Face with safetensors
    #[arg(long, short, value_name = "FILE")]
    pub(super) model: PathBuf,

    /// The folder to write, not there yet or empty; it appears when it is complete
    #[arg(long, short, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<PathBuf>,

    /// Report the pieces that would stay, and write nothing
    #[arg(long, conflicts_with = "output")]
    dry_run: bool,

    /// Leave out pieces that stand in the texts fewer than N times: texts with them are cut into
    /// other pieces
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min_count: u64,

    /// Print an object of JSON about it
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// The line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    texts: u64,
    pieces: usize,
    pieces_before: usize,
    rare: usize,
    weight_bytes: u64,
    weight_bytes_before: u64,
    left_out: &'a [String],
}

impl PruneVocabulary {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.threads.use_threads()?;
        self.input.refuse_results()?;
        if let Some(output) = &self.output {
            // Not only when all texts have been read.
            Pruning::check_output(output)?;
        }
        let mut pruning = Pruning::open(&self.model)?.min_count(self.min_count);
        let mut texts = self.input.clone().open(quiet)?;
        let mut reading = Reading::begin("reading", texts.bytes(), quiet);
        while let Some(chunk) = texts.next_chunk()? {
            let given: Vec<&String> = chunk.iter().filter_map(|item| item.text.as_ref()).collect();
            pruning.read(&given)?;
            reading.read(chunk.len(), chunk.iter().map(|item| item.bytes).sum());
        }
        reading.end();
        if !quiet {
            texts.warn();
        }
        let pruned = match &self.output {
            Some(output) => pruning.write(output, &Terminal::new(quiet))?,
            None => pruning.measure()?,
        };
        self.print(&pruned, quiet)?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, pruned: &Pruned, quiet: bool) -> Result<()> {
        let Pruned { texts, pieces, pieces_before, rare, left_out, .. } = pruned;
        let (weight_bytes, weight_bytes_before) = (pruned.weight_bytes, pruned.weight_bytes_before);
        if self.json {
            let mut lines = LineWriter::stdout();
            lines.json(&Line {
                texts: *texts,
                pieces: *pieces,
                pieces_before: *pieces_before,
                rare: *rare,
                weight_bytes,
                weight_bytes_before,
                left_out,
            })?;
            return lines.finish();
        }
        if quiet {
            return Ok(());
        }
        let name = self.output.as_deref().map(|output| format!("{}: ", name_of_output(output)));
        say(format_args!(
            "{}{} of {} pieces, weights of {} (before: {})",
            name.unwrap_or_default(),
            units::count(*pieces as u64),
            units::count(*pieces_before as u64),
            units::bytes(weight_bytes),
            units::bytes(weight_bytes_before),
        ));
        if *rare > 0 {
            say(format_args!(
                "  {} rarer pieces of the texts do not stay",
                units::count(*rare as u64)
            ));
        }
        if !left_out.is_empty() {
            say(format_args!("  left out: {}", Listed(left_out)));
        }
        Ok(())
    }
}
