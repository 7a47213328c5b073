//! Ids to text as they come.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{BytePairs, WordPieces};
use crate::error::Result;
use crate::owned::SentencePieceModel;
use crate::token::{bpe, sentencepiece};

/// Turns ids into text as they come.
#[derive(Debug)]
#[non_exhaustive]
pub enum Continuation<'t, 'f> {
    /// By WordPiece: words with a space before them.
    Words(&'t WordPieces),
    /// By byte-level BPE.
    Bytes(&'t BytePairs<Cow<'f, [u8]>>, bpe::TokenDecoder),
    /// By SentencePiece.
    Pieces(&'t SentencePieceModel<Vec<u8>>, sentencepiece::PieceDecoder),
}

impl Continuation<'_, '_> {
    /// Calls `text` with what the next token adds.
    ///
    /// # Errors
    ///
    /// As [`bpe::TokenDecoder::token`] and [`sentencepiece::PieceDecoder::token`]; what `text` answers.
    pub fn token(&mut self, id: u32, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        match self {
            Self::Words(pieces) => {
                let token = pieces.token(id).unwrap_or_default();
                let token = String::from_utf8_lossy(&token);
                match token.strip_prefix("##") {
                    Some(rest) => text(rest),
                    None => {
                        text(" ")?;
                        text(&token)
                    }
                }
            }
            Self::Bytes(pairs, decoder) => match pairs.token(id) {
                Ok(token) => decoder.token(token, text),
                Err(_) => Ok(()),
            },
            Self::Pieces(model, decoder) => decoder.token(&model.tokenizer(), id, text),
        }
    }

    /// Declares the end.
    ///
    /// # Errors
    ///
    /// The error of `text`.
    pub fn finish(&mut self, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        match self {
            Self::Words(_) => Ok(()),
            Self::Bytes(_, decoder) => decoder.finish(text),
            Self::Pieces(_, decoder) => decoder.finish(text),
        }
    }
}
