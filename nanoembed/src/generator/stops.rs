//! Strings that end a continuation.

use std::mem::take;

/// The strings that end a continuation, and the end of the text so far, if one of them may begin there.
#[derive(Debug, Default)]
pub(super) struct Stops {
    strings: Vec<String>,
    held: String,
}

impl Stops {
    /// Empty strings end nothing.
    pub(super) fn new(strings: impl Iterator<Item = String>) -> Self {
        Self { strings: strings.filter(|it| !it.is_empty()).collect(), held: String::new() }
    }

    /// Appends a piece of the continuation. Returns the text that is final now: it ends where one of
    /// the strings is found, which the flag tells, or may begin.
    pub(super) fn push(&mut self, piece: &str) -> (String, bool) {
        self.held.push_str(piece);
        if let Some(end) = self.strings.iter().filter_map(|it| self.held.find(it.as_str())).min() {
            self.held.truncate(end);
            return (take(&mut self.held), true);
        }
        let begins = |rest: &str| self.strings.iter().any(|it| it.starts_with(rest));
        let mut starts = self.held.char_indices().map(|(start, _)| start);
        let start = starts.find(|start| self.held.get(*start..).is_some_and(begins));
        let rest = self.held.split_off(start.unwrap_or(self.held.len()));
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// The text that was held back: to be called after the last piece.
    pub(super) fn rest(&mut self) -> String {
        take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text up to a stop, and true if there is one, of a text in pieces of so many letters.
    fn stopped(text: &str, strings: &[&str], letters: usize) -> (String, bool) {
        let mut stops = Stops::new(strings.iter().map(|it| (*it).to_owned()));
        let (mut said, text) = (String::new(), text.chars().collect::<Vec<_>>());
        for piece in text.chunks(letters) {
            let (part, is_end) = stops.push(&piece.iter().collect::<String>());
            said.push_str(&part);
            if is_end {
                return (said, true);
            }
        }
        (said + &stops.rest(), false)
    }

    #[test]
    fn a_text_ends_before_the_first_of_the_strings_however_it_is_cut() {
        for (text, strings, expected) in [
            ("one\n\ntwo", &["\n\n"][..], ("one", true)),
            ("ababac", &["abac"], ("ab", true)),
            ("aab END of", &["END", "b E"], ("aa", true)),
            ("a\nb\n", &["\n\n"], ("a\nb\n", false)),
            ("über", &["ü"], ("", true)),
            ("abc", &[""], ("abc", false)),
            ("abc", &[], ("abc", false)),
        ] {
            for letters in 1..=text.chars().count() {
                let (said, is_end) = stopped(text, strings, letters);
                assert_eq!((&*said, is_end), expected, "{text:?} {letters}");
            }
        }
    }
}
