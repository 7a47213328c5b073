//! Telling names apart in bounded memory: those that are read by their hashes.
//!
//! Names that differ have different hashes unless somebody made them so, and then are refused as duplicates.

use heapless::Vec;

use crate::error::{Error, ErrorKind, Result};

/// The hash of no name yet: the offset basis of 64-bit FNV-1a.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of a name that goes on with `text`.
pub(crate) fn extend(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// 64-bit FNV-1a.
pub(crate) fn hash(name: &str) -> u64 {
    extend(EMPTY, name)
}

/// Keeps a name's hash, refusing one that is there already.
///
/// # Errors
///
/// At `offset`: [`ErrorKind::DuplicateName`], or `full` if there is no more room.
pub(crate) fn remember<const N: usize>(
    names: &mut Vec<u64, N>,
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

/// Refuses names of which two are the same, before they are written; quadratic, but over some thousand names at most, and
/// without memory.
///
/// # Errors
///
/// [`ErrorKind::DuplicateName`].
pub(crate) fn check_unique<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    let mut rest = names;
    while let Some(name) = rest.next() {
        if rest.clone().any(|other| other == name) {
            return Err(Error::without_offset(ErrorKind::DuplicateName));
        }
    }
    Ok(())
}
