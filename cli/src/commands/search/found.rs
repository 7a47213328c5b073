//! Results: passages with their places, as people and scripts get them.

use std::collections::HashSet;

use nanoembed_search::{Answer, Answers};
use serde::Serialize;
use serde_json::Value;

use crate::output::members::kept;

/// A result. The fields' names are those of the JSON output.
#[derive(Clone, Debug, Serialize)]
pub(in crate::commands) struct Found<'t> {
    pub(super) file: &'t str,
    pub(super) line: u64,
    pub(super) end_line: u64,
    #[serde(flatten, serialize_with = "members_of")]
    kept: Vec<(String, Value)>,
    pub(super) text: &'t str,
    pub(super) score: f32,
    pub(super) similarity: Option<f32>,
    /// True for the text of a JSON line.
    #[serde(skip)]
    pub(super) is_record: bool,
}

fn members_of<S: serde::Serializer>(members: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    kept(&members, to)
}

/// The first `count` of `answers`; only the first of each file if `once_a_file`.
pub(in crate::commands) fn found<'t>(
    answers: &Answers<'t>,
    count: usize,
    once_a_file: bool,
) -> Vec<Found<'t>> {
    let mut files = HashSet::new();
    let all = answers.all.iter();
    let all = all.filter(|answer| !once_a_file || files.insert(answer.file)).take(count);
    all.map(result).collect()
}

fn result<'t>(answer: &Answer<'t>) -> Found<'t> {
    let Answer { file, line, end_line, text, score, similarity, .. } = *answer;
    let members = answer.members();
    let is_record = members.is_some();
    let kept = members.into_iter().flatten().collect();
    Found { file, line, end_line, kept, text, score, similarity, is_record }
}
