//! `select`: some words with their vectors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::words::file::WordFile;
use nanoembed::words::selection;
use nanoembed::words::similar::no_vector;
use nanoembed_core::format::finalfusion::{BrokenUtf8, FinalfusionPlan, StorageSpec};

use crate::args::words::PolicyArgs;
use crate::error::{Error, Result, warn};
use crate::input::lines;
use crate::output::create;
use crate::streams::say;

/// Write some words with their vectors to a smaller file
///
/// OUT has the words in the order of the list, each once, with the vectors that IN gives them: also
/// words that IN makes of n-grams. It has no n-grams itself.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed select vectors.fifu few.fifu words.txt
  cut -f1 terms.tsv | nanoembed select vectors.fifu few.fifu --ignore-unknown")]
pub(crate) struct Select {
    /// A `.fifu` file
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    pub(super) output: PathBuf,

    /// The words, a line each; `-` is stdin
    #[arg(value_name = "WORDS", default_value = "-")]
    pub(super) words: PathBuf,

    /// Leave out words that have no vector instead of stopping there
    #[arg(long, short_alias = 'i')]
    ignore_unknown: bool,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl Select {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let bytes = MappedFile::open(&self.input)?;
        let opened = WordFile::parse(&self.input, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        let mut vector = vec![0.0; words.cols()];
        let mut scratch = vec![0.0; words.scratch_needed()];
        let mut selected = selection::Selected::beside(&self.output)?;
        let mut lines = lines(Path::new(&self.words), None)?;
        let mut unknown = 0_u64;
        while let Some(word) = lines.next_line()? {
            let found = words.vector(&word, &mut vector, &mut scratch);
            match found.map_err(|error| opened.failure(error))? {
                Some(found) => selected.push(&word, &vector, found.norm)?,
                None if self.ignore_unknown => unknown += 1,
                None => {
                    return Err(no_vector(&opened, &word)
                        .with_hint("`--ignore-unknown` leaves such words out"));
                }
            }
        }
        let mut file = create(&self.output, true)?;
        let name = file.name();
        let count = selected.count();
        let cols = u32::try_from(words.cols())
            .map_err(|_| Error::bad_input("too many columns").at(&opened.name))?;
        let plan = FinalfusionPlan {
            metadata: opened.file.metadata(),
            vocabulary: selected.vocabulary(),
            word_bytes: selected.word_bytes(),
            ngram_bytes: 0,
            storage: StorageSpec::Array { rows: count.into(), cols },
            norms: true,
            norms_listed: true,
            broken_utf8: BrokenUtf8::Error,
        };
        selected.write(plan, (&mut file, &name))?;
        file.commit()?;
        if !quiet {
            say(format_args!("{name}: {count} words"));
            if unknown > 0 {
                warn(format_args!("{unknown} words have no vector and were left out"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
