//! Ids to text, one id at a time.

use super::alphabet::byte;
use crate::error::{Error, ErrorKind, Result};
use crate::text::character::utf8;
use crate::token::utf8::{Assembler, Broken};

/// Turns tokens into text as they come, holding back the bytes of a character until it is complete.
#[derive(Clone, Debug)]
pub struct TokenDecoder {
    bytes: Assembler,
}

impl Default for TokenDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenDecoder {
    /// A decoder at the start of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Assembler::new(Broken::OneEach) }
    }

    /// Calls `text` with what the next token, spelled in GPT-2's alphabet, adds; characters that
    /// are not in the alphabet, as added tokens may have, stand for themselves. Bytes that are no
    /// UTF-8 become U+FFFD, as in Rust's `from_utf8_lossy`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidUtf8`] if `token` is none; what `text` returns.
    pub fn token(&mut self, token: &[u8], text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let invalid = |_| Error::without_offset(ErrorKind::InvalidUtf8);
        for character in core::str::from_utf8(token).map_err(invalid)?.chars() {
            match byte(character) {
                Some(byte) => self.bytes.byte(byte, text)?,
                None => {
                    let mut room = [0; 4];
                    for byte in utf8(character, &mut room).bytes() {
                        self.bytes.byte(byte, text)?;
                    }
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::alphabet::character;
    extern crate std;

    use std::prelude::v1::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> String {
        let mut text = String::new();
        let mut decoder = TokenDecoder::new();
        let mut add = |piece: &str| {
            assert!(!piece.is_empty());
            text.push_str(piece);
            Ok(())
        };
        for piece in pieces {
            let spelled: String = piece.iter().map(|byte| character(*byte)).collect();
            decoder.token(spelled.as_bytes(), &mut add).unwrap();
        }
        decoder.finish(&mut add).unwrap();
        text
    }

    #[test]
    fn characters_may_be_cut_between_tokens() {
        let text = "aé€😀";
        for cut in 0..text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            assert_eq!(decode(&[first, second]), text);
        }
    }

    #[test]
    fn broken_bytes_are_replaced_as_rust_does() {
        for bytes in [&b"a\xFFb"[..], b"\xE2\x82", b"\xE2\x28\xA1", b"\xF0\x9F\x98x", b"\xC0\x80"] {
            let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(decode(&pieces), String::from_utf8_lossy(bytes));
        }
    }
}
