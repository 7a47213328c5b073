//! `compute-accuracy`: how many analogies word vectors get right.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::words::accuracy::{Accuracy, Section};
use nanoembed::words::file::WordFile;
use nanoembed::words::nearest::Nearest;

use crate::args::ThreadArgs;
use crate::args::words::PolicyArgs;
use crate::error::{Error, Result, name_of};
use crate::input::lines;
use crate::output::lines::LineWriter;
use crate::progress::Terminal;

/// Count how many analogies word vectors get right
///
/// The analogies are lines of four words, "Athens Greece Oslo Norway", in sections that a line ":
/// NAME" begins. Those whose answer is not in the vocabulary are skipped; those asked with a word
/// without vector are wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed compute-accuracy vectors.fifu questions-words.txt
  nanoembed compute-accuracy vectors.fifu --json < analogies.txt

With `--json` every section is one line, and the total the last:
  {\"section\", \"correct\", \"total\", \"skipped\", \"accuracy\", \"cosine\"}")]
pub(crate) struct ComputeAccuracy {
    /// A `.fifu` file
    pub(super) file: PathBuf,

    /// The analogies; `-` is stdin
    #[arg(value_name = "ANALOGIES", default_value = "-")]
    analogies: PathBuf,

    /// One line of JSON for every section
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl ComputeAccuracy {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.threads.use_threads()?;
        let bytes = MappedFile::open(&self.file)?;
        let opened = WordFile::parse(&self.file, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        let nearest = Nearest::among(&words).map_err(|error| opened.failure(error))?;
        let mut input = lines(&self.analogies, None)?;
        let observer = Terminal::new(quiet);
        let mut accuracy = Accuracy::new((&opened, &words, &nearest), &observer);
        while let Some(line) = input.next_line()? {
            if let Some(name) = line.strip_prefix(':') {
                accuracy.section(name.trim());
                continue;
            }
            let fields: Vec<&str> = line.split_whitespace().collect();
            match fields[..] {
                [] => {}
                [a, b, c, answer] => accuracy.ask([a, b, c], answer)?,
                _ => {
                    return Err(Error::bad_input("expected four words")
                        .at(name_of(&self.analogies))
                        .at(format_args!("line {}", input.number())));
                }
            }
        }
        let sections = accuracy.finish()?;
        if sections.iter().all(|section| section.total + section.skipped == 0) {
            return Err(Error::not_found("there are no analogies").at(&opened.name));
        }
        self.print(&sections)
    }

    fn print(&self, sections: &[Section]) -> Result<ExitCode> {
        let mut lines = LineWriter::stdout();
        for section in sections.iter().chain([&Section::sum(sections)]) {
            if self.json {
                lines.json(section)?;
                continue;
            }
            let Section { section, correct, total, skipped, accuracy, cosine, .. } = section;
            let accuracy = accuracy.map_or(String::new(), |accuracy| {
                let cosine = cosine.unwrap_or(0.0);
                format!(", accuracy: {:.2}, avg cos: {cosine:.2}", accuracy * 100.0)
            });
            lines.text(format_args!(
                "{section}: {correct}/{total} correct{accuracy}, skipped: {skipped}"
            ))?;
        }
        lines.finish()?;
        Ok(ExitCode::SUCCESS)
    }
}
