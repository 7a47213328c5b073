//! Lists in files of our own: texts with a character between their parts.

use crate::error::{Error, ErrorKind, Result};

/// Ids with spaces between.
pub(super) fn listed_ids(ids: &str) -> impl Iterator<Item = Result<u32>> {
    let ids = parts_of(ids, ' ').filter(|id| !id.is_empty());
    let bad = Error::without_offset(ErrorKind::BadVocabulary);
    ids.map(move |id| id.parse().map_err(|_| bad))
}

/// The parts of a text between characters. `str::split` could panic for all that the linker knows.
pub(super) fn parts_of(text: &str, between: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let (part, behind) = match text.split_once(between) {
            Some((part, behind)) => (part, Some(behind)),
            None => (text, None),
        };
        rest = behind;
        Some(part)
    })
}
