//! Texts that are borrowed from where they are spelled.

use core::fmt::{self, Write as _};

use crate::text::json;

/// A text, perhaps as JSON spells it between its quotes.
#[derive(Clone, Copy, Default)]
pub struct SpelledText<'a> {
    text: &'a str,
    /// True if the text has escapes of JSON.
    is_escaped: bool,
}

impl<'a> SpelledText<'a> {
    /// A text as it is.
    #[must_use]
    pub const fn plain(text: &'a str) -> Self {
        Self { text, is_escaped: false }
    }

    /// The text that JSON spells so between its quotes.
    #[must_use]
    pub fn from_json(text: &'a str) -> Self {
        Self { text, is_escaped: json::has_escapes(text) }
    }

    /// The characters of the text.
    pub fn chars(&self) -> impl Iterator<Item = char> + use<'a> {
        let mut plain = self.text.chars();
        let mut escaped = self.is_escaped.then(|| json::chars(self.text));
        core::iter::from_fn(move || match &mut escaped {
            Some(escaped) => escaped.next(),
            None => plain.next(),
        })
    }

    /// The text, unless it is spelled with escapes.
    #[must_use]
    pub const fn as_plain(&self) -> Option<&'a str> {
        if self.is_escaped { None } else { Some(self.text) }
    }

    /// Returns true if the text is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Bytes of the spelling, which the text is never longer than.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns true if this is `text`.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.text == text && !self.is_escaped || self.is_escaped && self.chars().eq(text.chars())
    }

    /// The only character, if there is just one.
    #[must_use]
    pub fn character(&self) -> Option<char> {
        let mut characters = self.chars();
        characters.next().filter(|_| characters.next().is_none())
    }

    /// The text in `room`; `None` if it does not fit.
    pub fn unescape<'o>(&self, room: &'o mut [u8]) -> Option<&'o str> {
        let mut length = 0_usize;
        for c in self.chars() {
            length = crate::text::character::push(c, room, length)?;
        }
        core::str::from_utf8(room.get(..length)?).ok()
    }
}

impl PartialEq for SpelledText<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.is_escaped || other.is_escaped {
            self.chars().eq(other.chars())
        } else {
            self.text == other.text
        }
    }
}

impl Eq for SpelledText<'_> {}

impl fmt::Display for SpelledText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_plain() {
            Some(text) => f.write_str(text),
            None => self.chars().try_for_each(|c| f.write_char(c)),
        }
    }
}

impl fmt::Debug for SpelledText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_is_spelled() {
        let (escaped, plain) = (SpelledText::from_json(r"a\u0062\\"), SpelledText::plain(r"ab\"));
        assert_eq!(escaped, plain);
        assert!(escaped.is(r"ab\") && plain.is(r"ab\") && !escaped.is("ab"));
        assert_ne!(SpelledText::plain(r"\n"), SpelledText::from_json(r"\n"));
        assert_eq!(SpelledText::from_json(r"\n").character(), Some('\n'));
        assert_eq!(SpelledText::plain(r"\n").character(), None);
        let mut room = [0; 3];
        assert_eq!(escaped.unescape(&mut room), Some(r"ab\"));
        assert_eq!(SpelledText::plain("abcd").unescape(&mut room), None);
    }
}
