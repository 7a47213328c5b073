//! The SentencePiece model of a GGUF file, whose pieces, scores and types are three arrays.

use super::key::Key;
use super::value::{token_type, unsigned};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::token::sentencepiece::{
    Algorithm, ModelSettings, Output, PieceKind, write_piece, write_settings,
};

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// The largest number of pieces with spaces that are compared with all others: more than any model
/// has, and few enough that the work is linear in the pieces. The longest have about thirty spaces.
const MAX_SEARCHES: usize = 64;
const MAX_ESCAPED_BYTES: usize = 256;

/// The arrays of a model, of one length.
#[derive(Clone, Copy, Debug)]
pub struct GgufPieces<'a> {
    file: Gguf<'a>,
    count: usize,
}

impl<'a> GgufPieces<'a> {
    /// The pieces of a file whose tokenizer is called `llama`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if one of the arrays is missing, has another length, or
    /// contains other types.
    pub fn read(file: &Gguf<'a>) -> Result<Self> {
        let pieces = Self { file: *file, count: file.tokens().count() };
        let counts = [scores(file)?.count(), kinds(file)?.count()];
        if counts != [pieces.count; 2] {
            return Err(BAD);
        }
        Ok(pieces)
    }

    /// The number of pieces.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The bytes of all pieces together.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn piece_bytes(&self) -> Result<u64> {
        let mut sum = 0_u64;
        self.each(|spelling, _, _| sum = sum.saturating_add(spelling.len() as u64))?;
        Ok(sum)
    }

    /// The ids of control pieces, which are matched literally in texts; user-defined pieces are
    /// found by SentencePiece's own rules.
    pub fn controls(&self) -> impl Iterator<Item = u32> + use<'a> {
        let kinds = (0..).zip(kinds(&self.file).into_iter().flatten());
        kinds.filter(|(_, kind)| matches!(kind, Ok(PieceKind::Control))).map(|(id, _)| id)
    }

    /// The size of the serialized model.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn model_bytes(&self) -> Result<usize> {
        let mut size = 0_usize;
        self.write(&mut |bytes| size = size.saturating_add(bytes.len()))?;
        Ok(size)
    }

    /// Writes the serialized model to `room`.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write); [`ErrorKind::BufferTooSmall`] if `room` is smaller than
    /// [`model_bytes`](Self::model_bytes).
    #[inline(never)] // so that it has its stack to itself
    pub fn serialize<'r>(&self, room: &'r mut [u8]) -> Result<&'r [u8]> {
        let mut used = 0_usize;
        self.write(&mut |bytes| {
            let end = used.saturating_add(bytes.len());
            let place = room.get_mut(used..end).unwrap_or_default();
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            used = end;
        })?;
        let room: &[u8] = room;
        room.get(..used).ok_or(TOO_SMALL)
    }

    /// Writes the model as SentencePiece serializes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] for scores that are NaN and unknown types.
    pub fn write(&self, out: &mut Output<'_>) -> Result<()> {
        let file = &self.file;
        let truth = |key: Key, usual: bool| match file.value(key.name()) {
            Some(Value::Bool(value)) => value,
            _ => usual,
        };
        let named = |key: Key| {
            let id = unsigned(file.value(key.name())?)?;
            file.tokens().nth(id as usize)
        };
        let mut byte_fallback = false;
        for kind in kinds(file)? {
            byte_fallback |= kind? == PieceKind::Byte;
        }
        let settings = ModelSettings {
            algorithm: Algorithm::Bpe,
            byte_fallback,
            whitespace_as_suffix: false,
            add_dummy_prefix: truth(Key::AddsSpace, true),
            remove_extra_whitespaces: truth(Key::RemovesSpaces, false),
            names: [named(Key::BeginId), named(Key::EndId), named(Key::PaddingId)],
            rules: &[],
        };
        write_settings(&settings, out);
        self.each(|spelling, score, kind| write_piece(spelling, score, kind, out))
    }

    /// Calls `piece` with each piece as SentencePiece spells it: user-defined pieces get `▁` for
    /// their spaces, since SentencePiece searches for them after replacing those in texts, unless
    /// another piece is already spelled so.
    fn each(&self, mut piece: impl FnMut(&[u8], f32, PieceKind)) -> Result<()> {
        let file = &self.file;
        let mut searches = 0_usize;
        for ((token, score), kind) in file.tokens().zip(scores(file)?).zip(kinds(file)?) {
            let (score, kind) = (score?, kind?);
            let mut room = [0; MAX_ESCAPED_BYTES];
            let is_searched = kind == PieceKind::UserDefined && searches < MAX_SEARCHES;
            let escaped = is_searched.then(|| escaped(token, &mut room)).flatten();
            let escaped = escaped.filter(|escaped| {
                searches = searches.saturating_add(1);
                !file.tokens().any(|token| token == *escaped)
            });
            piece(escaped.unwrap_or(token), score, kind);
        }
        Ok(())
    }
}

/// `token` with `▁` for its spaces; `None` if it has none, or does not fit.
fn escaped<'r>(token: &[u8], room: &'r mut [u8; MAX_ESCAPED_BYTES]) -> Option<&'r [u8]> {
    if !token.contains(&b' ') || core::str::from_utf8(token).is_err() {
        return None;
    }
    let mut used = 0_usize;
    for byte in token {
        let bytes = if *byte == b' ' { "▁".as_bytes() } else { core::slice::from_ref(byte) };
        let end = used.checked_add(bytes.len())?;
        let place = room.get_mut(used..end)?;
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        used = end;
    }
    room.get(..used)
}

fn scores<'a>(file: &Gguf<'a>) -> Result<impl Iterator<Item = Result<f32>> + use<'a>> {
    let scores = file.elements(Key::Scores.name()).ok_or(BAD)?;
    #[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
    Ok(scores.map(|value| match value {
        Value::Float(score) => Ok(score as f32),
        _ => Err(BAD),
    }))
}

fn kinds<'a>(file: &Gguf<'a>) -> Result<impl Iterator<Item = Result<PieceKind>> + use<'a>> {
    let kinds = file.elements(Key::TokenTypes.name()).ok_or(BAD)?;
    Ok(kinds.map(|value| token_type(value).ok_or(BAD)))
}
