//! `embed`: texts to embeddings.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use nanoembed::files::new_file::NewFile;
use nanoembed::{Encoder, Length, Role};
use serde::Serialize;
use serde_json::Value;

use crate::args::EmbedderArgs;
use crate::error::{Error, Result};
use crate::input::{InputArgs, Item};
use crate::output::create;
use crate::output::form::{self, form_of};
use crate::output::kept::kept;
use crate::output::npy;
use crate::output::truncated::{Limits, Truncated};
use crate::progress::{Progress, say_done};

/// Turn texts into embeddings
///
/// Results come in the order of the texts, while texts are still being read. Similar texts have
/// embeddings with a cosine near 1.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed embed \"How do I reset my password?\"
  nanoembed embed --format jsonl < questions.txt
  nanoembed embed -i jsonl -f articles.jsonl -o articles.npy
  jq -c '{text: .title}' items.jsonl | nanoembed embed -i jsonl --format jsonl

With `--format jsonl` every text gives one line:
  {\"index\": 0, \"id\": …, \"tokens\": 7, \"truncated\": false, \"embedding\": [0.0123, …]}
`index` counts texts from 0, also those left out by `--on-error skip`. `id` stands there if the
input is JSON lines and has one. A line that `--on-error null` gets over has `null` for its
embedding. A blank line is an empty text and has a result as any other.")]
pub(crate) struct Embed {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    embedder: EmbedderArgs,

    /// Write to a file, which appears when it is complete; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    output: PathBuf,

    /// How embeddings are written [default: by the ending of FILE, `.txt`, `.jsonl` or `.npy`; text
    /// to stdout]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Output")]
    format: Option<Format>,

    /// The same as `--format jsonl`
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
}

/// How embeddings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Numbers with spaces between, a line for each text
    Text,
    /// A JSON object for each text
    Jsonl,
    /// One NumPy array of f32, a row for each text
    Npy,
}

impl form::Form for Format {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Npy => &["npy"],
        }
    }
}

/// A line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'a [(String, Value)],
    tokens: usize,
    truncated: bool,
    embedding: Option<&'a [f32]>,
    /// Why there is no embedding.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Embed {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        let asked = self.json.then_some(Format::Jsonl).or(self.format);
        let format = form_of(&self.output, asked, Format::Text)?;
        let encoder = self.embedder.open(quiet)?;
        let mut texts = self.input.open(quiet)?;
        let mut output =
            Output::new(create(&self.output, format == Format::Npy)?, format, &encoder);
        let progress = (!quiet).then(|| Progress::reading("embedding", texts.bytes()));
        let start = Instant::now();
        let mut truncated = Truncated::default();
        let (mut count, mut tokens) = (0, 0);
        while let Some(mut chunk) = texts.next_chunk()? {
            let given: Vec<String> = chunk.iter_mut().filter_map(|item| item.text.take()).collect();
            let (vectors, lengths) = encoder.embed_all_as(Role::Text, &given)?;
            let mut embeddings = vectors.rows().zip(lengths);
            for item in &chunk {
                let embedding = if item.error.is_none() { embeddings.next() } else { None };
                truncated.count(item, embedding.is_some_and(|(_, length)| length.truncated));
                tokens += embedding.map_or(0, |(_, length)| length.tokens as u64);
                output.push(item, embedding)?;
            }
            output.flush()?;
            count += chunk.len() as u64;
            if let Some(progress) = &progress {
                let bytes = chunk.iter().map(|item| item.bytes).sum();
                progress.read("embedding", count, start, bytes);
            }
        }
        drop(progress);
        output.finish()?;
        if !quiet {
            texts.warn();
            truncated.warn(Limits::of(&encoder));
            if count > 1 {
                say_done("embedded", count, tokens, start.elapsed());
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where embeddings go, and in what form.
struct Output {
    file: NewFile,
    form: Form,
    /// What stands for an embedding that there is none of.
    nothing: Vec<f32>,
}

enum Form {
    Text,
    Jsonl,
    Npy(npy::Rows),
}

impl Output {
    fn new(file: NewFile, format: Format, encoder: &Encoder) -> Self {
        let form = match format {
            Format::Text => Form::Text,
            Format::Jsonl => Form::Jsonl,
            Format::Npy => Form::Npy(npy::Rows::new(encoder.dimensions())),
        };
        Self { file, form, nothing: vec![f32::NAN; encoder.dimensions()] }
    }

    fn push(&mut self, item: &Item, embedding: Option<(&[f32], Length)>) -> Result<()> {
        let vector = embedding.map_or(&self.nothing[..], |(vector, _)| vector);
        let written = match &mut self.form {
            Form::Text => write_numbers(&mut self.file, vector),
            Form::Jsonl => {
                let line = Line {
                    index: item.index,
                    kept: &item.kept,
                    tokens: embedding.map_or(0, |(_, length)| length.tokens),
                    truncated: embedding.is_some_and(|(_, length)| length.truncated),
                    embedding: embedding.map(|(vector, _)| vector),
                    error: item.error.as_deref(),
                };
                serde_json::to_writer(&mut self.file, &line)
                    .map_err(Into::into)
                    .and_then(|()| self.file.write_all(b"\n"))
            }
            Form::Npy(rows) => rows.push(vector),
        };
        written.map_err(|error| Error::writing(self.file.name(), &error))
    }

    /// Hands on what there is: someone may be waiting for it at the other end of a pipe.
    fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| Error::writing(self.file.name(), &error))
    }

    fn finish(mut self) -> Result<()> {
        if let Form::Npy(rows) = self.form {
            let name = self.file.name();
            rows.finish(&mut self.file).map_err(|error| Error::writing(name, &error))?;
        }
        self.file.commit()
    }
}

fn write_numbers(to: &mut impl Write, numbers: &[f32]) -> std::io::Result<()> {
    for (ordinal, number) in numbers.iter().enumerate() {
        let space = if ordinal == 0 { "" } else { " " };
        write!(to, "{space}{number}")?;
    }
    to.write_all(b"\n")
}
