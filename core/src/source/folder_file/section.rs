//! The tokenizer's section of an `.amb` file that keeps the texts of a folder, of kind custom: the
//! bytes of `tokenizer.json` after their number, the tokens after theirs, the scores and the
//! merges after theirs. Numbers are `u32`; a token is a `u16` length and its bytes, and what
//! stands for a token or a merge beside it has 8 bytes.

use super::tokenizer::{MISSING, TokenizerSections, first_entry};
use crate::error::{Error, ErrorKind};
use crate::format::amb::{Amb, AmbTokenizerKind};
use crate::format::embd::EmbdTokenEntries;
use crate::text::json::{Fault, Read};

pub(super) fn sections<'a>(file: &Amb<'a>) -> Read<'a, TokenizerSections<'a>> {
    let tokenizer = file.tokenizer().ok_or(MISSING)?;
    if tokenizer.kind() != AmbTokenizerKind::Custom {
        return Err(Fault::from_error(Error::without_offset(ErrorKind::UnsupportedTokenizer)));
    }
    let offset = tokenizer.payload_offset();
    let bad = Error::new(offset, ErrorKind::BadVocabulary);
    taken_apart(tokenizer.payload(), offset).ok_or(Fault::from_error(bad))
}

/// The parts of a payload that lies at `start`.
fn taken_apart(payload: &[u8], start: u64) -> Option<TokenizerSections<'_>> {
    let (settings_bytes, rest) = count(payload)?;
    let (settings, rest) = rest.split_at_checked(settings_bytes)?;
    let (tokens, bytes) = count(rest)?;
    let mut rest = bytes;
    for _ in 0..tokens {
        let (token, after) = first_entry(rest, 2)?;
        core::str::from_utf8(token).ok()?;
        rest = after;
    }
    let before = payload.len().checked_sub(bytes.len())?;
    let entries = EmbdTokenEntries {
        bytes,
        offset: start.checked_add(before as u64)?,
        count: u32::try_from(tokens).ok()?,
        length_bytes: 2,
    };
    let (scores, rest) = numbers(rest)?;
    let (merges, _) = numbers(rest)?;
    Some(TokenizerSections {
        settings,
        offset: start.checked_add(4)?,
        entries,
        scores: Some(scores).filter(|scores| !scores.is_empty()),
        merges: Some(merges),
    })
}

/// Entries of 8 bytes that follow their number, and the rest.
fn numbers(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (numbers, rest) = count(rest)?;
    rest.split_at_checked(numbers.checked_mul(8)?)
}

fn count(rest: &[u8]) -> Option<(usize, &[u8])> {
    let (count, rest) = rest.split_first_chunk()?;
    Some((usize::try_from(u32::from_le_bytes(*count)).ok()?, rest))
}
