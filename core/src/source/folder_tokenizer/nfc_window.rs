//! A text that is brought into Unicode's form NFC in a window.

use super::TOO_SMALL;
use crate::error::{Error, ErrorKind, Result};
use crate::text::character::push;
use crate::token::unicode::{Form, MarkBuffer, Output, write_form};
use crate::token::window::move_to_front;

/// Marks after a starter that are put in order: texts in any script have fewer.
const MARKS: usize = 32;

/// Calls `take` with the parts of what becomes of `text`, each of which ends before a space that
/// follows something else.
///
/// # Errors
///
/// [`ErrorKind::OverLimit`] if a part does not fit `window`, or a character has more marks than any;
/// what `take` answers.
pub(super) fn each_part(
    text: &str,
    window: &mut [u8],
    take: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut marks = Marks::default();
    let mut composed = Composed { window, filled: 0, take, outcome: Ok(()) };
    write_form(Form::NFC, text, &mut marks, &mut composed, |_| true);
    composed.outcome?;
    if marks.is_full {
        return Err(Error::without_offset(ErrorKind::OverLimit));
    }
    composed.give(composed.filled)
}

/// Marks whose order is not settled.
#[derive(Debug, Default)]
struct Marks {
    held: heapless::Vec<(u8, char), MARKS>,
    /// True if there were too many.
    is_full: bool,
}

impl AsMut<[(u8, char)]> for Marks {
    fn as_mut(&mut self) -> &mut [(u8, char)] {
        &mut self.held
    }
}

impl MarkBuffer for Marks {
    fn hold(&mut self, class: u8, c: char) {
        self.is_full |= self.held.push((class, c)).is_err();
    }

    fn keep(&mut self, length: usize) {
        self.held.truncate(length);
    }
}

/// Composed text that has not been taken.
struct Composed<'w, 't> {
    window: &'w mut [u8],
    filled: usize,
    take: &'t mut dyn FnMut(&str) -> Result<()>,
    outcome: Result<()>,
}

impl Composed<'_, '_> {
    fn write(&mut self, c: char) -> Result<()> {
        if self.window.len().saturating_sub(self.filled) < c.len_utf8() {
            let end = self.last_end().ok_or(Error::without_offset(ErrorKind::OverLimit))?;
            self.give(end)?;
            move_to_front(self.window, end, self.filled);
            self.filled = self.filled.saturating_sub(end);
        }
        self.filled = push(c, self.window, self.filled).ok_or(TOO_SMALL)?;
        Ok(())
    }

    /// The last place before a space that follows no white space.
    fn last_end(&self) -> Option<usize> {
        let text = self.text(self.filled).ok()?;
        let mut before = None;
        let mut last = None;
        for (at, c) in text.char_indices() {
            let is_end = c == ' ' && before.is_some_and(|before: char| !before.is_whitespace());
            last = if is_end { Some(at) } else { last };
            before = Some(c);
        }
        // With less, the window would be moved again and again.
        last.filter(|last| *last >= self.window.len() / 8)
    }

    fn text(&self, end: usize) -> Result<&str> {
        let bytes = self.window.get(..end).unwrap_or_default();
        core::str::from_utf8(bytes).map_err(|_| TOO_SMALL)
    }

    fn give(&mut self, end: usize) -> Result<()> {
        let bytes = self.window.get(..end).unwrap_or_default();
        let text = core::str::from_utf8(bytes).map_err(|_| TOO_SMALL)?;
        (self.take)(text)
    }
}

impl Output for Composed<'_, '_> {
    fn character(&mut self, c: char) {
        if self.outcome.is_ok() {
            self.outcome = self.write(c);
        }
    }

    fn text(&mut self, text: &str) {
        text.chars().for_each(|c| self.character(c));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    fn parts(text: &str, window: usize) -> Result<Vec<String>> {
        let (mut window, mut parts) = (vec![0; window], Vec::new());
        each_part(text, &mut window, &mut |part| {
            parts.push(part.into());
            Ok(())
        })?;
        Ok(parts)
    }

    #[test]
    fn what_is_composed_ends_where_words_do() {
        let text = "e\u{301}te\u{301} na  i\u{308}ve x\u{323}\u{307} \u{1100}\u{1161}\u{11A8}";
        let whole = "\u{e9}t\u{e9} na  \u{ef}ve \u{1e8b}\u{323} \u{ac01}";
        assert_eq!(parts(text, 100).unwrap(), [whole]);
        let cut = parts(text, 16).unwrap();
        assert!(cut.len() > 1, "{cut:?}");
        assert!(cut.iter().skip(1).all(|part| part.starts_with(' ')), "{cut:?}");
        assert_eq!(cut.concat(), whole);
        assert_eq!(parts("abcdefgh", 4).unwrap_err().kind(), ErrorKind::OverLimit);
    }

    #[test]
    fn marks_are_put_in_order_and_too_many_are_refused() {
        assert_eq!(parts("q\u{307}\u{323}", 20).unwrap(), ["q\u{323}\u{307}"]);
        let many = ["a", &"\u{315}".repeat(40)].concat();
        assert_eq!(parts(&many, 200).unwrap_err().kind(), ErrorKind::OverLimit);
    }
}
