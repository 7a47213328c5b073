//! The tokens of an encoder's GGUF file as WordPiece spells them.
//!
//! llama.cpp puts `▁` before what begins a word instead of `##` before what goes on with one, and
//! leaves control tokens and what is in brackets as they are.

use crate::describe::gguf::{Key, token_type};
use crate::format::gguf::Gguf;
use crate::token::sentencepiece::PieceKind;

/// A token of a GGUF file, as WordPiece spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Respelled<'a> {
    /// Its id.
    pub id: u32,
    /// `##` within words, else empty.
    pub before: &'static [u8],
    /// The rest of it.
    pub rest: &'a [u8],
    /// For a token that was added to the vocabulary: true if it is found in normalised texts, as
    /// `add_tokens` of Hugging Face has it, false if in texts as they are.
    pub normalized: Option<bool>,
}

/// The tokens of a file in which those of the ids `special` have a role.
pub(super) fn gguf_tokens<'a>(
    gguf: &Gguf<'a>,
    special: [Option<u32>; 5],
) -> impl Iterator<Item = Respelled<'a>> {
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
        let normalized = match kind {
            _ if special.contains(&Some(id)) => None,
            Some(PieceKind::Control) => Some(false),
            Some(PieceKind::UserDefined) => Some(true),
            _ => None,
        };
        Respelled { id, before, rest, normalized }
    })
}
