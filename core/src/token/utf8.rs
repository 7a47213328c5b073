//! Incremental decoding of UTF-8: a character is held back until all its bytes are there.

use crate::error::Result;

/// The treatment of bytes that are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// One U+FFFD for the beginning of a character, as Rust's `from_utf8_lossy`.
    OneEach,
    /// One U+FFFD for each byte, as `sentencepiece`.
    EveryByte,
}

/// The bytes of a character that is not complete.
#[derive(Clone, Debug)]
pub(super) struct Assembler {
    held: [u8; 4],
    length: usize,
    broken: Broken,
}

impl Assembler {
    pub(super) const fn new(broken: Broken) -> Self {
        Self { held: [0; 4], length: 0, broken }
    }

    /// Adds a byte; calls `text` with the character that it completes.
    pub(super) fn byte(
        &mut self,
        byte: u8,
        text: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        if let Some(slot) = self.held.get_mut(self.length) {
            *slot = byte;
            self.length = self.length.saturating_add(1);
        }
        while self.length > 0 {
            let held = self.held.get(..self.length).unwrap_or_default();
            let used = match core::str::from_utf8(held) {
                Ok(whole) => {
                    text(whole)?;
                    self.length
                }
                Err(error) if error.valid_up_to() > 0 => {
                    let valid = held.get(..error.valid_up_to()).unwrap_or_default();
                    text(core::str::from_utf8(valid).unwrap_or_default())?;
                    valid.len()
                }
                Err(error) => match error.error_len() {
                    // The beginning of a character.
                    None => return Ok(()),
                    Some(bad) => {
                        self.replace(bad, text)?;
                        bad
                    }
                },
            };
            let held = self.held;
            for (to, from) in self.held.iter_mut().zip(held.iter().skip(used)) {
                *to = *from;
            }
            self.length = self.length.saturating_sub(used);
        }
        Ok(())
    }

    /// Declares that no byte follows: what is held back is no whole character.
    pub(super) fn finish(&mut self, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let length = core::mem::take(&mut self.length);
        self.replace(length, text)
    }

    fn replace(&self, bytes: usize, text: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let times = match self.broken {
            Broken::OneEach => bytes.min(1),
            Broken::EveryByte => bytes,
        };
        (0..times).try_for_each(|_| text("\u{FFFD}"))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;
    use crate::text::utf8_shapes;

    fn assembled(bytes: &[u8], broken: Broken) -> String {
        let (mut assembler, mut all) = (Assembler::new(broken), String::new());
        let mut text = |text: &str| {
            all.push_str(text);
            Ok(())
        };
        bytes.iter().try_for_each(|byte| assembler.byte(*byte, &mut text)).unwrap();
        assembler.finish(&mut text).unwrap();
        all
    }

    #[test]
    fn every_shape_of_four_bytes_becomes_what_rust_makes_of_it() {
        let mut broken = 0;
        utf8_shapes::each(|bytes| {
            let whole = String::from_utf8_lossy(bytes);
            assert_eq!(assembled(bytes, Broken::OneEach), whole, "{bytes:x?}");
            let each = bytes.utf8_chunks().fold(String::new(), |mut all, chunk| {
                all.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|_| all.push('\u{FFFD}'));
                all
            });
            assert_eq!(assembled(bytes, Broken::EveryByte), each, "{bytes:x?}");
            broken += u32::from(whole.contains('\u{FFFD}'));
        });
        assert!(broken > 100_000, "{broken}");
    }
}
