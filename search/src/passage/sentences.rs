//! Texts that a model takes whole, or cut at sentences where they are longer.

use std::ops::Range;

use super::{Measure, Part, Passage, head};

/// The share of the limit, at most, that a part repeats of the one before.
const OVERLAP: usize = 8;

/// No token has so many bytes on average: longer texts need not be tokenised.
const MOST_BYTES_A_TOKEN: usize = 64;

/// Passages in the making.
pub(super) struct Cut<'m> {
    measure: &'m dyn Measure,
    /// Tokens around a text.
    around: usize,
    pub(super) passages: Vec<Passage>,
}

/// A sentence or a line: its place in the text and its tokens.
struct Unit {
    start: usize,
    end: usize,
    tokens: usize,
}

impl<'m> Cut<'m> {
    pub(super) fn new(measure: &'m dyn Measure) -> Self {
        Self { measure, around: measure.tokens("").unwrap_or(0), passages: Vec::new() }
    }

    /// True if the model takes the text whole.
    pub(super) fn fits(&self, heading: &str, text: &str) -> bool {
        let bytes = heading.len() + text.len() + 1;
        if bytes + self.around <= self.measure.limit() {
            return true;
        }
        if bytes > self.measure.limit().saturating_mul(MOST_BYTES_A_TOKEN) {
            return false;
        }
        match heading.is_empty() {
            true => self.measure.tokens(text).is_some(),
            false => self.measure.tokens(&format!("{heading}\n{text}")).is_some(),
        }
    }

    /// Adds a text that begins in `line`, cut at sentences if it is too long.
    pub(super) fn prose(&mut self, heading: &str, text: &str, line: u64) {
        self.add((heading, heading), text, line, sentence_end);
    }

    /// The same where parts after the first are under the headings of `inside`.
    pub(super) fn section(&mut self, heading: &str, inside: &str, text: &str, line: u64) {
        self.add((heading, inside), text, line, sentence_end);
    }

    /// Adds source code, cut at lines if it is too long.
    pub(super) fn code(&mut self, heading: &str, inside: &str, text: &str, line: u64) {
        self.add((heading, inside), text, line, line_end);
    }

    fn add(
        &mut self,
        (heading, inside): (&str, &str),
        text: &str,
        line: u64,
        end: fn(&str) -> usize,
    ) {
        if text.trim().is_empty() {
            return;
        }
        let (blank, text) = without_blank(text);
        let line = line + newlines(blank);
        if self.fits(heading, text) {
            let end_line = line + newlines(text);
            return self.passages.push(Passage::whole(heading, text.into(), line, end_line));
        }
        let parts = self.parts((heading, inside), text, line, end);
        self.passages.push(Passage { text: text.into(), heading: heading.into(), parts });
    }

    /// The parts of a text that is too long for the model.
    fn parts(
        &self,
        (heading, inside): (&str, &str),
        text: &str,
        line: u64,
        end: fn(&str) -> usize,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        // A heading that leaves no room for the text is left out.
        let room = self.room(inside);
        let is_too_long = room < self.measure.limit() / 2;
        let (heading, inside) = if is_too_long { ("", "") } else { (heading, inside) };
        let room = if is_too_long { self.room("") } else { room };
        let units = self.units(text, room, end);
        let mut first = 0;
        let mut line = line;
        let mut counted = 0;
        while let Some(start) = units.get(first).map(|unit| unit.start) {
            let mut tokens = 0;
            let fitting = units.iter().skip(first).take_while(|unit| {
                tokens += unit.tokens;
                tokens <= room
            });
            let count = fitting.count().max(1);
            let end = units.get(first + count - 1).map_or(text.len(), |unit| unit.end);
            let before = text.get(counted..start).unwrap_or_default();
            line += newlines(before);
            counted = start;
            let heading = if first == 0 { heading } else { inside };
            parts.extend(part(heading, text, start..end, line));
            if first + count >= units.len() {
                break;
            }
            first = overlapping(&units, first, first + count, room / OVERLAP);
        }
        parts
    }

    /// Tokens that are left for a text under a heading.
    fn room(&self, heading: &str) -> usize {
        let limit = self.measure.limit();
        let used = match heading {
            "" => self.around,
            heading => self.measure.tokens(heading).map_or(limit, |tokens| tokens + 1),
        };
        limit.saturating_sub(used).max(1)
    }

    /// The sentences of a text, none of them with more than `room` tokens.
    fn units(&self, text: &str, room: usize, end: fn(&str) -> usize) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = end(rest).clamp(1, rest.len());
            let sentence = rest.get(..length).unwrap_or(rest);
            match self.count(sentence, room) {
                Some(tokens) => units.push(Unit { start: at, end: at + sentence.len(), tokens }),
                None => self.pieces(sentence, at, room, &mut units),
            }
            at += sentence.len();
        }
        units
    }

    /// Tokens of a text by itself; `None` if it has more than `room`.
    fn count(&self, text: &str, room: usize) -> Option<usize> {
        if text.len() > room.saturating_mul(MOST_BYTES_A_TOKEN) {
            return None;
        }
        let tokens = self.measure.tokens(text)?.saturating_sub(self.around);
        (tokens <= room).then_some(tokens)
    }

    /// A sentence that is too long, in pieces that end at spaces where there are any.
    fn pieces(&self, sentence: &str, start: usize, room: usize, units: &mut Vec<Unit>) {
        let mut at = 0;
        while let Some(rest) = sentence.get(at..).filter(|rest| !rest.is_empty()) {
            // As many bytes as tokens: a token has at least one, but for rare letters.
            let head = head(rest, room.max(4));
            let space = head.rfind(char::is_whitespace).filter(|space| *space > 0);
            let length = match space {
                Some(space) if head.len() < rest.len() => space,
                _ => head.len().max(1),
            };
            let piece = rest.get(..length).unwrap_or(rest);
            let tokens = self.count(piece, room).unwrap_or(room);
            units.push(Unit { start: start + at, end: start + at + piece.len(), tokens });
            at += piece.len();
        }
    }
}

/// The blank lines before a text, and the text without them and what is blank at its end. The
/// indentation of the first line stays.
fn without_blank(text: &str) -> (&str, &str) {
    let ended = text.trim_end();
    let start = ended.len() - ended.trim_start().len();
    let start = ended.get(..start).and_then(|blank| blank.rfind('\n')).map_or(0, |at| at + 1);
    ended.split_at(start)
}

/// A part of a text without the blank lines around it; `None` if all of it is blank.
fn part(heading: &str, text: &str, range: Range<usize>, line: u64) -> Option<Part> {
    let (blank, own) = without_blank(text.get(range.clone())?);
    let start = range.start + blank.len();
    let line = line + newlines(blank);
    (!own.is_empty()).then(|| Part {
        range: start..start + own.len(),
        heading: heading.into(),
        line,
        end_line: line + newlines(own),
    })
}

/// The first unit of the next part: some of the last part's end, at most `room` tokens.
fn overlapping(units: &[Unit], first: usize, next: usize, room: usize) -> usize {
    let mut tokens = 0;
    let repeated = units.get(first + 1..next).unwrap_or_default().iter().rev().take_while(|unit| {
        tokens += unit.tokens;
        tokens <= room
    });
    next - repeated.count()
}

pub(super) fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn line_end(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}

/// The length of the first sentence, with the blank after it: it ends at a full stop and its like, at
/// a blank line, and before an item of a list.
fn sentence_end(text: &str) -> usize {
    let mut has_ended = false;
    for (at, letter) in text.char_indices() {
        let after = at + letter.len_utf8();
        match letter {
            '。' | '！' | '？' | '｡' => return after,
            '.' | '!' | '?' | '…' => has_ended = true,
            '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '*' | '_' | '`' => {}
            '\n' if has_ended || ends_at_newline(text.get(after..).unwrap_or_default()) => {
                return after;
            }
            letter if letter.is_whitespace() => {
                if has_ended && letter != '\n' {
                    return after;
                }
            }
            _ => has_ended = false,
        }
    }
    text.len()
}

/// True if a blank line or an item of a list follows.
fn ends_at_newline(rest: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or_default().trim_start();
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.is_empty()
        || ["- ", "* ", "+ ", "|"].iter().any(|mark| line.starts_with(mark))
        || number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") "))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::passage::{Form, passages};

    /// A token for each word, and one before and after a text.
    pub(crate) struct Words(pub(crate) usize);

    impl Measure for Words {
        fn limit(&self) -> usize {
            self.0
        }

        fn tokens(&self, text: &str) -> Option<usize> {
            let count = text.split_whitespace().count() + 2;
            (count <= self.0).then_some(count)
        }
    }

    /// Headings, first and last lines, and texts of the parts of passages.
    pub(crate) fn split(form: Form, limit: usize, text: &str) -> Vec<(String, u64, u64, String)> {
        let found = passages(form, text, &Words(limit));
        let parts = found.iter().flat_map(|it| it.parts.iter().map(move |part| (it, part)));
        let row = |(it, part): (&Passage, &Part)| {
            (part.heading.clone(), part.line, part.end_line, it.text_of(part).to_owned())
        };
        parts.map(row).collect()
    }

    #[test]
    fn the_parts_of_a_long_text_are_one_passage() {
        let text = "\nOne two three. Four five six.\n\nSeven eight.\n";
        let found = passages(Form::Whole, text, &Words(6));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, text.trim());
        let lines: Vec<u64> = found[0].parts.iter().map(|part| part.line).collect();
        assert_eq!(lines, [2, 2, 4]);
    }

    fn row(heading: &str, line: u64, end_line: u64, text: &str) -> (String, u64, u64, String) {
        (heading.into(), line, end_line, text.into())
    }

    #[test]
    fn long_texts_are_cut_at_sentences() {
        let text =
            "One is here. Two\nis there. Is three? Four of \"them.\"\nFive is the last one of all.";
        assert_eq!(split(Form::Whole, 20, text), [row("", 1, 3, text)]);
        let expected = [
            row("", 1, 2, "One is here. Two\nis there. Is three? Four of \"them.\""),
            row("", 3, 3, "Five is the last one of all."),
        ];
        assert_eq!(split(Form::Whole, 16, text), expected);
        let found = split(Form::Whole, 8, "日本 語です。1.5 m is\n- an item\n\n2) two");
        let texts: Vec<&str> = found.iter().map(|(.., text)| text.as_str()).collect();
        assert_eq!(texts, ["日本 語です。1.5 m is", "- an item\n\n2) two"]);
    }

    #[test]
    fn parts_repeat_the_end_of_those_before() {
        let sentences: Vec<String> = (0..20).map(|at| format!("Sentence {at} ends.")).collect();
        let found = split(Form::Whole, 26, &sentences.join("\n"));
        // An eighth of 24 words is a sentence.
        let expected = [(1, 8), (8, 15), (15, 20)];
        let lines: Vec<(u64, u64)> = found.iter().map(|(_, line, end, _)| (*line, *end)).collect();
        assert_eq!(lines, expected);
        assert!(found[1].3.starts_with("Sentence 7 ends.\nSentence 8"));
    }

    #[test]
    fn every_word_is_in_a_passage_and_no_passage_is_too_long() {
        let text = "Word and word. ".repeat(50) + &"endless ".repeat(70) + &"x".repeat(500);
        for limit in [5, 9, 40] {
            let found = split(Form::Whole, limit, &text);
            assert!(found.iter().all(|(.., text)| Words(limit).tokens(text).is_some()));
            let joined: String = found.iter().map(|(.., text)| text.as_str()).collect();
            assert!(joined.matches("endless").count() >= 70 && joined.matches('x').count() >= 500);
        }
    }

    #[test]
    fn a_model_that_takes_nothing_ends_too() {
        let found = split(Form::Whole, 0, "日本語. a b c");
        assert!(!found.is_empty() && found.len() < 20);
    }
}
