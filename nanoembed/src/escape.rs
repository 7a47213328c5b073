//! Untrusted text on its way to people: names of tensors, words, keys, prompts and paths can hold
//! control characters, or make one line look like two.

use std::borrow::Cow;

pub use nanoembed_core::text::terminal::acts;

/// A line of text, in which nothing acts on a terminal and nothing ends the line: control characters
/// but for tabs, separators of lines and paragraphs, and characters that turn the direction of others
/// are spelled out, `\u{1b}`.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    spelled(text, acts)
}

/// The same of a text of several lines.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    spelled(text, |letter| acts(letter) && letter != '\n')
}

fn spelled(text: &str, is_spelled: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_spelled) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_spelled(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_act_on_is_spelled_out_and_all_else_stays() {
        for plain in ["", "größer\t日本 👩‍👩‍👧 \\ שלום\u{200f}", "C:\\new"] {
            assert!(matches!(line(plain), Cow::Borrowed(same) if same == plain));
        }
        let hostile = "\x1b[2J\x07\x7f\u{9b}31m\r\n\0\u{2028}\u{202e}\u{2066}";
        let expected = r"\u{1b}[2J\u{7}\u{7f}\u{9b}31m\r\n\u{0}\u{2028}\u{202e}\u{2066}";
        assert_eq!(line(hostile), expected);
        assert_eq!(lines("a\nb\r"), "a\nb\\r");
        let all = (0..=0x10_ffff).filter_map(char::from_u32);
        let controls = all.filter(|letter| letter.is_control() && !acts(*letter));
        assert_eq!(controls.collect::<Vec<_>>(), ['\t']);
    }
}
