//! `search`: the lines or paragraphs of texts that are nearest to a query in meaning.

mod passages;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use nanoembed::{Role, Similarity, escape, similarity};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::args::{EmbedderArgs, count, number};
use crate::error::{Error, Result, name_of};
use crate::input::{FormArgs, LineFormat, OnError, file_bytes, hint_at_form};
use crate::output::lines::LineWriter as Output;
use crate::output::members::kept;
use crate::output::truncation::{Limits, Truncated, warn_of_question};
use crate::progress::Reading;
use passages::Passages;

/// Passages that are embedded at a time.
const CHUNK: usize = 512;

/// Find the lines or paragraphs of texts that are nearest in meaning to a query
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed search notes.txt \"where did I put the keys?\"
  nanoembed search --by paragraph -k 3 book.txt \"the storm at sea\"
  nanoembed search chapter-*.txt \"the storm at sea\"
  nanoembed search -i jsonl --field body mails.jsonl \"when does the train leave?\"
  git log --format=%s | nanoembed search - \"faster parsing\" --json

With `--json` every result is one line, the nearest first:
  {\"file\", \"line\", \"text\", \"similarity\"}
and with `-i jsonl` the line's `id`, if it has one.")]
pub(crate) struct Search {
    /// Text files; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The query, in your words
    query: String,

    /// Number of results
    #[arg(short = 'k', long = "top", default_value_t = 10, value_name = "N", value_parser = count)]
    count: u32,

    /// Unit of text that is compared with the query
    #[arg(long, value_enum, default_value_t = Passage::Line, value_name = "UNIT")]
    by: Passage,

    /// Leave out results below this similarity: a cosine, -1 to 1, unless the model says another
    /// `similarity_fn_name`
    #[arg(long, value_name = "SIMILARITY", value_parser = number)]
    min: Option<f32>,

    /// One line of JSON for every result
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    form: FormArgs,

    #[command(flatten)]
    pub(super) embedder: EmbedderArgs,
}

/// A unit of text that is compared with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Passage {
    /// Every line that is not blank
    Line,
    /// LineWriter up to a blank one
    Paragraph,
}

/// A result. The fields' names are those of the JSON output.
#[derive(Clone, Debug, Serialize)]
struct Found {
    #[serde(serialize_with = "name")]
    file: Arc<str>,
    /// The passage's first line, from 1.
    line: u64,
    #[serde(flatten, serialize_with = "owned")]
    kept: Vec<(String, Value)>,
    text: String,
    similarity: f32,
    /// The number of passages before this one.
    #[serde(skip)]
    ordinal: u64,
}

fn name<S: Serializer>(name: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(name)
}

#[expect(clippy::ptr_arg, reason = "serde wants a reference to the field")]
fn owned<S: Serializer>(members: &Vec<(String, Value)>, to: S) -> Result<S::Ok, S::Error> {
    kept(&&members[..], to)
}

/// The better one is greater: more similar, or earlier.
impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.similarity.total_cmp(&other.similarity).then(other.ordinal.cmp(&self.ordinal))
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
            return Err(Error::usage("the query is empty"));
        }
        self.check_form()?;
        let encoder = self.embedder.open(quiet)?;
        let measure = encoder.similarity();
        let reader = self.form.reader()?;
        if !quiet && self.form.line_format == LineFormat::Text {
            hint_at_form(&self.files);
        }
        let (query, lengths) = encoder.embed_all_as(Role::Query, &[&self.query])?;
        if !quiet && lengths.iter().any(|length| length.truncated) {
            warn_of_question(Limits::new(&encoder));
        }
        let bytes = self.files.iter().map(|file| file_bytes(file)).sum();
        let mut passages = Passages::new(self.files.clone(), reader, self.by, self.form.lossy);
        let mut reading = Reading::begin("searching", bytes, quiet);
        let mut truncated = Truncated::default();
        let mut ordinal = 0;
        // The worst of the best on top, to be replaced.
        let mut best = BinaryHeap::new();
        loop {
            let mut items = passages.next_chunk(CHUNK)?;
            if items.is_empty() {
                break;
            }
            let texts: Vec<String> = items.iter_mut().filter_map(|item| item.text.take()).collect();
            let (count, bytes) = (items.len(), items.iter().map(|item| item.bytes).sum());
            let (vectors, lengths) = encoder.embed_all_as(Role::Document, &texts)?;
            let embeddings = vectors.rows().zip(lengths);
            for ((item, text), (vector, length)) in items.into_iter().zip(texts).zip(embeddings) {
                truncated.count(&item, length.truncated);
                reading.tokens += length.tokens as u64;
                ordinal += 1;
                let similarity = similarity(measure, query.as_slice(), vector);
                if self.min.is_none_or(|min| similarity >= min) {
                    let (file, kept) = (item.file.unwrap_or_default(), item.kept);
                    let found = Found { file, line: item.line, kept, text, similarity, ordinal };
                    best.push(std::cmp::Reverse(found));
                }
                if best.len() > self.count as usize {
                    best.pop();
                }
            }
            reading.read(count, bytes);
        }
        reading.end();
        let found: Vec<Found> = best.into_sorted_vec().into_iter().map(|found| found.0).collect();
        self.print(measure, &found)?;
        if !quiet {
            passages.warn();
            truncated.warn(Limits::new(&encoder));
            reading.say_done("searched");
        }
        if found.is_empty() {
            return Err(Error::not_found(match self.min {
                Some(min) => format!("nothing is as similar as {min}"),
                None => "there is no text to search".into(),
            })
            .at(self
                .files
                .iter()
                .map(|file| name_of(file))
                .collect::<Vec<_>>()
                .join(", ")));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Refuses options that mean nothing for passages and results of this form.
    fn check_form(&self) -> Result<()> {
        if self.form.line_format == LineFormat::Jsonl && self.by == Passage::Paragraph {
            return Err(Error::usage("--by paragraph is for lines of text, not for JSON lines"));
        }
        if self.form.on_error == OnError::Null {
            return Err(Error::usage(
                "--on-error null is for a result of every line, not the best",
            )
            .with_hint("`--on-error skip` leaves lines out that cannot be used"));
        }
        self.form.check_kept(self.json)
    }

    fn print(&self, measure: Similarity, found: &[Found]) -> Result<()> {
        if self.json {
            let mut lines = Output::stdout();
            for found in found {
                lines.json(found)?;
            }
            return lines.finish();
        }
        // Styles are left out by the stream where nobody sees them.
        let mut lines = Output::styled()?;
        let place = |found: &Found| match self.files.len() {
            1 => found.line.to_string(),
            _ => format!("{}:{}", found.file, found.line),
        };
        let digits = found.iter().map(|found| place(found).chars().count()).max().unwrap_or(1);
        let dim = Style::new().dimmed();
        for found in found {
            let (line, Found { text, similarity, .. }) = (place(found), found);
            let color = match similarity {
                _ if measure != Similarity::Cosine => AnsiColor::Green,
                0.5.. => AnsiColor::Green,
                0.3.. => AnsiColor::Yellow,
                _ => AnsiColor::BrightBlack,
            };
            let style = Style::new().bold().fg_color(Some(color.into()));
            let mut parts = text.split('\n');
            let score = format_args!("{style}{similarity:>6.3}{style:#}  ");
            let line = format!("{:>digits$}", escape::line(&line));
            let own = format_args!("{score}{dim}{line}{dim:#}  ");
            lines.text_after(own, parts.next().unwrap_or_default())?;
            let indent = " ".repeat(digits + 9);
            parts.try_for_each(|part| lines.text(format_args!("{indent}{part}")))?;
        }
        lines.finish()
    }
}
