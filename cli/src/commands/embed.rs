//! `embed`: texts to embeddings.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::args::EmbedderArgs;
use crate::atomic::NewFile;
use crate::embedder::{Embedder, Embedding};
use crate::error::{Failure, Result, warn};
use crate::input::InputArgs;
use crate::model_file::ModelFile;
use crate::output::form::{self, form_of};
use crate::output::npy;
use crate::progress::Progress;

/// Turn texts into embeddings
///
/// Results come in the order of the texts, while texts are still being read. Similar texts have embeddings with a
/// cosine near 1.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed embed \"How do I reset my password?\"
  nanoembed embed --format jsonl < questions.txt
  nanoembed embed -i jsonl -f articles.jsonl -o articles.npy
  jq -c '{text: .title}' items.jsonl | nanoembed embed -i jsonl --output jsonl

With `--format jsonl` every text gives one line:
  {\"index\": 0, \"tokens\": 7, \"truncated\": false, \"embedding\": [0.0123, …]}")]
pub(crate) struct Embed {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    embedder: EmbedderArgs,

    /// Write to a file, which appears when it is complete; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    output: PathBuf,

    /// How embeddings are written [default: by the ending of FILE, `.txt`, `.jsonl` or `.npy`; text to stdout]
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
    tokens: usize,
    truncated: bool,
    embedding: &'a [f32],
}

impl Embed {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        let asked = self.json.then_some(Format::Jsonl).or(self.format);
        let format = form_of(&self.output, asked, Format::Text)?;
        let file = ModelFile::open(self.embedder.model.model.as_deref())?;
        let embedder = Embedder::open(&file, &self.embedder)?;
        let mut texts = self.input.open(quiet)?;
        let mut output =
            Output::new(NewFile::create(&self.output, format == Format::Npy)?, format, &embedder);
        let progress = (!quiet).then(|| Progress::texts("embedding", texts.count()));
        let mut truncated = Truncated::default();
        while let Some(chunk) = texts.next_chunk()? {
            let embeddings = embedder.embed(&chunk).map_err(|error| file.failure(error))?;
            for embedding in &embeddings {
                truncated.count(output.index, embedding);
                output.push(embedding)?;
            }
            output.flush()?;
            if let Some(progress) = &progress {
                progress.advance(embeddings.len() as u64);
            }
        }
        drop(progress);
        output.finish()?;
        if !quiet {
            truncated.warn(&embedder);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where embeddings go, and in what form.
struct Output {
    file: NewFile,
    form: Form,
    index: u64,
}

enum Form {
    Text,
    Jsonl,
    Npy(npy::Rows),
}

impl Output {
    fn new(file: NewFile, format: Format, embedder: &Embedder<'_>) -> Self {
        let form = match format {
            Format::Text => Form::Text,
            Format::Jsonl => Form::Jsonl,
            Format::Npy => Form::Npy(npy::Rows::new(embedder.width())),
        };
        Self { file, form, index: 0 }
    }

    fn push(&mut self, embedding: &Embedding) -> Result<()> {
        let Embedding { tokens, truncated, vector } = embedding;
        let written = match &mut self.form {
            Form::Text => write_numbers(&mut self.file, vector),
            Form::Jsonl => {
                let (index, tokens, truncated) = (self.index, *tokens, *truncated);
                let line = Line { index, tokens, truncated, embedding: vector };
                serde_json::to_writer(&mut self.file, &line)
                    .map_err(Into::into)
                    .and_then(|()| self.file.write_all(b"\n"))
            }
            Form::Npy(rows) => rows.push(vector),
        };
        self.index += 1;
        written.map_err(|error| Failure::writing(self.file.name(), &error))
    }

    /// Hands on what there is: someone may be waiting for it at the other end of a pipe.
    fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| Failure::writing(self.file.name(), &error))
    }

    fn finish(mut self) -> Result<()> {
        if let Form::Npy(rows) = self.form {
            let name = self.file.name();
            rows.finish(&mut self.file).map_err(|error| Failure::writing(name, &error))?;
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

/// The texts that were cut.
#[derive(Default)]
pub(crate) struct Truncated {
    texts: u64,
    all: u64,
    first: u64,
}

impl Truncated {
    pub(crate) fn count(&mut self, index: u64, embedding: &Embedding) {
        self.all += 1;
        if embedding.truncated {
            if self.texts == 0 {
                self.first = index;
            }
            self.texts += 1;
        }
    }

    pub(crate) fn warn(&self, embedder: &Embedder<'_>) {
        let (used, most) = (embedder.max_tokens(), embedder.positions());
        let more = if used < most {
            format!("; `--max-tokens {most}` uses as much as the model can")
        } else {
            String::new()
        };
        let Self { texts, all, first } = self;
        match (texts, all) {
            (0, _) => {}
            (1, 1) => {
                warn(format_args!("only the first {used} tokens of the text were used{more}"));
            }
            _ => warn(format_args!(
                "of {texts} of {all} texts only the first {used} tokens were used (first: index {first}){more}"
            )),
        }
    }
}
