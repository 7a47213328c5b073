//! The tokenizer in a `.weights` or `.amb` file that keeps the texts of a Hugging Face folder.
//!
//! | part | in `.weights` | in `.amb` |
//! |---|---|---|
//! | texts such as `config.json` and `1_Pooling/config.json` | metadata under their paths | members of the configuration, as strings |
//! | `tokenizer.json` without vocabulary and merges | tensor [`TOKENIZER`], UINT8 | tokenizer section of kind custom, see below |
//! | the vocabulary | the vocabulary section | the same |
//! | scores of its tokens | tensor [`TOKENIZER_SCORES`], UINT8, 64-bit floats | the same |
//! | merges | tensor [`TOKENIZER_MERGES`], UINT32, two ids each | the same |
//! | weights | under the names of Hugging Face; those of a Dense module follow its folder's path | the same |
//!
//! Numbers are little-endian. The section of `.amb` has the bytes of `tokenizer.json`, the tokens,
//! the scores and the merges, each after their count. Counts are `u32`; a token is a `u16` length
//! and its bytes.

use alloc::vec::Vec;

use super::PipelineParts;
use crate::error::{Error, ErrorKind, Result};
use crate::format::amb::{Amb, AmbTokenizerKind};
use crate::format::embd::Embd;
use crate::limit::reserved;
use crate::source::ModelSource;

/// The name of the tensor that has the settings of the tokenizer, and of the text that they are from.
pub const TOKENIZER: &str = "tokenizer.json";

/// The name of the tensor that has the scores of tokens.
pub const TOKENIZER_SCORES: &str = "tokenizer.scores";

/// The name of the tensor that has the merges.
pub const TOKENIZER_MERGES: &str = "tokenizer.merges";

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const MISSING: Error = Error::without_offset(ErrorKind::MissingVocabulary);

impl<'f> PipelineParts<'f> {
    /// The parts of the tokenizer in a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer, [`ErrorKind::BadVocabulary`] for an
    /// invalid one.
    pub(super) fn from_source(source: &ModelSource<'f>) -> Result<Self> {
        match source {
            ModelSource::Embd(embd) => Self::from_embd(embd),
            ModelSource::Amb(amb) => Self::from_payload(payload(amb)?),
            ModelSource::Gguf(_) => Err(MISSING),
        }
    }

    fn from_embd(embd: &Embd<'f>) -> Result<Self> {
        let bytes = |name| embd.tensor(name).map(|tensor| tensor.data());
        let settings = embd_settings(embd)?;
        let mut tokens = reserved(embd.tokens().len())?;
        for token in embd.tokens() {
            tokens.push(utf8(token)?);
        }
        let scores = bytes(TOKENIZER_SCORES).map(numbers).transpose()?;
        let merges = bytes(TOKENIZER_MERGES).map(pairs).transpose()?.unwrap_or_default();
        Ok(Self { settings, tokens, scores, merges })
    }

    fn from_payload(payload: &'f [u8]) -> Result<Self> {
        let mut rest = Rest(payload);
        let settings = rest.settings()?;
        let count = rest.count(2)?;
        let mut tokens = reserved(count)?;
        for _ in 0..count {
            let length = u16::from_le_bytes(rest.array()?);
            tokens.push(utf8(rest.take(length.into())?)?);
        }
        let scores = rest.count(8)?;
        let scores = match scores {
            0 => None,
            count => Some(numbers(rest.take(count.saturating_mul(8))?)?),
        };
        let merges = rest.count(8)?;
        let merges = pairs(rest.take(merges.saturating_mul(8))?)?;
        Ok(Self { settings, tokens, scores, merges })
    }
}

/// The settings of the tokenizer in a file.
///
/// # Errors
///
/// As [`PipelineParts::from_source`].
pub(super) fn tokenizer_settings<'f>(source: &ModelSource<'f>) -> Result<&'f str> {
    match source {
        ModelSource::Embd(embd) => embd_settings(embd),
        ModelSource::Amb(amb) => Rest(payload(amb)?).settings(),
        ModelSource::Gguf(_) => Err(MISSING),
    }
}

fn embd_settings<'f>(embd: &Embd<'f>) -> Result<&'f str> {
    utf8(embd.tensor(TOKENIZER).ok_or(MISSING)?.data())
}

/// The section of an `.amb` file that has the tokenizer in parts.
fn payload<'f>(amb: &Amb<'f>) -> Result<&'f [u8]> {
    let tokenizer = amb.tokenizer().ok_or(MISSING)?;
    match tokenizer.kind() {
        AmbTokenizerKind::Custom => Ok(tokenizer.payload()),
        _ => Err(Error::without_offset(ErrorKind::UnsupportedTokenizer)),
    }
}

/// The rest of a section.
struct Rest<'f>(&'f [u8]);

impl<'f> Rest<'f> {
    fn take(&mut self, bytes: usize) -> Result<&'f [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(BAD)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The settings, with which the section begins.
    fn settings(&mut self) -> Result<&'f str> {
        let bytes = self.count(1)?;
        utf8(self.take(bytes)?)
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES]> {
        self.take(BYTES)?.try_into().map_err(|_| BAD)
    }

    /// A count of items that take at least so many bytes each.
    fn count(&mut self, least: usize) -> Result<usize> {
        let count = usize::try_from(u32::from_le_bytes(self.array()?)).map_err(|_| BAD)?;
        let fits = count.checked_mul(least).is_some_and(|bytes| bytes <= self.0.len());
        if fits { Ok(count) } else { Err(BAD) }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    core::str::from_utf8(bytes).map_err(|_| BAD)
}

fn numbers(bytes: &[u8]) -> Result<Vec<f64>> {
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(BAD);
    }
    let mut found = reserved(numbers.len())?;
    found.extend(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    Ok(found)
}

fn pairs(bytes: &[u8]) -> Result<Vec<(u32, u32)>> {
    let (ids, rest) = bytes.as_chunks();
    if !rest.is_empty() || !ids.len().is_multiple_of(2) {
        return Err(BAD);
    }
    let id = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let mut found = reserved(ids.len() / 2)?;
    found.extend(ids.as_chunks::<2>().0.iter().map(|[first, second]| (id(first), id(second))));
    Ok(found)
}
