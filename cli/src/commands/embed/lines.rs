//! Dense vectors as lines or as rows of an array.

use std::io::Write;

use nanoembed::files::new_file::NewFile;
use nanoembed::{Encoder, Length, Precision};
use serde::Serialize;

use super::format::Format;
use super::writing::{Line, VectorOutput};
use crate::error::{Error, Result};
use crate::input::Item;
use crate::output::vector::{Numbers, Stored, bytes, numpy_name};
use crate::output::{json, npy};

/// A dense vector in a line of JSON output.
#[derive(Serialize)]
struct Dense<'a> {
    embedding: Option<Numbers<'a>>,
    /// The value of one step of an 8-bit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding_scale: Option<f32>,
}

/// The output for embeddings, and its form.
pub(super) struct Output {
    file: NewFile,
    form: Form,
    precision: Precision,
    /// The row written in place of a missing embedding.
    nothing: Vec<f32>,
}

enum Form {
    Text,
    Jsonl,
    Fvecs { dimensions: u32 },
    Npy(npy::Rows),
}

impl Output {
    pub(super) fn new(
        file: NewFile,
        format: Format,
        precision: Precision,
        encoder: &Encoder,
    ) -> Result<Self> {
        let dimensions = encoder.dimensions();
        let form = match format {
            Format::Text => Form::Text,
            Format::Npy => Form::Npy(npy::Rows::with_element(
                numpy_name(precision),
                precision.width(dimensions),
            )),
            Format::Fvecs => {
                let too_many = |_| Error::usage("the vectors are too long for `.fvecs`");
                Form::Fvecs { dimensions: u32::try_from(dimensions).map_err(too_many)? }
            }
            _ => Form::Jsonl,
        };
        // Integers have no NaN; `0` and no bit are as near as they come.
        let nothing = match precision {
            Precision::F32 | Precision::F16 => f32::NAN,
            Precision::Int8 | Precision::Binary => 0.0,
        };
        Ok(Self { file, form, precision, nothing: vec![nothing; dimensions] })
    }
}

impl VectorOutput<[f32]> for Output {
    fn push(&mut self, item: &Item, embedding: Option<(&[f32], Length)>) -> Result<()> {
        let vector = embedding.map_or(&self.nothing[..], |(vector, _)| vector);
        let precision = self.precision;
        let written = match &mut self.form {
            Form::Text => Stored::new(vector, precision).numbers.write_line(&mut self.file),
            Form::Jsonl => {
                let stored = embedding.map(|(vector, _)| Stored::new(vector, precision));
                let embedding_scale = stored.as_ref().and_then(|stored| stored.scale);
                let dense =
                    Dense { embedding: stored.map(|stored| stored.numbers), embedding_scale };
                let length = embedding.map(|(_, length)| length);
                json::write_line(&mut self.file, &Line::new(item, length, dense))
            }
            Form::Fvecs { dimensions } => self
                .file
                .write_all(&dimensions.to_le_bytes())
                .and_then(|()| self.file.write_all(&bytes(vector, precision))),
            Form::Npy(rows) => rows.push_bytes(&bytes(vector, precision)),
        };
        written.map_err(|error| Error::writing(self.file.name(), &error))
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| Error::writing(self.file.name(), &error))
    }

    fn finish(mut self) -> Result<()> {
        if let Form::Npy(rows) = self.form {
            let name = self.file.name();
            rows.finish(&mut self.file).map_err(|error| Error::writing(name, &error))?;
        }
        self.file.commit()
    }
}
