//! Texts in chunks, embedded and written as they come, whatever the kind of their vectors.

use std::process::ExitCode;

use nanoembed::{Length, Vectors};
use serde::Serialize;
use serde_json::Value;

use super::format::Format;
use crate::error::{Error, Result};
use crate::input::{Item, Texts};
use crate::output::members::kept;
use crate::output::truncation::{Limits, Truncated};
use crate::progress::Reading;

/// The vectors of several texts.
pub(super) trait TextVectors {
    /// That of one text.
    type Vector: ?Sized;

    /// That of the text of this number.
    fn vector(&self, index: usize) -> Option<&Self::Vector>;
}

impl TextVectors for Vectors {
    type Vector = [f32];

    fn vector(&self, index: usize) -> Option<&[f32]> {
        self.row(index)
    }
}

impl<V> TextVectors for Vec<V> {
    type Vector = V;

    fn vector(&self, index: usize) -> Option<&V> {
        self.get(index)
    }
}

/// A line of JSON output: a text, and what there is of its vector under the names that `V` gives.
#[derive(Serialize)]
pub(super) struct Line<'a, V: Serialize> {
    index: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'a [(String, Value)],
    tokens: usize,
    truncated: bool,
    #[serde(flatten)]
    vector: V,
    /// The reason that there is no vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a, V: Serialize> Line<'a, V> {
    /// The line of a text, of which so much was embedded.
    pub(super) fn new(item: &'a Item, length: Option<Length>, vector: V) -> Self {
        Self {
            index: item.index,
            kept: &item.kept,
            tokens: length.map_or(0, |length| length.tokens),
            truncated: length.is_some_and(|length| length.truncated),
            vector,
            error: item.error.as_deref(),
        }
    }
}

/// The output for vectors.
pub(super) trait VectorOutput<V: ?Sized> {
    /// Writes the vector of a text, or what stands for it where there is none.
    fn push(&mut self, item: &Item, embedding: Option<(&V, Length)>) -> Result<()>;

    /// Hands on what there is: someone may be waiting for it at the other end of a pipe.
    fn flush(&mut self) -> Result<()>;

    /// Puts the whole file in its place.
    fn finish(self) -> Result<()>;
}

/// Embeds all texts by `embed`, and writes their vectors; `limits` are those of a text.
pub(super) fn write<V: TextVectors>(
    mut texts: Texts,
    mut output: impl VectorOutput<V::Vector>,
    embed: impl Fn(&[String]) -> Result<(V, Vec<Length>)>,
    limits: Limits,
    quiet: bool,
) -> Result<ExitCode> {
    let mut reading = Reading::begin("embedding", texts.bytes(), quiet);
    let mut truncated = Truncated::default();
    while let Some(mut chunk) = texts.next_chunk()? {
        let given: Vec<String> = chunk.iter_mut().filter_map(|item| item.text.take()).collect();
        let (vectors, lengths) = embed(&given)?;
        let mut embeddings = lengths.into_iter().enumerate();
        for item in &chunk {
            let embedding = if item.error.is_none() { embeddings.next() } else { None };
            let embedding =
                embedding.and_then(|(index, length)| Some((vectors.vector(index)?, length)));
            truncated.count(item, embedding.is_some_and(|(_, length)| length.truncated));
            reading.tokens += embedding.map_or(0, |(_, length)| length.tokens as u64);
            output.push(item, embedding)?;
        }
        output.flush()?;
        reading.read(chunk.len(), chunk.iter().map(|item| item.bytes).sum());
    }
    reading.end();
    output.finish()?;
    if !quiet {
        texts.warn();
        truncated.warn(limits);
        reading.say_done("embedded");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns true for JSON and false for text, the forms of vectors that are no rows of an array.
pub(super) fn is_json(format: Format) -> Result<bool> {
    match format {
        Format::Text => Ok(false),
        Format::Jsonl => Ok(true),
        _ => Err(Error::usage("only dense vectors are rows of an array or a table")
            .with_hint("`--format jsonl` writes others as lines")),
    }
}
