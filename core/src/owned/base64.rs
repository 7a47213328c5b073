//! Base64 as [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4) has it, with padding and
//! nothing between.

#[cfg(feature = "gguf")]
use alloc::string::String;
use alloc::vec::Vec;

/// The digits by what they stand for.
#[cfg(feature = "gguf")]
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text that stands for `bytes`.
#[cfg(feature = "gguf")]
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for digit in 0..4 {
            let six = bits >> (18 - 6 * digit) & 63;
            let is_there = digit <= group.len();
            out.push(if is_there { char::from(DIGITS[six as usize]) } else { '=' });
        }
    }
    out
}

/// The bytes that `text` stands for; `None` if it is not written so.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(groups.len().checked_mul(3)?).ok()?;
    for (at, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || padding > 0 && at + 1 != groups.len() {
            return None;
        }
        let mut bits = 0_u32;
        for byte in &group[..4 - padding] {
            bits = bits << 6 | digit(*byte)?;
        }
        bits <<= 6 * padding;
        let [_, whole @ ..] = bits.to_be_bytes();
        let (kept, dropped) = whole.split_at(3 - padding);
        if dropped.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_encoder_writes_is_taken() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
            #[cfg(feature = "gguf")]
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        for bad in ["Z", "Zg=", "Zg", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm-v"]
        {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
