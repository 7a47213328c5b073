//! Ids to text, one after the other.

use super::alphabet::byte;
use crate::error::{Error, ErrorKind, Result};

/// Turns tokens into text as they come, holding back the bytes of a character until it is complete.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    held: [u8; 4],
    length: usize,
}

impl Decoder {
    /// A decoder at the start of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self { held: [0; 4], length: 0 }
    }

    /// Calls `text` with what the next token, spelled in GPT-2's alphabet, adds; characters that are not in the alphabet, as
    /// added tokens may have, stand for themselves. Bytes that are no UTF-8 become U+FFFD, as in Rust's
    /// `from_utf8_lossy`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidUtf8`] if `token` is none; what `text` returns.
    pub fn token(&mut self, token: &[u8], text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let invalid = |_| Error::without_offset(ErrorKind::InvalidUtf8);
        for character in core::str::from_utf8(token).map_err(invalid)?.chars() {
            match byte(character) {
                Some(byte) => self.byte(byte, text)?,
                None => {
                    let mut room = [0; 4];
                    for byte in character.encode_utf8(&mut room).bytes() {
                        self.byte(byte, text)?;
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
    /// What `text` returns.
    pub fn finish(&mut self, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        if self.length > 0 {
            self.length = 0;
            text("\u{FFFD}")?;
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        if let Some(slot) = self.held.get_mut(self.length) {
            *slot = byte;
            self.length = self.length.saturating_add(1);
        }
        while self.length > 0 {
            let held = self.held.get(..self.length).unwrap_or_default();
            let (used, whole) = match core::str::from_utf8(held) {
                Ok(whole) => (self.length, whole),
                Err(error) if error.valid_up_to() > 0 => {
                    let valid = held.get(..error.valid_up_to()).unwrap_or_default();
                    (valid.len(), core::str::from_utf8(valid).unwrap_or_default())
                }
                Err(error) => match error.error_len() {
                    // The beginning of a character.
                    None => return Ok(()),
                    Some(bad) => (bad, "\u{FFFD}"),
                },
            };
            text(whole)?;
            let held = self.held;
            for (to, from) in self.held.iter_mut().zip(held.iter().skip(used)) {
                *to = *from;
            }
            self.length = self.length.saturating_sub(used);
        }
        Ok(())
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
        let mut decoder = Decoder::new();
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
