//! Neighbours of queries as commands print them.

use clap::ValueEnum;
use nanoembed::files::new_file::NewFile;
use nanoembed::words::file::{Indexed, WordFile};
use nanoembed_core::words::Scored;
use serde::Serialize;

use crate::error::Result;
use crate::output::lines::LineWriter;
use crate::output::result_args::{LineArgs, LineForm};

/// The number printed beside a neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Measure {
    /// The cosine of the angle, -1 to 1
    #[default]
    Cosine,
    /// 1 minus the angle by half a turn, 0 to 1
    Angular,
    /// 1 minus half the distance of the unit vectors, 0 to 1
    Euclidean,
}

impl Measure {
    fn similarity(self, scored: Scored) -> f32 {
        match self {
            Self::Cosine => scored.cosine(),
            Self::Angular => scored.angular(),
            Self::Euclidean => scored.euclidean_similarity(),
        }
    }
}

/// A neighbour. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Neighbour<'n> {
    /// The word asked for, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'n str>,
    word: &'n str,
    similarity: f32,
}

/// Prints the neighbours of queries.
pub(super) struct Printer {
    form: LineForm,
    measure: Measure,
    pub(super) lines: LineWriter<NewFile>,
}

impl Printer {
    pub(super) fn new(output: &LineArgs, measure: Measure) -> Result<Self> {
        Ok(Self { form: output.form()?, measure, lines: output.create()? })
    }

    /// Prints one query's neighbours, under its name where there are several.
    pub(super) fn print(
        &mut self,
        opened: &WordFile<'_>,
        words: &Indexed<'_>,
        query: Option<&str>,
        found: &[Scored],
    ) -> Result<()> {
        if let (Some(query), LineForm::Text) = (query, self.form) {
            self.lines.text(format_args!("{query}:"))?;
        }
        for &scored in found {
            let word = words.word(scored.row).map_err(|error| opened.failure(error))?;
            let word = String::from_utf8_lossy(word);
            let similarity = self.measure.similarity(scored);
            match self.form {
                LineForm::Jsonl => {
                    self.lines.json(&Neighbour { query, word: &word, similarity })?;
                }
                LineForm::Text => {
                    let indent = if query.is_some() { "  " } else { "" };
                    self.lines.text(format_args!("{indent}{similarity:>8.5}  {word}"))?;
                }
            }
        }
        Ok(())
    }
}
