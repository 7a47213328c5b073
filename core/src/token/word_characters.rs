//! The characters that regular expressions count as parts of words (`\w`). Only added tokens that
//! must be whole words need them, so they are stored as distances, in two kilobytes.

use super::word_tables::{BLOCKS, DISTANCES};

/// True if `c` is part of words (`\w`).
pub(crate) fn is_word_character(c: char) -> bool {
    let code = u32::from(c);
    let after = BLOCKS.partition_point(|(first, _)| *first <= code);
    let block = after.checked_sub(1).and_then(|block| BLOCKS.get(block));
    let Some((first, start)) = block else { return false };
    // The next block's distances count from its own first change.
    let end = BLOCKS.get(after).map_or(DISTANCES.len(), |(_, start)| usize::from(*start));
    let (mut change, mut is_word) = (*first, true);
    let (mut distance, mut shift) = (0_u32, 0_u32);
    for byte in DISTANCES.get(usize::from(*start)..end).unwrap_or_default() {
        distance |= u32::from(byte & 0x7f).wrapping_shl(shift);
        if byte & 0x80 != 0 {
            shift = shift.saturating_add(7);
            continue;
        }
        change = change.saturating_add(distance);
        if change > code {
            break;
        }
        (distance, shift, is_word) = (0, 0, !is_word);
    }
    is_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_digits_marks_and_connectors_are_part_of_words() {
        for c in ['0', '9', 'A', 'z', '_', 'ª', 'é', '\u{301}', 'ß', '中', '٣', '‿', '\u{200c}']
        {
            assert!(is_word_character(c), "{c:?}");
        }
        for c in '\0'..'\u{300}' {
            let is_word = c.is_alphabetic() || c.is_ascii_digit() || c == '_';
            assert_eq!(is_word_character(c), is_word, "{c:?}");
        }
        for c in ['\0', '/', ':', '@', '[', ' ', '-', '—', '。', '😀', '\u{e000}', char::MAX] {
            assert!(!is_word_character(c), "{c:?}");
        }
    }
}
