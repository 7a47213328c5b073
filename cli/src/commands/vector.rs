//! `vector`: the vectors of words, known or made of their n-grams.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::files::new_file::NewFile;
use nanoembed::files::on_disk::OnDisk;
use nanoembed::words::file::{WordFile, failure_of_word};
use nanoembed::words::suggestion;
use nanoembed_core::Error as CoreError;
use nanoembed_core::subword::Subwords;
use nanoembed_core::words::{Rows, Source, Words, is_dropped};
use serde::Serialize;

use crate::args::words::PolicyArgs;
use crate::error::{Error, Result, name_of, warn};
use crate::input::lines;
use crate::output::create;
use crate::output::form;
use crate::output::lines::LineWriter;
use crate::output::npy;
use crate::output::result_args::{Readable, ResultArgs};

/// Up to so many words are looked for from the vocabulary's start, for more there is an index.
const FEW: usize = 4;
/// For how many missing words others are offered.
const MOST_SUGGESTIONS: u64 = 4;

/// Print the vectors of words
///
/// A word that is not in the vocabulary gets the normalised sum of its n-grams' vectors, if the
/// file has n-grams. Single words are read straight from the file, whatever its size; many have an
/// index made for them first.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed vector vectors.fifu Berlin
  nanoembed vector vectors.fifu --json Berlin Berlinerinnen | jq .norm
  nanoembed vector vectors.fifu -o vectors.npy < words.txt

With `--json` every word is one line:
  {\"word\", \"known\", \"rows\", \"norm\", \"embedding\"}
A word without any vector has `null` for it (and a row of NaN in `.npy`); the exit
status is then 1.")]
pub(crate) struct Vector {
    /// A `.fifu` file
    pub(super) file: PathBuf,

    /// Words; without any, the lines of stdin
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    #[command(flatten)]
    pub(super) output: ResultArgs<VectorFormat>,

    #[command(flatten)]
    policy: PolicyArgs,
}

/// A format for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum VectorFormat {
    /// The word and its numbers with spaces between, a line for each word
    Text,
    /// A JSON object for each word
    Jsonl,
    /// One NumPy array of f32, a row for each word
    Npy,
}

impl form::Form for VectorFormat {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Npy => &["npy"],
        }
    }
}

impl Readable for VectorFormat {
    const TEXT: Self = Self::Text;
    const JSONL: Self = Self::Jsonl;
}

/// A word's vector. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Answer<'w> {
    word: &'w str,
    known: bool,
    rows: Vec<u64>,
    norm: Option<f32>,
    embedding: Option<Vec<f32>>,
}

impl Vector {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let is_file = std::fs::metadata(&self.file).is_ok_and(|metadata| metadata.is_file());
        let mut answers = Answers::new(&self, quiet);
        if (1..=FEW).contains(&self.words.len()) && is_file {
            let file = OnDisk::open(&self.file)?;
            let (words, rows) = file
                .words(&self.words, self.policy.policy())
                .map_err(|error| self.failure(error))?;
            // Where n-grams are listed, each would be looked for from the first on.
            if !matches!(words.layout().vocabulary.subwords, Subwords::Explicit { .. }) {
                answers.begin(words.cols())?;
                for (word, row) in self.words.iter().zip(rows) {
                    answers.add(&words, word, row)?;
                }
                return answers.finish();
            }
        }
        let bytes = MappedFile::open(&self.file)?;
        let opened = WordFile::parse(&self.file, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        answers.begin(words.cols())?;
        let mut answer = |word: &str| {
            let row = words.find(word.as_bytes()).map_err(|error| self.failure(error))?;
            answers.add(&words, word, row)
        };
        if self.words.is_empty() {
            let mut lines = lines(Path::new("-"), None)?;
            while let Some(word) = lines.next_line()? {
                answer(&word)?;
            }
        } else {
            self.words.iter().try_for_each(|word| answer(word))?;
        }
        answers.finish()
    }

    fn failure(&self, error: CoreError) -> Error {
        Error::in_file(name_of(&self.file), error)
    }
}

/// Answers on their way out.
struct Answers<'v> {
    command: &'v Vector,
    output: Option<Output>,
    missing: u64,
    quiet: bool,
}

impl<'v> Answers<'v> {
    const fn new(command: &'v Vector, quiet: bool) -> Self {
        Self { command, output: None, missing: 0, quiet }
    }

    /// Begins the output, of vectors of so many columns.
    fn begin(&mut self, cols: usize) -> Result<()> {
        self.output = Some(Output::open(self.command, cols)?);
        Ok(())
    }

    /// Answers with the vector of `word`, which has this row if it is in the vocabulary.
    fn add<S: Source, M: AsRef<[u64]>>(
        &mut self,
        words: &Words<S, M>,
        word: &str,
        row: Option<u32>,
    ) -> Result<()> {
        let answer = look_up(words, word, row)
            .map_err(|error| failure_of_word(&name_of(&self.command.file), word, error))?;
        if answer.embedding.is_none() {
            self.missing += 1;
            if !self.quiet {
                match self.suggest(word) {
                    Some(hint) => warn(format_args!("{word:?} has no vector, but {hint}")),
                    None => warn(format_args!("{word:?} has no vector")),
                }
            }
        }
        match &mut self.output {
            Some(output) => output.push(&answer),
            None => Ok(()),
        }
    }

    /// A word that is nearly this one, for the first few that are missing: each takes a pass over
    /// the words.
    fn suggest(&self, word: &str) -> Option<String> {
        if self.missing > MOST_SUGGESTIONS {
            return None;
        }
        let bytes = MappedFile::open(&self.command.file).ok()?;
        let opened =
            WordFile::parse(&self.command.file, &bytes, self.command.policy.policy()).ok()?;
        suggestion::hint(&opened.file, word)
    }

    fn finish(self) -> Result<ExitCode> {
        if let Some(output) = self.output {
            output.finish()?;
        }
        Ok(if self.missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn look_up<'w, S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    word: &'w str,
    row: Option<u32>,
) -> Result<Answer<'w>, CoreError> {
    let mut rows = Vec::new();
    let (mut vector, mut scratch) = (vec![0.0; words.cols()], vec![0.0; words.scratch_needed()]);
    let norm = match row {
        Some(row) => {
            rows.push(row.into());
            words.row(row.into(), &mut vector, &mut scratch)?;
            Some(words.norm(row)?)
        }
        None => {
            words.subword_rows(word, |row| {
                rows.push(row);
                Ok(())
            })?;
            let found = words.subword_vector(word, &mut vector, &mut scratch)?;
            if found.is_some_and(|found| found.rows != Rows::Subwords { count: count(&rows) }) {
                retain_kept(words, &mut rows)?;
            }
            found.map(|found| found.norm)
        }
    };
    let embedding = norm.is_some().then_some(vector);
    Ok(Answer { word, known: row.is_some(), rows, norm, embedding })
}

fn count(rows: &[u64]) -> u32 {
    u32::try_from(rows.len()).unwrap_or(u32::MAX)
}

/// Leaves out the rows of n-grams that a pruned model has dropped.
fn retain_kept<S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    rows: &mut Vec<u64>,
) -> Result<(), CoreError> {
    let (mut vector, mut scratch) = (vec![0.0; words.cols()], vec![0.0; words.scratch_needed()]);
    let mut kept = Vec::new();
    for &row in &*rows {
        words.row(row, &mut vector, &mut scratch)?;
        if !is_dropped(&vector) {
            kept.push(row);
        }
    }
    *rows = kept;
    Ok(())
}

/// The output for answers.
enum Output {
    Text(LineWriter<NewFile>),
    Json(LineWriter<NewFile>),
    Npy { rows: npy::Rows, cols: usize, file: NewFile },
}

impl Output {
    fn open(command: &Vector, cols: usize) -> Result<Self> {
        let format = command.output.form()?;
        let file = create(&command.output.path, format == VectorFormat::Npy)?;
        Ok(match format {
            VectorFormat::Text => Self::Text(LineWriter::new(file)),
            VectorFormat::Jsonl => Self::Json(LineWriter::new(file)),
            VectorFormat::Npy => Self::Npy { rows: npy::Rows::new(cols), cols, file },
        })
    }

    fn push(&mut self, answer: &Answer<'_>) -> Result<()> {
        match self {
            Self::Json(lines) => lines.json(answer),
            Self::Text(lines) => match &answer.embedding {
                Some(vector) => {
                    let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
                    lines.text(format_args!("{} {}", answer.word, numbers.join(" ")))
                }
                None => Ok(()),
            },
            Self::Npy { rows, cols, file } => {
                let nothing = vec![f32::NAN; *cols];
                let row = answer.embedding.as_ref().unwrap_or(&nothing);
                rows.push(row).map_err(|error| Error::writing(file.name(), &error))
            }
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Text(lines) | Self::Json(lines) => lines.commit(),
            Self::Npy { rows, mut file, .. } => {
                let name = file.name();
                rows.finish(&mut file).map_err(|error| Error::writing(name, &error))?;
                file.commit()
            }
        }
    }
}
