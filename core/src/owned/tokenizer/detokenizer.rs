//! Ids to text: of a whole text, or one by one as they come.

use alloc::string::String;

use super::{Kinds, Spelling, Tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::write;
use crate::token::{bpe, sentencepiece};

/// Turns ids of a tokenizer into text as they come.
#[derive(Debug)]
pub struct Detokenizer(State);

#[derive(Debug)]
enum State {
    /// By WordPiece: words with a space before them.
    Words,
    /// By byte-level BPE.
    Bytes(bpe::TokenDecoder),
    /// By SentencePiece.
    Pieces(sentencepiece::PieceDecoder),
}

impl Detokenizer {
    /// Calls `text` with what the next token of `tokenizer`, which this was made by, adds.
    ///
    /// # Errors
    ///
    /// As [`bpe::TokenDecoder::token`] and [`sentencepiece::PieceDecoder::token`];
    /// [`ErrorKind::InvalidArgument`] if `tokenizer` is of another kind; what `text` answers.
    pub fn token<K: Kinds>(
        &mut self,
        tokenizer: &Tokenizer<'_, K>,
        id: u32,
        text: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        match (&mut self.0, &tokenizer.spelling) {
            (State::Words, Spelling::WordPiece(pieces)) => {
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
            (State::Bytes(decoder), Spelling::BytePairs(pairs)) => match K::get(pairs).token(id) {
                Ok(token) => decoder.token(token, text),
                Err(_) => Ok(()),
            },
            (State::Pieces(decoder), Spelling::SentencePiece(pieces)) => {
                decoder.token(&K::get(pieces).0.tokenizer(), id, text)
            }
            _ => Err(Error::without_offset(ErrorKind::InvalidArgument)),
        }
    }

    /// Declares the end.
    ///
    /// # Errors
    ///
    /// The error of `text`.
    pub fn finish(&mut self, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        match &mut self.0 {
            State::Words => Ok(()),
            State::Bytes(decoder) => decoder.finish(text),
            State::Pieces(decoder) => decoder.finish(text),
        }
    }
}

impl<K: Kinds> Tokenizer<'_, K> {
    /// A detokenizer of ids that follow a text; `None` for encoders with a `tokenizer.json`.
    #[must_use]
    pub fn detokenizer(&self) -> Option<Detokenizer> {
        self.detokenizer_from(sentencepiece::PieceDecoder::within())
    }

    fn detokenizer_from(&self, pieces: sentencepiece::PieceDecoder) -> Option<Detokenizer> {
        Some(Detokenizer(match &self.spelling {
            Spelling::WordPiece(_) => State::Words,
            Spelling::BytePairs(_) => State::Bytes(bpe::TokenDecoder::new()),
            Spelling::SentencePiece(_) => State::Pieces(pieces),
            Spelling::Pipeline(..) => return None,
        }))
    }

    /// The text of `ids` without special tokens, in BPE and SentencePiece those around texts. It
    /// differs from the text that they are from where normalisation has changed that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`] for an id that is no token's; as [`Detokenizer::token`] and
    /// [`Pipeline::decode`](crate::owned::Pipeline::decode).
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        if !ids.iter().all(|id| self.has_token(*id)) {
            return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
        }
        match &self.spelling {
            Spelling::WordPiece(pieces) => pieces.decode(ids),
            Spelling::Pipeline(pipeline) => pipeline.0.decode(ids, true),
            Spelling::BytePairs(_) | Spelling::SentencePiece(_) => self.decode_one_by_one(ids),
        }
    }

    fn decode_one_by_one(&self, ids: &[u32]) -> Result<String> {
        let mut decoded = String::new();
        let mut add = |part: &str| write(&mut decoded, part);
        let decoder = self.detokenizer_from(sentencepiece::PieceDecoder::new());
        let mut decoder = decoder.ok_or(Error::without_offset(ErrorKind::InvalidArgument))?;
        for id in ids.iter().filter(|id| !self.is_around_texts(**id)) {
            decoder.token(self, *id, &mut add)?;
        }
        decoder.finish(&mut add)?;
        Ok(decoded)
    }

    /// Returns true for a token that begins or ends texts.
    fn is_around_texts(&self, id: u32) -> bool {
        [self.begin, self.ends.begin, self.ends.append].contains(&Some(id)) || self.is_end(id)
    }
}
