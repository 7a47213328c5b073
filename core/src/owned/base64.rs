//! Base64 as [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4) has it, with padding and
//! nothing between.

#[cfg(feature = "gguf")]
use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "gguf")]
use crate::error::Result;
use crate::limit::filled;
#[cfg(feature = "gguf")]
use crate::limit::write;
use crate::text::base64;
#[cfg(feature = "gguf")]
use crate::text::character::utf8;

/// The digits by what they stand for.
#[cfg(feature = "gguf")]
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text that stands for `bytes`.
#[cfg(feature = "gguf")]
pub(super) fn encode(bytes: &[u8]) -> Result<String> {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for digit in 0..4 {
            let six = bits >> (18 - 6 * digit) & 63;
            let is_there = digit <= group.len();
            let digit = if is_there { char::from(DIGITS[six as usize]) } else { '=' };
            write(&mut out, utf8(digit, &mut [0; 4]))?;
        }
    }
    Ok(out)
}

/// The bytes that `text` stands for; `None` if it is not written so.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = filled(base64::room_for(text), 0).ok()?;
    let length = base64::decode(text, &mut bytes)?;
    bytes.truncate(length);
    Some(bytes)
}

#[cfg(test)]
#[cfg(feature = "gguf")]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
            assert_eq!(encode(bytes.as_bytes()).unwrap(), text);
        }
    }
}
