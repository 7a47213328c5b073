//! A text on its way through the steps.

use alloc::string::String;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::{copied, spelled};
use crate::text::character::utf8;
pub(super) use crate::token::allowance::Allowance;
use crate::token::spec::SpelledText;

/// A text that is spelled in a description.
pub(super) fn owned(text: SpelledText<'_>) -> Result<String> {
    match text.as_plain() {
        Some(text) => copied(text),
        None => spelled(text.chars()),
    }
}

/// A text that steps have made of another one.
///
/// It leaves out text beyond its limit, or beyond the memory that there is;
/// [`check`](Self::check) says so, and every step that writes a text ends with it.
///
/// Metaspace's scheme `first` asks whether a part of it comes from the very start of what the
/// caller gave. `tokenizers` answers from the alignment of every byte; of that the only thing that
/// matters is which bytes are aligned with the first character.
#[derive(Debug, Default)]
pub(super) struct Text {
    string: String,
    /// Bytes up to here come from the first character that the caller gave.
    pub(super) first: usize,
    /// The most bytes that it may have.
    most: usize,
    /// Up to here there is memory, and it may be used.
    ready: usize,
    refused: Option<ErrorKind>,
}

impl Text {
    /// Empties it for one of at most so many bytes.
    pub(super) fn clear(&mut self, most: usize) {
        self.string.clear();
        self.first = 0;
        self.most = most;
        self.ready = self.string.capacity().min(most);
        self.refused = None;
    }

    /// Takes over `part` of what the caller gave, which begins at byte `start` of it.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub(super) fn set(&mut self, part: &str, start: usize, most: usize) -> Result<()> {
        self.clear(most);
        self.push_str(part);
        let first = part.chars().next().map_or(0, char::len_utf8);
        self.first = if start == 0 { first } else { 0 };
        self.check()
    }

    /// The text.
    #[inline]
    pub(super) const fn as_str(&self) -> &str {
        self.string.as_str()
    }

    /// Its bytes.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.string.len()
    }

    /// The text without what else is known of it.
    pub(super) fn into_string(self) -> String {
        self.string
    }

    /// The most bytes that it, and what becomes of it, may have.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Writes a character.
    #[inline]
    pub(super) fn push(&mut self, c: char) {
        let mut room = [0; 4];
        self.push_str(utf8(c, &mut room));
    }

    /// Writes a text.
    #[inline]
    pub(super) fn push_str(&mut self, part: &str) {
        if part.len() <= self.ready.saturating_sub(self.string.len()) || self.has_room(part.len()) {
            self.string.push_str(part);
        }
    }

    #[cold]
    fn has_room(&mut self, more: usize) -> bool {
        if self.refused.is_none() {
            if more > self.most.saturating_sub(self.string.len()) {
                self.refused = Some(ErrorKind::OverLimit);
            } else if self.string.try_reserve(more).is_err() {
                self.refused = Some(ErrorKind::NoMemory);
            }
        }
        let is_refused = self.refused.is_some();
        self.ready = if is_refused { 0 } else { self.string.capacity().min(self.most) };
        !is_refused
    }

    /// Says whether all that was written is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if it would have more bytes than it may; [`ErrorKind::NoMemory`].
    pub(super) fn check(&self) -> Result<()> {
        self.refused.map_or(Ok(()), |kind| Err(Error::without_offset(kind)))
    }

    /// Makes ASCII capitals small.
    pub(super) fn make_ascii_lowercase(&mut self) {
        self.string.make_ascii_lowercase();
    }

    /// Notes that what was written last comes from byte `at` of the text `from`.
    pub(super) fn comes_from(&mut self, from: &Self, at: usize) {
        if at < from.first {
            self.first = self.string.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_no_more_than_it_may_have_and_says_so() {
        let mut text = Text::default();
        text.set("ab", 0, 3).unwrap();
        text.push('c');
        assert_eq!((text.check(), text.as_str()), (Ok(()), "abc"));
        text.push('d');
        text.push_str("");
        let over = Err(Error::without_offset(ErrorKind::OverLimit));
        assert_eq!((text.check(), text.as_str()), (over, "abc"));
        text.clear(5);
        text.push_str("abcd");
        text.push('\u{e9}');
        text.push('e');
        assert_eq!((text.check(), text.as_str()), (over, "abcd"));
    }
}
