//! `similar`: the nearest words to a word.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::words::file::{Indexed, WordFile};
use nanoembed::words::nearest::{Nearest, QUERIES};
use nanoembed::words::similar::{no_vector, similar};

use super::neighbours::{Measure, Printer};
use crate::args::words::PolicyArgs;
use crate::args::{ThreadArgs, TopArgs};
use crate::error::{Result, warn};
use crate::input::lines;
use crate::output::result_args::LineArgs;

/// The most neighbours in memory.
const MAX_NEIGHBOURS: usize = 1 << 20;

/// Find the nearest words to a word
///
/// The word need not be in the vocabulary if the file has n-grams. Several words are searched for
/// in one pass over the vectors; words of stdin, a line each, in passes of 64.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed similar vectors.fifu Berlin
  nanoembed similar vectors.fifu Berlin Paris -k 3 --json
  nanoembed similar vectors.fifu < words.txt

With `--json` every neighbour is one line, the nearest first:
  {\"word\", \"similarity\"}
and, where several words were asked for, with the word as \"query\" before them.")]
pub(crate) struct Similar {
    /// A `.fifu` file
    pub(super) file: PathBuf,

    /// Words; without any, the lines of stdin
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Measure that is printed as similarity
    #[arg(long, value_enum, default_value_t, value_name = "MEASURE")]
    measure: Measure,

    #[command(flatten)]
    top: TopArgs,

    #[command(flatten)]
    pub(super) output: LineArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl Similar {
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.threads.use_threads()?;
        let bytes = MappedFile::open(&self.file)?;
        let opened = WordFile::parse(&self.file, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        let nearest = Nearest::among(&words).map_err(|error| opened.failure(error))?;
        let mut printer = Printer::new(&self.output, self.measure)?;
        let mut missing = 0;
        if let [word] = &self.words[..] {
            let found =
                self.print((&opened, &words, &nearest), (&self.words, false), &mut printer)?;
            if found > 0 {
                return Err(no_vector(&opened, word));
            }
        } else if self.words.is_empty() {
            let at_once = self.at_once(words.layout().vocabulary.words);
            let mut lines = lines(Path::new("-"), None)?;
            loop {
                let mut batch = Vec::new();
                while batch.len() < at_once
                    && let Some(line) = lines.next_line()?
                {
                    batch.push(line);
                }
                if batch.is_empty() {
                    break;
                }
                missing += self.print((&opened, &words, &nearest), (&batch, true), &mut printer)?;
                printer.lines.flush()?;
            }
        } else {
            for batch in self.words.chunks(self.at_once(words.layout().vocabulary.words)) {
                missing += self.print((&opened, &words, &nearest), (batch, true), &mut printer)?;
            }
        }
        printer.lines.commit()?;
        Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The number of words that share a pass: fewer where the neighbours of each would fill the
    /// memory.
    fn at_once(&self, words: u32) -> usize {
        let neighbours = self.top.count().min(words as usize).max(1);
        (MAX_NEIGHBOURS / neighbours).clamp(1, QUERIES)
    }

    /// Prints the neighbours of a batch; how many words have no vector.
    fn print(
        &self,
        (opened, words, nearest): (&WordFile<'_>, &Indexed<'_>, &Nearest<'_, '_>),
        (batch, is_one_of_many): (&[String], bool),
        printer: &mut Printer,
    ) -> Result<usize> {
        let found = similar((opened, words, nearest), batch, self.top.count())?;
        let missing = batch.iter().zip(&found).filter(|(_, found)| found.is_none());
        let count = missing.clone().count();
        if is_one_of_many {
            missing.for_each(|(word, _)| warn(format_args!("{word:?} has no vector")));
        }
        for (word, found) in batch.iter().zip(&found) {
            if let Some(found) = found {
                printer.print(opened, words, is_one_of_many.then_some(word), found)?;
            }
        }
        Ok(count)
    }
}
