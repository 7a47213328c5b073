//! Base64 as in [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4), with padding and
//! without line breaks.

/// The digits, by value.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes the Base64 text of `bytes`.
///
/// # Errors
///
/// Those of `out`.
pub fn encode(bytes: &[u8], out: &mut dyn core::fmt::Write) -> core::fmt::Result {
    for group in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for (digit, shift) in [18_u32, 12, 6, 0].into_iter().enumerate() {
            let six = DIGITS.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            let is_there = digit <= group.len();
            out.write_char(if is_there { char::from(six) } else { '=' })?;
        }
    }
    Ok(())
}

/// An upper bound of the decoded size of `text` in bytes.
pub(crate) const fn room_for(text: &str) -> usize {
    (text.len() / 4).saturating_mul(3)
}

/// Decodes `text` into `out` and returns the number of bytes; `None` if it is not valid Base64 or
/// `out` is [too small](room_for).
pub(crate) fn decode(text: &str, out: &mut [u8]) -> Option<usize> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut length = 0_usize;
    let mut places = out.chunks_mut(3);
    for (at, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        let is_last = at.saturating_add(1) == groups.len();
        if padding > 2 || padding > 0 && !is_last {
            return None;
        }
        let mut bits = 0_u32;
        for byte in group {
            let six = if *byte == b'=' { 0 } else { digit(*byte)? };
            bits = bits << 6 | six;
        }
        let [_, whole @ ..] = bits.to_be_bytes();
        let (kept, dropped) = whole.split_at_checked(3_usize.saturating_sub(padding))?;
        if dropped.iter().any(|byte| *byte != 0) || group.iter().rev().skip(padding).any(is_padding)
        {
            return None;
        }
        let place = places.next()?.get_mut(..kept.len())?;
        place.iter_mut().zip(kept).for_each(|(to, from)| *to = *from);
        length = length.saturating_add(kept.len());
    }
    Some(length)
}

const fn is_padding(byte: &u8) -> bool {
    *byte == b'='
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte.wrapping_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_encoder_writes_is_taken() {
        let mut room = [0; 6];
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            let length = decode(text, &mut room[..room_for(text)]);
            assert_eq!(length.map(|it| &room[..it]), Some(bytes.as_bytes()));
        }
        for bad in ["Z", "Zg=", "Zg", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm-v"]
        {
            assert_eq!(decode(bad, &mut room), None, "{bad}");
        }
        for bad in ["Z=g=", "=g==", "Zm9vY=m9"] {
            assert_eq!(decode(bad, &mut room), None, "{bad}");
        }
        assert_eq!(decode("Zm9v", &mut room[..2]), None);
    }
}
