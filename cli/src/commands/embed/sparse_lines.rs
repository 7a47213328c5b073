//! Sparse vectors as lines.

use nanoembed::files::new_file::NewFile;
use nanoembed::{Encoder, Length, SparseVector};
use serde::Serialize;

use super::writing::{Line, VectorOutput};
use crate::error::Result;
use crate::input::Item;
use crate::output::lines::LineWriter;

/// A sparse vector in a line of JSON output.
#[derive(Serialize)]
struct SparseMember<'a> {
    sparse: Option<Sparse<'a>>,
}

/// A sparse vector.
#[derive(Serialize)]
struct Sparse<'a> {
    indices: &'a [u32],
    values: &'a [f32],
    /// The tokens as the vocabulary spells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pieces: Option<Vec<String>>,
}

/// The output for sparse vectors, and its form.
pub(super) struct Output<'e> {
    lines: LineWriter<NewFile>,
    encoder: &'e Encoder,
    /// True for JSON, false for text.
    is_json: bool,
    /// True if tokens are spelled in JSON, too.
    pieces: bool,
}

impl<'e> Output<'e> {
    pub(super) fn new(file: NewFile, is_json: bool, pieces: bool, encoder: &'e Encoder) -> Self {
        Self { lines: LineWriter::new(file), encoder, is_json, pieces }
    }

    fn piece(&self, id: u32) -> String {
        self.encoder.token(id).unwrap_or_default()
    }
}

impl VectorOutput<SparseVector> for Output<'_> {
    /// In text: tokens and their weights, the heaviest first.
    fn push(&mut self, item: &Item, embedding: Option<(&SparseVector, Length)>) -> Result<()> {
        let vector = embedding.map(|(vector, _)| vector);
        if !self.is_json {
            let mut weights: Vec<(u32, f32)> = vector.iter().flat_map(|it| it.iter()).collect();
            weights.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            let spelled =
                weights.iter().map(|(id, weight)| format!("{}:{weight}", self.piece(*id)));
            return self.lines.text(spelled.collect::<Vec<_>>().join(" "));
        }
        let sparse = vector.map(|vector| Sparse {
            indices: &vector.indices,
            values: &vector.values,
            pieces: self.pieces.then(|| vector.indices.iter().map(|id| self.piece(*id)).collect()),
        });
        let length = embedding.map(|(_, length)| length);
        self.lines.json(&Line::new(item, length, SparseMember { sparse }))
    }

    fn flush(&mut self) -> Result<()> {
        self.lines.flush()
    }

    fn finish(self) -> Result<()> {
        self.lines.commit()
    }
}
