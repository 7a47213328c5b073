//! The words that are nearest to others, and those that are to a word as others are.

use nanoembed_core::limit;
use nanoembed_core::words::Scored;

use super::file::{Indexed, WordFile};
use super::nearest::Nearest;
use super::suggestion::hint;
use crate::error::{Error, Result};

/// The nearest words to each of `words`, at most `limit` and none of those themselves; `None` for a
/// word without a vector.
pub fn similar<W: AsRef<str>>(
    (opened, indexed, nearest): (&WordFile<'_>, &Indexed<'_>, &Nearest<'_, '_>),
    words: &[W],
    limit: usize,
) -> Result<Vec<Option<Vec<Scored>>>> {
    let failed = |error| opened.failure(error);
    let (mut queries, mut skip, mut has_vector) = (Vec::new(), Vec::new(), Vec::new());
    let mut vector = limit::filled(indexed.cols(), 0.0).map_err(failed)?;
    let mut scratch = limit::filled(indexed.scratch_needed(), 0.0).map_err(failed)?;
    for word in words.iter().map(AsRef::as_ref) {
        let found = indexed.vector(word, &mut vector, &mut scratch);
        let found = found.map_err(|error| opened.failure_of(word, error))?;
        // All n-grams of a pruned model's word may be dropped: a vector without a direction.
        let has_one = found.is_some_and(|it| it.norm != 0.0 || vector.iter().any(|x| *x != 0.0));
        limit::push(&mut has_vector, has_one).map_err(failed)?;
        if has_one {
            limit::append(&mut queries, &vector).map_err(failed)?;
            let own = indexed.find(word.as_bytes()).map_err(failed)?.into_iter().collect();
            limit::push(&mut skip, own).map_err(failed)?;
        }
    }
    let mut found = nearest.find(&mut queries, &skip, limit).map_err(failed)?.into_iter();
    let all = has_vector.into_iter().map(|has_one| if has_one { found.next() } else { None });
    limit::exactly(all).map_err(failed)
}

/// The words that are to `c` as `b` is to `a`, at most `limit`; those of the three that `masks`
/// says are none of them.
pub fn analogous(
    (opened, indexed, nearest): (&WordFile<'_>, &Indexed<'_>, &Nearest<'_, '_>),
    words: [&str; 3],
    masks: [bool; 3],
    limit: usize,
) -> Result<Vec<Scored>> {
    let failed = |error| opened.failure(error);
    let mut query = limit::filled(indexed.cols(), 0.0).map_err(failed)?;
    let scratch = limit::filled(indexed.cols() + indexed.scratch_needed(), 0.0);
    let mut scratch = scratch.map_err(failed)?;
    let analogy = indexed.analogy(words, &mut query, &mut scratch).map_err(failed)?;
    if let Some((word, _)) = words.iter().zip(analogy.present).find(|(_, present)| !present) {
        return Err(no_vector(opened, word));
    }
    let masked = masks.into_iter().zip(analogy.rows).filter(|(is_masked, _)| *is_masked);
    let skip = masked.filter_map(|(_, row)| row).collect();
    let found = nearest.find(&mut query, &[skip], limit).map_err(failed)?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// The error for a word without a vector, with words that are similarly spelled.
pub fn no_vector(opened: &WordFile<'_>, word: &str) -> Error {
    let failure = Error::not_found(format!("{word:?} has no vector")).at(&opened.name);
    match hint(&opened.file, word) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
