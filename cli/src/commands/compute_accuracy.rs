//! `compute-accuracy`: how many analogies word vectors get right.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::args::ThreadArgs;
use crate::args::words::PolicyArgs;
use crate::error::{Error, Result};
use crate::input::Lines as Input;
use crate::output::lines::Lines;
use crate::progress::Progress;
use nanoembed::files::mapped::Mapped;
use nanoembed::words::file::{Indexed, Opened};
use nanoembed::words::nearest::{Nearest, QUERIES};

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
    file: PathBuf,

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

/// A section's analogies. The fields' names are those of the JSON output.
#[derive(Clone, Debug, Default, Serialize)]
struct Section {
    section: String,
    correct: u64,
    total: u64,
    skipped: u64,
    accuracy: Option<f64>,
    cosine: Option<f64>,
    #[serde(skip)]
    cosines: f64,
}

/// An analogy that waits for its answer.
struct Question {
    section: usize,
    /// The row of the right answer.
    answer: u32,
    skip: Vec<u32>,
}

impl ComputeAccuracy {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.threads.use_threads()?;
        let bytes = Mapped::open(&self.file)?;
        let opened = Opened::parse(&self.file, &bytes, self.policy.policy())?;
        let words = opened.indexed()?;
        let nearest = Nearest::among(&words).map_err(|error| opened.failure(error))?;
        let mut input = Input::open(&self.analogies, None)?;
        let progress = (!quiet).then(|| Progress::texts("answering", None));
        let mut sections: Vec<Section> = Vec::new();
        let (mut questions, mut queries) = (Vec::new(), Vec::new());
        while let Some(line) = input.next_line()? {
            if let Some(name) = line.strip_prefix(':') {
                sections.push(Section { section: name.trim().to_owned(), ..Section::default() });
                continue;
            }
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [a, b, c, answer] = fields[..] else {
                if fields.is_empty() {
                    continue;
                }
                return Err(Error::bad_input("expected four words")
                    .at(crate::error::name_of(&self.analogies))
                    .at(format_args!("line {}", input.number())));
            };
            if sections.is_empty() {
                sections.push(Section::default());
            }
            ask(&opened, &words, [a, b, c, answer], &mut sections, &mut questions, &mut queries)?;
            if questions.len() == QUERIES {
                answer_all(&opened, &nearest, &mut sections, &mut questions, &mut queries)?;
                if let Some(progress) = &progress {
                    progress.advance(QUERIES as u64);
                }
            }
        }
        answer_all(&opened, &nearest, &mut sections, &mut questions, &mut queries)?;
        drop(progress);
        if sections.iter().all(|section| section.total + section.skipped == 0) {
            return Err(Error::not_found("there are no analogies").at(&opened.name));
        }
        self.print(sections)
    }

    fn print(&self, sections: Vec<Section>) -> Result<ExitCode> {
        let mut total = Section { section: "Total".into(), ..Section::default() };
        for section in &sections {
            total.correct += section.correct;
            total.total += section.total;
            total.skipped += section.skipped;
            total.cosines += section.cosines;
        }
        let mut lines = Lines::stdout();
        for mut section in sections.into_iter().chain([total]) {
            if section.total > 0 {
                #[expect(clippy::cast_precision_loss, reason = "counts of lines")]
                let (correct, total) = (section.correct as f64, section.total as f64);
                section.accuracy = Some(correct / total);
                section.cosine = Some(section.cosines / total);
            }
            if self.json {
                lines.json(&section)?;
                continue;
            }
            let Section { section, correct, total, skipped, accuracy, cosine, .. } = &section;
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

/// Adds an analogy to those that are answered together, or counts it at once.
fn ask(
    opened: &Opened<'_>,
    words: &Indexed<'_>,
    [a, b, c, answer]: [&str; 4],
    sections: &mut [Section],
    questions: &mut Vec<Question>,
    queries: &mut Vec<f32>,
) -> Result<()> {
    let failed = |error| opened.failure(error);
    let number = sections.len() - 1;
    let section = &mut sections[number];
    let Some(answer) = words.find(answer.as_bytes()).map_err(failed)? else {
        section.skipped += 1;
        return Ok(());
    };
    section.total += 1;
    let mut query = vec![0.0; words.cols()];
    let mut scratch = vec![0.0; words.cols() + words.scratch_needed()];
    let analogy = words.analogy([a, b, c], &mut query, &mut scratch).map_err(failed)?;
    if analogy.present == [true; 3] {
        queries.extend(query);
        let skip = analogy.rows.into_iter().flatten().collect();
        questions.push(Question { section: number, answer, skip });
    }
    Ok(())
}

fn answer_all(
    opened: &Opened<'_>,
    nearest: &Nearest<'_, '_>,
    sections: &mut [Section],
    questions: &mut Vec<Question>,
    queries: &mut Vec<f32>,
) -> Result<()> {
    let skip: Vec<Vec<u32>> = questions.iter().map(|question| question.skip.clone()).collect();
    let found = nearest.find(queries, &skip, 1).map_err(|error| opened.failure(error))?;
    for (question, found) in questions.iter().zip(found) {
        let Some(best) = found.first() else { continue };
        let section = &mut sections[question.section];
        section.correct += u64::from(best.row == question.answer);
        section.cosines += f64::from(best.cosine());
    }
    questions.clear();
    queries.clear();
    Ok(())
}
