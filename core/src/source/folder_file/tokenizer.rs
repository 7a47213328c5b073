//! The parts of a tokenizer in a file: `tokenizer.json` without vocabulary and merges, and these.

use crate::error::{Error, ErrorKind};
use crate::format::embd::{Embd, EmbdTokenEntries};
use crate::text::json::{Fault, Read};

/// The tensor with the settings of the tokenizer, and the name of the file that they are of.
const TOKENIZER: &str = "tokenizer.json";
/// The tensor with the scores of a Unigram tokenizer.
const SCORES: &str = "tokenizer.scores";
/// The tensor with the merges of BPE.
const MERGES: &str = "tokenizer.merges";

/// The parts of a tokenizer as they lie in a file.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) struct TokenizerSections<'a> {
    pub(in crate::source) settings: &'a [u8],
    /// Where these lie.
    pub(in crate::source) offset: u64,
    pub(in crate::source) entries: EmbdTokenEntries<'a>,
    pub(super) scores: Option<&'a [u8]>,
    pub(super) merges: Option<&'a [u8]>,
}

impl<'a> TokenizerSections<'a> {
    pub(super) fn from_embd(file: &Embd<'a>) -> Read<'a, Self> {
        let entries = file.token_entries().ok_or(MISSING)?;
        let settings = file.tensor(TOKENIZER).ok_or(MISSING)?;
        let bytes = |name| file.tensor(name).map(|tensor| tensor.data());
        Ok(Self {
            settings: settings.data(),
            offset: settings.header().offset,
            entries,
            scores: bytes(SCORES),
            merges: bytes(MERGES),
        })
    }

    /// The scores of a Unigram tokenizer.
    pub(in crate::source) fn scores(&self) -> Read<'a, &'a [u8]> {
        self.scores.ok_or(missing_tensor(SCORES))
    }

    /// The merges of BPE.
    pub(in crate::source) fn merges(&self) -> Read<'a, &'a [u8]> {
        self.merges.ok_or(missing_tensor(MERGES))
    }

    /// The tokens in the order of their ids.
    pub(in crate::source) fn tokens(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let EmbdTokenEntries { mut bytes, count, length_bytes, .. } = self.entries;
        let mut left = count;
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let (token, rest) = first_entry(bytes, length_bytes)?;
            bytes = rest;
            Some(token)
        })
    }
}

/// The first of these entries, and those after it.
pub(super) fn first_entry(bytes: &[u8], length_bytes: u8) -> Option<(&[u8], &[u8])> {
    let (length, after) = match length_bytes {
        2 => {
            let (length, after) = bytes.split_first_chunk()?;
            (u16::from_le_bytes(*length).into(), after)
        }
        _ => {
            let (length, after) = bytes.split_first_chunk()?;
            (u32::from_le_bytes(*length), after)
        }
    };
    after.split_at_checked(usize::try_from(length).ok()?)
}

pub(super) const MISSING: Fault<'static> = {
    let mut fault = Fault::from_error(Error::without_offset(ErrorKind::MissingVocabulary));
    fault.key = TOKENIZER;
    fault
};

const fn missing_tensor(name: &'static str) -> Fault<'static> {
    let mut fault = Fault::from_error(Error::without_offset(ErrorKind::MissingTensor));
    fault.key = name;
    fault
}
