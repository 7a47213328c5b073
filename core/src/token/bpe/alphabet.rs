//! GPT-2's alphabet: a printable character for each of the 256 bytes.
//!
//! The bytes `!` to `~`, `¡` to `¬` and `®` to `ÿ` stand for themselves; the 68 others, in their
//! order, are the characters from U+0100 on.

/// The character of a byte.
#[must_use]
pub const fn character(byte: u8) -> char {
    let shifted = match byte {
        b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => return byte as char,
        0..=0x20 => byte as u32,
        0x7F..=0xA0 => (byte as u32).saturating_sub(0x7F).saturating_add(33),
        0xAD => 67,
    };
    match char::from_u32(shifted.saturating_add(0x100)) {
        Some(character) => character,
        None => char::REPLACEMENT_CHARACTER,
    }
}

/// The byte of a character; `None` if it is not in the alphabet.
#[must_use]
pub fn byte(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code.checked_sub(0x100)?).ok(),
        0x121..=0x142 => u8::try_from(code.checked_sub(0x121)?.checked_add(0x7F)?).ok(),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        for value in 0..=u8::MAX {
            assert_eq!(byte(character(value)), Some(value));
        }
        assert_eq!((character(b' '), character(b'\n'), character(0xAD)), ('Ġ', 'Ċ', 'Ń'));
        assert_eq!(byte('\u{144}'), None);
    }
}
