//! What a terminal does not show but acts on: names and texts in files are free to have it.

/// Whether a terminal may act on a character, or show others in another order: control characters
/// but for tabs, separators of lines and paragraphs, and characters that turn the direction.
#[must_use]
pub fn acts(letter: char) -> bool {
    match letter {
        '\t' => false,
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => letter.is_control(),
    }
}
