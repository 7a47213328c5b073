//! Analogies of a list that word vectors answer, counted section by section.

use nanoembed_core::limit;
use serde::Serialize;

use super::file::{Indexed, WordFile};
use super::nearest::{Nearest, QUERIES};
use crate::error::Result;
use crate::progress::{Observer, Progress};

/// A section's analogies. The fields' names are those of the JSON output.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Section {
    pub section: String,
    pub correct: u64,
    pub total: u64,
    /// Analogies whose answer is no word of the file.
    pub skipped: u64,
    /// Those that are correct as a share; `None` without any.
    pub accuracy: Option<f64>,
    /// The mean cosine of answers.
    pub cosine: Option<f64>,
    #[serde(skip)]
    cosines: f64,
}

impl Section {
    /// All sections together.
    pub fn sum(sections: &[Self]) -> Self {
        let mut sum = Self { section: "Total".into(), ..Self::default() };
        for section in sections {
            sum.correct += section.correct;
            sum.total += section.total;
            sum.skipped += section.skipped;
            sum.cosines += section.cosines;
        }
        sum.with_means()
    }

    fn with_means(self) -> Self {
        if self.total == 0 {
            return self;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of lines")]
        let (correct, total) = (self.correct as f64, self.total as f64);
        Self { accuracy: Some(correct / total), cosine: Some(self.cosines / total), ..self }
    }
}

/// An analogy without an answer yet.
struct Question {
    section: usize,
    /// The row of the right answer.
    answer: u32,
    skip: Vec<u32>,
}

/// The analogies of a list, as they are answered together.
pub struct Accuracy<'w, 'b> {
    opened: &'w WordFile<'b>,
    words: &'w Indexed<'b>,
    nearest: &'w Nearest<'w, 'b>,
    progress: Progress<'w>,
    sections: Vec<Section>,
    questions: Vec<Question>,
    queries: Vec<f32>,
}

impl<'w, 'b> Accuracy<'w, 'b> {
    /// No analogies yet.
    pub fn new(
        (opened, words, nearest): (&'w WordFile<'b>, &'w Indexed<'b>, &'w Nearest<'w, 'b>),
        observer: &'w dyn Observer,
    ) -> Self {
        let progress = Progress::texts(observer, "answering", None);
        let (sections, questions, queries) = (Vec::new(), Vec::new(), Vec::new());
        Self { opened, words, nearest, progress, sections, questions, queries }
    }

    /// Starts a section of this name.
    pub fn section(&mut self, name: &str) {
        self.sections.push(Section { section: name.to_owned(), ..Section::default() });
    }

    /// `answer` is to `c` as `b` is to `a`.
    pub fn ask(&mut self, [a, b, c]: [&str; 3], answer: &str) -> Result<()> {
        let failed = |error| self.opened.failure(error);
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        let number = self.sections.len() - 1;
        let Some(section) = self.sections.get_mut(number) else { return Ok(()) };
        let Some(answer) = self.words.find(answer.as_bytes()).map_err(failed)? else {
            section.skipped += 1;
            return Ok(());
        };
        section.total += 1;
        let cols = self.words.cols();
        let mut query = limit::filled(cols, 0.0).map_err(failed)?;
        let scratch = limit::filled(cols + self.words.scratch_needed(), 0.0);
        let mut scratch = scratch.map_err(failed)?;
        let analogy = self.words.analogy([a, b, c], &mut query, &mut scratch).map_err(failed)?;
        if analogy.present == [true; 3] {
            limit::append(&mut self.queries, &query).map_err(failed)?;
            let skip = analogy.rows.into_iter().flatten().collect();
            let question = Question { section: number, answer, skip };
            limit::push(&mut self.questions, question).map_err(failed)?;
        }
        if self.questions.len() == QUERIES {
            self.answer()?;
            self.progress.advance(QUERIES as u64);
        }
        Ok(())
    }

    /// The sections in their order.
    pub fn finish(mut self) -> Result<Vec<Section>> {
        self.answer()?;
        Ok(self.sections.into_iter().map(Section::with_means).collect())
    }

    /// Answers all open questions.
    fn answer(&mut self) -> Result<()> {
        let skip: Vec<Vec<u32>> = self.questions.iter().map(|it| it.skip.clone()).collect();
        let found = self.nearest.find(&mut self.queries, &skip, 1);
        let found = found.map_err(|error| self.opened.failure(error))?;
        for (question, found) in self.questions.iter().zip(found) {
            let section = self.sections.get_mut(question.section);
            if let (Some(section), Some(best)) = (section, found.first()) {
                section.correct += u64::from(best.row == question.answer);
                section.cosines += f64::from(best.cosine());
            }
        }
        self.questions.clear();
        self.queries.clear();
        Ok(())
    }
}
