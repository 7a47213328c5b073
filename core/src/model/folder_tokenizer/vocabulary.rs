//! The tokens of a file and what lies beside them, and an index over them.

use super::ends::Ends;
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::TokenEntries;
use crate::text::json::{Fault, Read};
use crate::token::vocabulary::MAX_TOKEN_BYTES;
use crate::token::{Entries, HashVocabulary, LengthPrefix};

/// The parts of a file that a tokenizer is made of, which its `settings` describe.
#[derive(Clone, Debug)]
pub(super) struct TokenizerParts<'a, S> {
    pub(super) settings: S,
    pub(super) entries: TokenEntries<'a>,
    /// What lies beside the tokens, 8 bytes each: the score of every token as a 64-bit float
    /// (Unigram), or the ids of both parts of every merge, 32 bits each (BPE).
    pub(super) beside: &'a [u8],
    /// Bytes of the longest token.
    pub(super) longest: usize,
    /// All ids are below.
    pub(super) vocabulary: usize,
}

/// Refuses a vocabulary whose longest token would not be found.
pub(super) fn check_longest(entries: &TokenEntries<'_>, longest: usize) -> Read<'static, ()> {
    if longest <= MAX_TOKEN_BYTES {
        return Ok(());
    }
    let error = Error::new(entries.offset, ErrorKind::UnsupportedSetting);
    let only = "tokens of so many bytes are found only with a heap";
    Err(Fault { error, key: "vocab", only })
}

/// Refuses tokens, and tokens around texts, whose ids are not below `most`.
pub(super) fn check_ids(entries: &TokenEntries<'_>, ends: Ends, most: usize) -> Result<()> {
    let mut ends = ends.before.into_iter().chain(ends.behind);
    let is_within = entries.count as usize <= most && ends.all(|id| (id as usize) < most);
    let bad = Error::new(entries.offset, ErrorKind::BadVocabulary);
    if is_within { Ok(()) } else { Err(bad) }
}

/// An index in the memory lent.
pub(super) fn index<'a>(
    entries: &TokenEntries<'a>,
    samples: &'a mut [u32],
    slots: &'a mut [u32],
) -> Result<HashVocabulary<'a, Entries<'a>>> {
    let TokenEntries { bytes, offset, count, length_bytes } = *entries;
    let prefix = if length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 };
    let tokens = Entries::sample(bytes, offset, count, prefix, samples)?;
    HashVocabulary::build(tokens, slots)
}
