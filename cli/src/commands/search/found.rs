//! Results: passages with their places, as people and scripts get them.

use std::collections::HashSet;

use nanoembed_search::Hit;
use serde::Serialize;
use serde_json::Value;

use super::collected::Collected;
use crate::output::members::kept;

/// A result. The fields' names are those of the JSON output.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Found<'c> {
    pub(super) file: &'c str,
    pub(super) line: u64,
    pub(super) end_line: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'c [(String, Value)],
    pub(super) text: &'c str,
    pub(super) score: f32,
    pub(super) similarity: Option<f32>,
    /// True for the text of a JSON line.
    #[serde(skip)]
    pub(super) is_record: bool,
}

/// A passage that was found.
pub(super) struct Answer {
    pub(super) hit: Hit,
    /// The number of its part that answers best.
    pub(super) part: usize,
}

/// The first `count` of `answers`; only the first of each file if `once_a_file`.
pub(super) fn found<'c>(
    answers: &[Answer],
    collected: &'c Collected,
    count: usize,
    once_a_file: bool,
) -> Vec<Found<'c>> {
    let mut files = HashSet::new();
    let result = |Answer { hit, part }: &Answer| {
        let (file, passage) = collected.corpus.get(hit.passage)?;
        let part = passage.parts.get(*part)?;
        let record = collected.records.get(&hit.passage);
        Some(Found {
            file,
            line: part.line,
            end_line: part.end_line,
            kept: record.map_or(&[], |kept| &kept[..]),
            text: passage.text_of(part),
            score: hit.score,
            similarity: hit.similarity,
            is_record: record.is_some(),
        })
    };
    let all = answers.iter().filter_map(result);
    all.filter(|found| !once_a_file || files.insert(found.file)).take(count).collect()
}
