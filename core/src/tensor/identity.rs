//! Detects duplicate names in bounded memory, by their hashes.
//!
//! Different names have different hashes unless somebody constructed a collision, which is rejected
//! as a duplicate.

use heapless::{Vec, VecView};

use crate::error::{Error, ErrorKind, Result};

/// The hash of the empty name: the offset basis of 64-bit FNV-1a.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends the hash of a name by `text`.
pub(crate) fn extend(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// 64-bit FNV-1a.
pub(crate) fn hash(name: &str) -> u64 {
    extend(EMPTY, name)
}

/// Keeps a name's hash; rejects one that is already there.
///
/// # Errors
///
/// At `offset`: [`ErrorKind::DuplicateName`], or `full` if there is no more room.
pub(crate) fn remember(
    names: &mut VecView<u64>,
    name: &str,
    offset: u64,
    full: ErrorKind,
) -> Result<()> {
    let hash = hash(name);
    if names.contains(&hash) {
        return Err(Error::new(offset, ErrorKind::DuplicateName));
    }
    names.push(hash).map_err(|_| Error::new(offset, full))
}

/// The number of names that [`check_in_file`] compares with all others at a time.
const AT_ONCE: usize = 64;

/// The hashes and offsets of the `count` names of a file in memory: `next` reads the name at the
/// current position and advances to the next one.
pub(crate) fn read_again<'f, At: Clone>(
    first: At,
    count: u64,
    next: impl Fn(&mut At) -> Option<(&'f str, u64)> + Clone,
) -> impl Iterator<Item = (u64, u64)> + Clone {
    let (mut at, mut left) = (first, count);
    core::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        next(&mut at).map(|(name, place)| (hash(name), place))
    })
}

/// Rejects the first repeated name of a file whose names could not be kept in memory while the file
/// was read; `names` come from [`read_again`].
///
/// # Errors
///
/// At the name's offset: [`ErrorKind::DuplicateName`].
pub(crate) fn check_in_file(names: impl Iterator<Item = (u64, u64)> + Clone) -> Result<()> {
    let mut rest = names;
    let mut first: Option<u64> = None;
    loop {
        let mut compared = Vec::<u64, AT_ONCE>::new();
        let mut repeated = None;
        while !compared.is_full()
            && repeated.is_none()
            && let Some((name, place)) = rest.next()
        {
            repeated = compared.contains(&name).then_some(place);
            let _ = compared.push(name); // there is room
        }
        if compared.is_empty() {
            break;
        }
        let mut after = rest.clone().filter(|(name, _)| compared.contains(name));
        let repeated = repeated.or_else(|| after.next().map(|(_, place)| place));
        first = first.into_iter().chain(repeated).min();
    }
    first.map_or(Ok(()), |place| Err(Error::new(place, ErrorKind::DuplicateName)))
}

/// Rejects duplicates among names that are to be written: by their hashes if there is memory for
/// these, else one by one in quadratic time.
///
/// # Errors
///
/// [`ErrorKind::DuplicateName`].
pub(crate) fn check_unique<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    check_distinct(names.map(hash))
}

/// As [`check_unique`], for names that are numbers or are identified by numbers.
///
/// # Errors
///
/// [`ErrorKind::DuplicateName`].
pub(crate) fn check_distinct(numbers: impl Iterator<Item = u64> + Clone) -> Result<()> {
    #[cfg(feature = "alloc")]
    if let Ok(mut sorted) = crate::limit::reserved(numbers.clone().count()) {
        sorted.extend(numbers);
        sorted.sort_unstable();
        let twice = sorted.iter().zip(sorted.iter().skip(1)).any(|(one, next)| one == next);
        return if twice { Err(DUPLICATE) } else { Ok(()) };
    }
    one_by_one(numbers)
}

const DUPLICATE: Error = Error::without_offset(ErrorKind::DuplicateName);

fn one_by_one(numbers: impl Iterator<Item = u64> + Clone) -> Result<()> {
    let mut rest = numbers;
    while let Some(number) = rest.next() {
        if rest.clone().any(|other| other == number) {
            return Err(DUPLICATE);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn duplicates_are_found_wherever_they_stand_with_memory_or_without() {
        for (numbers, distinct) in [
            (&[][..], true),
            (&[1], true),
            (&[3, 1, 2], true),
            (&[3, 1, 3], false),
            (&[1, 2, 2], false),
        ] {
            assert_eq!(check_distinct(numbers.iter().copied()).is_ok(), distinct, "{numbers:?}");
            assert_eq!(one_by_one(numbers.iter().copied()).is_ok(), distinct, "{numbers:?}");
        }
        assert!(check_unique(["a", "b", "a"].into_iter()).is_err());
    }

    #[test]
    fn the_first_name_of_a_file_that_stands_in_it_before_is_found_as_if_all_were_kept() {
        // The names of a file, one per byte.
        let check = |numbers: &[u64]| check_in_file(numbers.iter().copied().zip(0..));
        let kept = |numbers: &[u64]| {
            let first = (0..numbers.len()).find(|&at| numbers[..at].contains(&numbers[at]));
            first.map_or(Ok(()), |at| Err(Error::new(at as u64, ErrorKind::DuplicateName)))
        };
        for count in [0, 1, 2, 63, 64, 65, 127, 128, 129, 300] {
            let mut numbers: Vec<u64> = (0..count).collect();
            assert_eq!(check(&numbers), Ok(()), "{count}");
            for (from, to) in [(0, 1), (0, 63), (0, 64), (1, 200), (62, 63), (63, 64), (64, 299)] {
                let (Some(&name), true) = (numbers.get(from), to < numbers.len()) else { continue };
                numbers[to] = name;
                assert_eq!(check(&numbers), kept(&numbers), "{count}: {from} again at {to}");
            }
        }
    }
}
