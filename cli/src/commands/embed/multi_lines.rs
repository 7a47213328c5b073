//! A vector for each token of a text, as lines.

use nanoembed::files::new_file::NewFile;
use nanoembed::{Length, Vectors};
use serde::Serialize;

use super::writing::{Line, VectorOutput};
use crate::error::Result;
use crate::input::Item;
use crate::output::lines::LineWriter;

/// A vector for each token in a line of JSON output.
#[derive(Serialize)]
struct MultiMember<'a> {
    embeddings: Option<Vec<&'a [f32]>>,
}

/// The output for a vector for each token, and its form.
pub(super) struct Output {
    lines: LineWriter<NewFile>,
    /// True for JSON, false for text.
    is_json: bool,
}

impl Output {
    pub(super) fn new(file: NewFile, is_json: bool) -> Self {
        Self { lines: LineWriter::new(file), is_json }
    }
}

impl VectorOutput<Vectors> for Output {
    /// In text: a line for each vector, and an empty line after each text.
    fn push(&mut self, item: &Item, embedding: Option<(&Vectors, Length)>) -> Result<()> {
        let vectors = embedding.map(|(vectors, _)| vectors);
        if !self.is_json {
            for vector in vectors.iter().flat_map(|vectors| vectors.rows()) {
                let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
                self.lines.text(numbers.join(" "))?;
            }
            return self.lines.text("");
        }
        let embeddings = vectors.map(|vectors| vectors.rows().collect());
        let length = embedding.map(|(_, length)| length);
        self.lines.json(&Line::new(item, length, MultiMember { embeddings }))
    }

    fn flush(&mut self) -> Result<()> {
        self.lines.flush()
    }

    fn finish(self) -> Result<()> {
        self.lines.commit()
    }
}
