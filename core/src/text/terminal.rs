//! Characters on which a terminal acts instead of showing them; names and texts in files may
//! contain them.

/// Returns true if a terminal may act on a character or reorder its neighbours: control characters
/// except tabs, line and paragraph separators, and bidirectional controls.
#[must_use]
pub fn acts(letter: char) -> bool {
    match letter {
        '\t' => false,
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => letter.is_control(),
    }
}
