//! The words that are nearest to others.

use nanoembed_core::words::Scored;

use super::file::{Indexed, Opened};
use super::nearest::Nearest;
use crate::error::Result;

/// The nearest words to each of `words`, at most `limit` and none of those themselves; `None` for a
/// word without a vector.
pub fn similar<W: AsRef<str>>(
    (opened, indexed, nearest): (&Opened<'_>, &Indexed<'_>, &Nearest<'_, '_>),
    words: &[W],
    limit: usize,
) -> Result<Vec<Option<Vec<Scored>>>> {
    let failed = |error| opened.failure(error);
    let (mut queries, mut skip, mut has_vector) = (Vec::new(), Vec::new(), Vec::new());
    let mut vector = vec![0.0; indexed.cols()];
    let mut scratch = vec![0.0; indexed.scratch_needed()];
    for word in words.iter().map(AsRef::as_ref) {
        let found = indexed.vector(word, &mut vector, &mut scratch);
        let found = found.map_err(|error| opened.failure_of(word, error))?;
        // All n-grams of a pruned model's word may be dropped: a vector without a direction.
        let has_one = found.is_some_and(|it| it.norm != 0.0 || vector.iter().any(|x| *x != 0.0));
        has_vector.push(has_one);
        if has_one {
            queries.extend_from_slice(&vector);
            skip.push(indexed.find(word.as_bytes()).map_err(failed)?.into_iter().collect());
        }
    }
    let mut found = nearest.find(&mut queries, &skip, limit).map_err(failed)?.into_iter();
    Ok(has_vector.into_iter().map(|has_one| if has_one { found.next() } else { None }).collect())
}
