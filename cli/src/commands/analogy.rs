//! `analogy`: a is to b as c is to what?

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::words::file::WordFile;
use nanoembed::words::nearest::Nearest;
use nanoembed::words::similar::analogous;

use super::neighbours::{Measure, Printer};
use crate::args::words::PolicyArgs;
use crate::args::{ThreadArgs, TopArgs};
use crate::error::Result;
use crate::output::result_args::LineArgs;

/// Answer "A is to B as C is to what?"
///
/// The nearest words to the vector B − A + C, without the three words themselves.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed analogy vectors.fifu Paris Frankreich Berlin
  nanoembed analogy vectors.fifu man king woman -k 3 --json
  nanoembed analogy vectors.fifu man king woman --include-query a,c

With `--json` every answer is one line, the nearest first:
  {\"word\", \"similarity\"}")]
pub(crate) struct Analogy {
    /// A `.fifu` file
    pub(super) file: PathBuf,

    a: String,
    b: String,
    c: String,

    /// Let the words asked with be answers too: all, or those named
    #[arg(long, value_name = "a,b,c", num_args = 0..=1, value_delimiter = ',', default_missing_value = "a,b,c", value_parser = ["a", "b", "c"], require_equals = false)]
    include_query: Vec<String>,

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

impl Analogy {
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.threads.use_threads()?;
        let bytes = MappedFile::open(&self.file)?;
        let opened = WordFile::parse(&self.file, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        let nearest = Nearest::among(&words).map_err(|error| opened.failure(error))?;
        let asked = [&self.a[..], &self.b, &self.c];
        let masks = ["a", "b", "c"].map(|name| !self.include_query.iter().any(|it| it == name));
        let count = self.top.count();
        let found = analogous((&opened, &words, &nearest), asked, masks, count)?;
        let mut printer = Printer::new(&self.output, self.measure)?;
        printer.print(&opened, &words, None, &found)?;
        printer.lines.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}
