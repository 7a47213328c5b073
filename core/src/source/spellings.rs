//! How files of our own spell what tokenizers need: truth values, and lists with a character between
//! their parts.

use crate::error::{Error, ErrorKind, Result};

/// A truth value; `None` for anything else.
pub(super) fn truth(spelling: &str) -> Option<bool> {
    match spelling {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The token, if the file says that it is put around texts, in an entry at `offset`.
///
/// # Errors
///
/// [`ErrorKind::BadVocabulary`] if there is no such token, [`ErrorKind::BadMetadata`] if the entry
/// is no truth value.
pub(super) fn put_around(
    token: Option<u32>,
    says: Option<bool>,
    offset: u64,
) -> Result<Option<u32>> {
    match says {
        Some(false) => Ok(None),
        Some(true) if token.is_some() => Ok(token),
        Some(true) => Err(Error::new(offset, ErrorKind::BadVocabulary)),
        None => Err(Error::new(offset, ErrorKind::BadMetadata)),
    }
}

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
        let (part, after) = match text.split_once(between) {
            Some((part, after)) => (part, Some(after)),
            None => (text, None),
        };
        rest = after;
        Some(part)
    })
}
