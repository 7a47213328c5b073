//! `search`: the lines or paragraphs of a text that mean what is asked for.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::embed::Truncated;
use crate::args::EmbedderArgs;
use crate::embedder::{Embedder, cosine};
use crate::error::{Failure, Result, name_of};
use crate::input::Lines;
use crate::model_file::ModelFile;
use crate::output::lines::Lines as Output;
use crate::progress::Progress;

/// How many passages are embedded at a time.
const CHUNK: usize = 512;

/// Find the lines or paragraphs of a text that are nearest in meaning to a query
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed search notes.txt \"where did I put the keys?\"
  nanoembed search --by paragraph -k 3 book.txt \"the storm at sea\"
  git log --format=%s | nanoembed search - \"faster parsing\" --json

With `--json` every result is one line, the nearest first:
  {\"line\", \"text\", \"similarity\"}")]
pub(crate) struct Search {
    /// A text file; `-` is stdin
    file: PathBuf,

    /// What to look for, in words of your own
    query: String,

    /// How many results
    #[arg(short = 'k', long = "top", default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,

    /// What is compared with the query
    #[arg(long, value_enum, default_value_t = Passage::Line, value_name = "UNIT")]
    by: Passage,

    /// Leave out results below this similarity, -1 to 1
    #[arg(long, value_name = "SIMILARITY", allow_negative_numbers = true)]
    min: Option<f32>,

    /// One line of JSON for every result
    #[arg(long)]
    json: bool,

    /// Replace bytes that are not UTF-8 by U+FFFD instead of stopping there
    #[arg(long)]
    lossy: bool,

    #[command(flatten)]
    embedder: EmbedderArgs,
}

/// What is compared with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Passage {
    /// Every line that is not blank
    Line,
    /// Lines up to a blank one
    Paragraph,
}

/// A result. The fields' names are those of the JSON output.
#[derive(Clone, Debug, Serialize)]
struct Found {
    /// The passage's first line, from 1.
    line: u64,
    text: String,
    similarity: f32,
}

/// The better one is greater: more similar, or earlier.
impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.similarity.total_cmp(&other.similarity).then(other.line.cmp(&self.line))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Found {}

impl Search {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        if self.query.trim().is_empty() {
            return Err(Failure::usage("the query is empty"));
        }
        let model = ModelFile::open(self.embedder.model.model.as_deref())?;
        let embedder = Embedder::open(&model, &self.embedder)?;
        let refuse = |error| model.failure(error);
        let query = embedder.embed(std::slice::from_ref(&self.query)).map_err(refuse)?;
        let query = query.into_iter().next().map(|query| query.vector).unwrap_or_default();
        let mut passages = Passages::open(&self)?;
        let progress = (!quiet).then(|| Progress::texts("searching", None));
        let mut truncated = Truncated::default();
        // The worst of the best on top, to be replaced.
        let mut best = BinaryHeap::new();
        loop {
            let (lines, texts) = passages.next_chunk(CHUNK)?;
            if texts.is_empty() {
                break;
            }
            let embeddings = embedder.embed(&texts).map_err(refuse)?;
            for ((line, text), embedding) in lines.into_iter().zip(texts).zip(&embeddings) {
                truncated.count(line, embedding);
                let similarity = cosine(&query, &embedding.vector);
                if self.min.is_none_or(|min| similarity >= min) {
                    best.push(std::cmp::Reverse(Found { line, text, similarity }));
                }
                if best.len() > self.count as usize {
                    best.pop();
                }
            }
            if let Some(progress) = &progress {
                progress.advance(embeddings.len() as u64);
            }
        }
        drop(progress);
        let found: Vec<Found> = best.into_sorted_vec().into_iter().map(|found| found.0).collect();
        self.print(&found)?;
        if !quiet {
            truncated.warn(&embedder);
        }
        if found.is_empty() {
            return Err(Failure::not_found(match self.min {
                Some(min) => format!("nothing is as similar as {min}"),
                None => "there is no text to search".into(),
            })
            .at(name_of(&self.file)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, found: &[Found]) -> Result<()> {
        if self.json {
            let mut lines = Output::stdout();
            for found in found {
                lines.json(found)?;
            }
            return lines.finish();
        }
        // Styles are left out by the stream where nobody sees them.
        let mut lines = Output::styled();
        let digits = found.iter().map(|found| found.line.to_string().len()).max().unwrap_or(1);
        let dim = Style::new().dimmed();
        for Found { line, text, similarity } in found {
            let color = match similarity {
                0.5.. => AnsiColor::Green,
                0.3.. => AnsiColor::Yellow,
                _ => AnsiColor::BrightBlack,
            };
            let style = Style::new().bold().fg_color(Some(color.into()));
            let text = text.replace('\n', &format!("\n{}", " ".repeat(digits + 9)));
            lines.text(format_args!(
                "{style}{similarity:>6.3}{style:#}  {dim}{line:>digits$}{dim:#}  {text}"
            ))?;
        }
        lines.finish()
    }
}

/// The passages of a file with the numbers of their first lines.
struct Passages {
    lines: Lines,
    by: Passage,
}

impl Passages {
    fn open(search: &Search) -> Result<Self> {
        Ok(Self { lines: Lines::open(&search.file, Some(search.lossy))?, by: search.by })
    }

    fn next_chunk(&mut self, count: usize) -> Result<(Vec<u64>, Vec<String>)> {
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        while texts.len() < count {
            let Some((number, text)) = self.next_passage()? else { break };
            numbers.push(number);
            texts.push(text);
        }
        Ok((numbers, texts))
    }

    fn next_passage(&mut self) -> Result<Option<(u64, String)>> {
        let mut passage: Option<(u64, String)> = None;
        while let Some(line) = self.lines.next_line()? {
            match (&mut passage, line.trim().is_empty()) {
                (None, true) => {}
                (Some(_), true) => break,
                (Some((_, text)), false) => {
                    text.push('\n');
                    text.push_str(line.trim_end());
                }
                (None, false) => passage = Some((self.lines.number(), line.trim_end().to_owned())),
            }
            if self.by == Passage::Line && passage.is_some() {
                break;
            }
        }
        Ok(passage)
    }
}
