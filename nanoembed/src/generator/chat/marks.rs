//! The texts of messages that spell tokens, marked so that they stay texts.
//!
//! A mark is a character that no text has. It is put at every token that a message spells, and shows
//! where that token is in the prompt, whatever the template has done with the message: stripped,
//! split or cut it. A token that the template itself spells has no mark, and is a token.
//!
//! Templates also look for tokens in messages, such as `</think>`. They must find them, so the mark
//! stands before or after the token if the prompt is then that of messages without marks. Otherwise
//! it stands inside, where a template does not find the token and nothing can part the two.

use std::collections::{BTreeSet, HashSet};

use super::encoded::Part;

/// Where marks stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Before,
    After,
    /// After the first character.
    Inside,
}

/// The characters of which one becomes the mark: Unicode has them for programs' own purposes, and no
/// text to exchange has them.
const MARKS: std::ops::RangeInclusive<char> = '\u{FDD0}'..='\u{FDEF}';

/// A character that is in none of the texts.
pub(super) fn unused<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Option<char> {
    MARKS.into_iter().find(|mark| texts.clone().all(|text| !text.contains(*mark)))
}

/// The spellings of tokens.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    spelled: HashSet<String>,
    /// The lengths of the spellings, which bound the search.
    lengths: BTreeSet<usize>,
    first_bytes: HashSet<u8>,
}

impl FromIterator<String> for Spellings {
    fn from_iter<I: IntoIterator<Item = String>>(spellings: I) -> Self {
        let mut all = Self::default();
        for spelled in spellings {
            if let Some(first) = spelled.bytes().next() {
                all.first_bytes.insert(first);
                all.lengths.insert(spelled.len());
                all.spelled.insert(spelled);
            }
        }
        all
    }
}

impl Spellings {
    /// The ends of the tokens that begin at `start`, the longest first.
    fn ends<'s>(&'s self, text: &'s str, start: usize) -> impl Iterator<Item = usize> + 's {
        let first = text.as_bytes().get(start);
        let may_begin = first.is_some_and(|first| self.first_bytes.contains(first));
        let lengths = self.lengths.iter().rev().filter(move |_| may_begin);
        lengths.filter_map(move |length| {
            let end = start.checked_add(*length)?;
            text.get(start..end).filter(|part| self.spelled.contains(*part)).map(|_| end)
        })
    }

    /// Returns true if the text spells a token.
    pub(super) fn are_in(&self, text: &str) -> bool {
        text.char_indices().any(|(start, _)| self.ends(text, start).next().is_some())
    }

    /// The text with a mark at every token that it spells.
    pub(super) fn marked(&self, text: &str, mark: char, place: Place) -> String {
        let mut marks = BTreeSet::new();
        for (start, first) in text.char_indices() {
            for end in self.ends(text, start) {
                marks.insert(match place {
                    Place::Before => start,
                    Place::After => end,
                    Place::Inside => start + first.len_utf8(),
                });
            }
        }
        let mut marked = String::with_capacity(text.len() + marks.len() * mark.len_utf8());
        for (at, c) in text.char_indices() {
            if marks.contains(&at) {
                marked.push(mark);
            }
            marked.push(c);
        }
        if marks.contains(&text.len()) {
            marked.push(mark);
        }
        marked
    }

    /// The parts of a prompt that has marks: texts between the template's tokens that have one stay
    /// texts, and all else is as it is.
    pub(super) fn parts(&self, marked: &str, mark: char, place: Place) -> Vec<Part> {
        let (text, marks) = unmarked(marked, mark);
        let is_own = |start: usize, end: usize| {
            let inside = text.get(start..).and_then(|it| it.chars().next()).map(char::len_utf8);
            !marks.contains(&match place {
                Place::Before => start,
                Place::After => end,
                Place::Inside => start + inside.unwrap_or_default(),
            })
        };
        let mut cut = Cut::default();
        let mut at = 0;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            match self.ends(&text, at).find(|end| is_own(at, *end)) {
                Some(end) => {
                    cut.token(text.get(at..end).unwrap_or_default());
                    at = end;
                }
                None => {
                    cut.text.push(c);
                    cut.has_mark |= self.ends(&text, at).next().is_some();
                    at += c.len_utf8();
                }
            }
        }
        cut.finish()
    }
}

/// A text without its marks, and the places in it where they were.
pub(super) fn unmarked(marked: &str, mark: char) -> (String, HashSet<usize>) {
    let (mut text, mut marks) = (String::with_capacity(marked.len()), HashSet::new());
    for c in marked.chars() {
        match c == mark {
            true => drop(marks.insert(text.len())),
            false => text.push(c),
        }
    }
    (text, marks)
}

/// A prompt on its way into parts.
#[derive(Default)]
struct Cut {
    parts: Vec<Part>,
    /// Tokens, and texts without marks.
    tokens: String,
    /// The text since the last token.
    text: String,
    has_mark: bool,
}

impl Cut {
    /// Adds a token of the template.
    fn token(&mut self, spelled: &str) {
        self.end_text();
        self.tokens.push_str(spelled);
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !std::mem::take(&mut self.has_mark) {
            self.tokens.push_str(&text);
            return;
        }
        self.end_tokens();
        self.parts.push(Part::Text(text));
    }

    fn end_tokens(&mut self) {
        if !self.tokens.is_empty() {
            self.parts.push(Part::Tokens(std::mem::take(&mut self.tokens)));
        }
    }

    fn finish(mut self) -> Vec<Part> {
        self.end_text();
        self.end_tokens();
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings() -> Spellings {
        ["<a>", "<a><b>", "</a>", "é>"].map(str::to_owned).into_iter().collect()
    }

    const PLACES: [Place; 3] = [Place::Before, Place::After, Place::Inside];

    #[test]
    fn tokens_of_a_message_stay_text_and_those_of_the_template_do_not() {
        let all = spellings();
        for place in PLACES {
            let content = all.marked("x<a>y", '\u{FDD0}', place);
            let parts = all.parts(&format!("<a>user {content}</a>z"), '\u{FDD0}', place);
            let expected = [
                Part::Tokens("<a>".into()),
                Part::Text("user x<a>y".into()),
                Part::Tokens("</a>z".into()),
            ];
            assert_eq!(parts, expected, "{place:?}");
        }
        let parts = all.parts("<a>user x</a>", '\u{FDD0}', Place::Before);
        assert_eq!(parts, [Part::Tokens("<a>user x</a>".into())]);
    }

    #[test]
    fn tokens_that_overlap_or_touch_are_all_marked() {
        let all = spellings();
        for text in ["<a><b>", "<a></a><a>", "<a><a>", "é>é>", "<<a>>"] {
            assert!(all.are_in(text));
            for place in PLACES {
                let content = all.marked(text, '\u{FDD1}', place);
                assert_eq!(unmarked(&content, '\u{FDD1}').0, text);
                let parts = all.parts(&content, '\u{FDD1}', place);
                assert_eq!(parts, [Part::Text(text.into())], "{place:?}");
            }
        }
        assert!(!all.are_in("< a>") && !all.are_in(""));
    }

    #[test]
    fn a_mark_is_in_no_text() {
        assert_eq!(unused(["a", "\u{FDD0}"].into_iter()), Some('\u{FDD1}'));
        let all: String = MARKS.collect();
        assert_eq!(unused([&*all].into_iter()), None);
    }
}
