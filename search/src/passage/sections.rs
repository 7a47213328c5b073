//! Headings with their sections, in the order of a text.

use super::sentences::{Cut, newlines};

/// A heading: its place in the text, its rank from 1, and its words.
pub(super) struct Heading {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) level: u8,
    pub(super) title: String,
}

/// Adds the section of each heading, and the text before the first.
pub(super) fn split(text: &str, headings: &[Heading], cut: &mut Cut<'_>) {
    let first = headings.first().map_or(text.len(), |heading| heading.start);
    cut.prose("", text.get(..first).unwrap_or_default(), 1);
    let mut line = 1 + newlines(text.get(..first).unwrap_or_default());
    let mut path: Vec<(u8, &str)> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        let next = headings.get(at + 1);
        let end = next.map_or(text.len(), |next| next.start);
        let section = text.get(heading.start..end).unwrap_or_default();
        while path.last().is_some_and(|(level, _)| *level >= heading.level) {
            path.pop();
        }
        let around = joined(&path);
        path.push((heading.level, &heading.title));
        let is_empty = text.get(heading.end..end).unwrap_or_default().trim().is_empty();
        // The sections in it have it among their headings.
        let is_in_next = next.is_some_and(|next| next.level > heading.level);
        if !(is_empty && is_in_next) {
            cut.section(&around, &joined(&path), section, line);
        }
        line += newlines(section);
    }
}

fn joined(path: &[(u8, &str)]) -> String {
    path.iter().map(|(_, title)| *title).collect::<Vec<_>>().join(" › ")
}
