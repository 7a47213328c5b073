//! Ids to text, one id at a time.

use super::SentencePiece;
use super::normalize::{Buffer, Output as _};
use super::pieces::{PieceKind, byte_of};
use crate::error::{Error, ErrorKind, Result};
use crate::token::utf8::{Assembler, Broken};

/// The character that replaces a space in pieces.
const SPACE: char = '\u{2581}';

/// A pattern to search for: of the search for a `char` the linker cannot tell that it does not
/// panic.
fn is_space(c: char) -> bool {
    c == SPACE
}

/// Turns ids into text as they come, holding back the bytes of a character until it is complete.
#[derive(Clone, Debug)]
pub struct PieceDecoder {
    bytes: Assembler,
    /// True if any text has been given.
    begun: bool,
    /// True if a space at the start of the next piece is the one that was added to the text.
    at_start: bool,
}

impl Default for PieceDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl PieceDecoder {
    /// A decoder at the start of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Assembler::new(Broken::EveryByte), begun: false, at_start: true }
    }

    /// A decoder within a text: no space is taken away.
    #[must_use]
    pub const fn within() -> Self {
        Self { begun: true, at_start: false, ..Self::new() }
    }

    /// Calls `text` with what the next id adds, as `sentencepiece` decodes: control pieces are
    /// nothing, the unknown piece is ` ⁇ ` or what the model says, each byte that is no UTF-8
    /// becomes U+FFFD, and the space that was added to the text is taken away.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::UnsupportedTokenizer`] if the model has rules for
    /// decoded text; what `text` returns.
    pub fn token(
        &mut self,
        model: &SentencePiece<'_>,
        id: u32,
        text: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        if model.spec().denormalizes {
            return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
        }
        let (spelling, kind) =
            model.piece(id).ok_or(Error::without_offset(ErrorKind::TokenOutOfRange))?;
        let begun = &mut self.begun;
        let mut say = |piece: &str| {
            *begun |= !piece.is_empty();
            text(piece)
        };
        match kind {
            PieceKind::Byte => self.bytes.byte(byte_of(spelling.as_bytes()).unwrap_or(0), &mut say),
            PieceKind::Control => self.bytes.finish(&mut say),
            PieceKind::Unknown => {
                self.bytes.finish(&mut say)?;
                say(model.unknown_surface())
            }
            PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => {
                self.bytes.finish(&mut say)?;
                self.spell(model, spelling, text)
            }
        }
    }

    fn spell(
        &mut self,
        model: &SentencePiece<'_>,
        spelling: &str,
        text: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let mut rest = spelling;
        let removes = model.spec().remove_extra_whitespaces;
        self.at_start &= !self.begun;
        if self.at_start
            && (model.spec().add_dummy_prefix || removes)
            && let Some(after) = rest.strip_prefix(is_space)
        {
            rest = after;
            // Where all spaces are removed, so are those of the next piece.
            self.at_start = removes;
        }
        for (index, word) in rest.split(is_space).enumerate() {
            if index > 0 {
                text(" ")?;
            }
            if !word.is_empty() {
                text(word)?;
            }
        }
        self.begun |= !rest.is_empty();
        Ok(())
    }

    /// Declares the end: what is held back is no whole character.
    ///
    /// # Errors
    ///
    /// The error of `text`.
    pub fn finish(&mut self, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.bytes.finish(text)
    }
}

impl SentencePiece<'_> {
    /// Writes the bytes that a piece stands for within a text into `out` and returns their number:
    /// spaces as they are, nothing for control pieces, one byte for those that stand for bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::BufferTooSmall`] if `out` has too little room.
    pub fn bytes(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let (spelling, kind) =
            self.piece(id).ok_or(Error::without_offset(ErrorKind::TokenOutOfRange))?;
        let mut out = Buffer { bytes: out, length: 0 };
        match kind {
            PieceKind::Byte => out.push(&[byte_of(spelling.as_bytes()).unwrap_or(0)])?,
            PieceKind::Control => {}
            PieceKind::Unknown => out.push(self.unknown_surface().as_bytes())?,
            PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => {
                for (index, word) in spelling.split(is_space).enumerate() {
                    if index > 0 {
                        out.push(b" ")?;
                    }
                    out.push(word.as_bytes())?;
                }
            }
        }
        Ok(out.length)
    }
}
