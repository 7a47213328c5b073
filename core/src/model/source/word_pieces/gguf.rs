//! The tokens of an encoder's GGUF file as WordPiece spells them.
//!
//! llama.cpp puts `▁` before what begins a word instead of `##` before what goes on with one, and
//! leaves control tokens and what is in brackets as they are.

use crate::describe::gguf::{Key, token_type};
use crate::format::gguf::Gguf;
use crate::token::sentencepiece::PieceKind;

/// A token, as WordPiece spells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct GgufToken<'a> {
    pub(super) id: u32,
    /// `##` within words.
    pub(super) before: &'static [u8],
    pub(super) rest: &'a [u8],
    pub(super) kind: GgufKind,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GgufKind {
    /// To spell words with, or for a role of its own.
    Usual,
    /// Added, and found in texts as they are.
    AddedAsWritten,
    /// Added, and found in normalised texts, as `add_tokens` of Hugging Face has it.
    AddedNormalized,
}

/// The tokens of a file in which those of the ids `special` have roles of their own.
pub(super) fn gguf_tokens<'a>(
    gguf: &Gguf<'a>,
    special: [Option<u32>; 5],
) -> impl Iterator<Item = GgufToken<'a>> {
    let mut types = gguf.elements(Key::TokenTypes.name()).into_iter().flatten();
    (0..).zip(gguf.tokens()).map(move |(id, token)| {
        let kind = types.next().and_then(token_type);
        let is_control = kind == Some(PieceKind::Control);
        let is_bracketed = token.len() > 2 && token.starts_with(b"[") && token.ends_with(b"]");
        let (before, rest): (&[u8], _) = match token.strip_prefix("▁".as_bytes()) {
            Some(word) => (b"", word),
            None if is_control || is_bracketed => (b"", token),
            None => (b"##", token),
        };
        let kind = match kind {
            _ if special.contains(&Some(id)) => GgufKind::Usual,
            Some(PieceKind::Control) => GgufKind::AddedAsWritten,
            Some(PieceKind::UserDefined) => GgufKind::AddedNormalized,
            _ => GgufKind::Usual,
        };
        GgufToken { id, before, rest, kind }
    })
}
