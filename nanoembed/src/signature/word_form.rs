//! The forms that word vectors come in.

use std::path::Path;

use nanoembed_core::format::finalfusion;

use super::fasttext;
use crate::choice::choices;
use crate::files::BYTE_ORDER_MARK;

/// The number of first bytes that tell a file's form.
pub const HEAD_BYTES: usize = 1 << 16;

/// The number of rows looked at after a first line with sizes.
const SAMPLED_ROWS: usize = 8;
/// The number of rows that tell the number of columns of a text without sizes.
const VOTING_ROWS: usize = 64;
/// The number of numbers that tell a row of text of which only the beginning is seen.
const CUT_NUMBERS: usize = 8;

choices! {
    /// A form of word vectors.
    #[non_exhaustive]
    pub enum Form {
        /// A finalfusion `.fifu` file
        Finalfusion = "finalfusion",
        /// word2vec's binary form
        Word2vec = "word2vec",
        /// Lines of text, a word and its numbers each; GloVe's form
        Text = "text" | "glove",
        /// The same after a line with the numbers of words and columns; word2vec's and fastText's
        /// text form
        Textdims = "textdims",
        /// A fastText model, `.bin` or quantised `.ftz`
        Fasttext = "fasttext",
        /// floret's text form
        Floret = "floret",
    }
}

impl Form {
    /// The form of a file that starts with `head`, which is `at_end` if that is all of it.
    pub fn sniff(head: &[u8], at_end: bool) -> Option<Self> {
        if head.starts_with(finalfusion::MAGIC) {
            return Some(Self::Finalfusion);
        }
        if head.starts_with(&fasttext::MAGIC) || fasttext::is_of_old_form(head) {
            return Some(Self::Fasttext);
        }
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        let mut lines = SampledLines::new(text, at_end);
        let first = lines.next()?;
        if has_controls(first.bytes) {
            return None;
        }
        if let Some(sizes) = Sizes::parse(first.bytes).filter(|_| first.is_whole) {
            return Some(after_sizes(sizes, lines));
        }
        if is_floret(&first, lines.next()) {
            return Some(Self::Floret);
        }
        let numbers = first.numbers();
        let has_word = numbers < first.fields().count() || first.begins_with_blank();
        (numbers > 0 && (has_word || numbers > 1)).then_some(Self::Text)
    }

    /// The endings of files of this form, the usual one first. Text is text.
    pub(crate) const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Finalfusion => &["fifu"],
            Self::Word2vec => &["w2v"],
            Self::Text => &["txt", "floret"],
            Self::Textdims => &["vec", "txt", "floret"],
            Self::Fasttext => &["ftz"],
            Self::Floret => &["floret", "txt"],
        }
    }

    /// The form that a file's name stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "fifu" => Self::Finalfusion,
            "w2v" | "word2vec" => Self::Word2vec,
            "txt" | "glove" => Self::Text,
            "vec" | "dims" | "textdims" => Self::Textdims,
            "ftz" => Self::Fasttext,
            "floret" => Self::Floret,
            _ => return None,
        })
    }
}

/// Text or binary rows after a first line with sizes. Words may be in any encoding, rows may be
/// longer than the part that is seen: the numbers decide.
fn after_sizes(sizes: Sizes, lines: SampledLines<'_>) -> Form {
    let rest = lines.rest;
    let at_end = lines.at_end;
    let rows = || lines.clone().take(SAMPLED_ROWS);
    let Some(first) = rows().next() else { return Form::Textdims };
    if first.is_row(sizes.cols) {
        return Form::Textdims;
    }
    if has_controls(rest) || are_binary_rows(rest, sizes, at_end) {
        return Form::Word2vec;
    }
    // Vectors of one number without sizes, whose first word is a number.
    let are_pairs = rows().all(|row| row.fields().count() == 2 && row.numbers() > 0);
    let count = rows().count();
    let is_announced = at_end && sizes.words == count as u64;
    match count > 1 && are_pairs && sizes.cols != 1 && !is_announced {
        true => Form::Text,
        false => Form::Textdims,
    }
}

/// True if binary rows after the sizes, none of whose bytes is a control character, are told by
/// where their words end.
fn are_binary_rows(mut rest: &[u8], sizes: Sizes, at_end: bool) -> bool {
    let mut count = 0;
    while count < sizes.words {
        let row = rest.trim_ascii_start();
        let Some(blank) = row.iter().position(|&byte| byte == b' ') else { break };
        let Some(after) = row.get(blank + 1 + sizes.cols.saturating_mul(4)..) else { break };
        rest = after;
        count += 1;
    }
    count > 0
        && match at_end {
            true => count == sizes.words && rest.trim_ascii().is_empty(),
            false => count > 1,
        }
}

fn is_floret(first: &Line<'_>, second: Option<Line<'_>>) -> bool {
    let Some(cols) = first.fields().nth(1).and_then(count) else { return false };
    let is_first_line =
        first.fields().count() == 8 && first.fields().take(6).all(|field| count(field).is_some());
    // A word and seven whole numbers look the same, but the next line tells.
    is_first_line
        && second.is_none_or(|line| {
            line.fields().next() == Some(b"0") && (!line.is_whole || line.numbers() as u64 > cols)
        })
}

/// The numbers of words and columns in a first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub words: u64,
    pub cols: usize,
}

impl Sizes {
    /// The sizes that a line has, if it has nothing else.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (words, cols) = (count(fields.next()?)?, count(fields.next()?)?);
        let cols = usize::try_from(cols).unwrap_or(usize::MAX);
        fields.next().is_none().then_some(Self { words, cols })
    }
}

/// A line of a text that is looked at.
pub struct Line<'h> {
    bytes: &'h [u8],
    /// True if its end is seen.
    is_whole: bool,
}

impl<'h> Line<'h> {
    /// Its fields, without one that may be cut.
    fn fields(&self) -> impl DoubleEndedIterator<Item = &'h [u8]> {
        let seen = match self.is_whole {
            true => self.bytes.len(),
            false => self.bytes.iter().rposition(u8::is_ascii_whitespace).unwrap_or(0),
        };
        let seen = self.bytes.get(..seen).unwrap_or(self.bytes);
        seen.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
    }

    fn begins_with_blank(&self) -> bool {
        self.bytes.first().is_some_and(u8::is_ascii_whitespace)
    }

    /// The number of last fields that are numbers.
    fn numbers(&self) -> usize {
        self.fields().rev().take_while(|field| is_number(field)).count()
    }

    /// True if this is a word and `cols` numbers, as far as the line is seen.
    fn is_row(&self, cols: usize) -> bool {
        let numbers = self.numbers();
        match self.is_whole {
            true => numbers >= cols && (self.fields().count() > cols || self.begins_with_blank()),
            false => numbers > 0 && numbers >= cols.min(CUT_NUMBERS),
        }
    }

    /// The number of columns of this row if its word has no blanks; `None` where that cannot be
    /// told.
    fn cols(&self) -> Option<usize> {
        let (numbers, fields) = (self.numbers(), self.fields().count());
        let is_clear = self.is_whole && !(self.begins_with_blank() && numbers == fields);
        is_clear.then(|| numbers.min(fields.saturating_sub(1))).filter(|&cols| cols > 0)
    }
}

/// The columns that most of the first rows have, the first of them if several are as many: one row
/// alone does not tell, as words may have blanks and look like numbers.
pub fn most_common_cols(head: &[u8]) -> Option<usize> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let lines = SampledLines::new(text, false).filter(|line| line.is_whole).take(VOTING_ROWS);
    let mut counts = [(0, 0); VOTING_ROWS];
    for cols in lines.filter_map(|line| line.cols()) {
        let known = counts.iter_mut().find(|(known, count)| *known == cols || *count == 0);
        if let Some((known, count)) = known {
            (*known, *count) = (cols, *count + 1);
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().filter(|count| *count > 0)?;
    counts.iter().find(|(_, count)| *count == most).map(|(cols, _)| *cols)
}

/// The lines at a file's start.
#[derive(Clone)]
struct SampledLines<'h> {
    rest: &'h [u8],
    /// True if the file ends with them.
    at_end: bool,
}

impl<'h> SampledLines<'h> {
    const fn new(head: &'h [u8], at_end: bool) -> Self {
        Self { rest: head, at_end }
    }
}

impl<'h> Iterator for SampledLines<'h> {
    type Item = Line<'h>;

    fn next(&mut self) -> Option<Line<'h>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let (bytes, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or(&[]);
        Some(Line { bytes, is_whole: end.is_some() || self.at_end })
    }
}

/// True if there are bytes that no text has, in whatever encoding of single bytes.
fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x0b)
}

fn count(field: &[u8]) -> Option<u64> {
    str::from_utf8(field).ok()?.parse().ok()
}

/// True if a field spells a number, finite or not.
pub fn is_number(field: &[u8]) -> bool {
    str::from_utf8(field).is_ok_and(|field| field.parse::<f32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_known_by_its_first_bytes() {
        let cases: &[(&[u8], Option<Form>)] = &[
            (b"FiFu\0\0\0\0", Some(Form::Finalfusion)),
            (b"\xba\x16\x4f\x2f\x0c\0\0\0", Some(Form::Fasttext)),
            (b"2 2\na 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"2 2\n1 1 2\n", Some(Form::Textdims)),
            (b"0 0\n", Some(Form::Textdims)),
            (b"2 2\na \0\0\x80\x3f\0\0\0\0\nb ", Some(Form::Word2vec)),
            (b"the 0.1 -0.2e-3\nof 1 2\n", Some(Form::Text)),
            (b". . 0.1 0.2\n", Some(Form::Text)),
            (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"10 3 2 3 2 2166136261 < >\n0 1 2 3\n", Some(Form::Floret)),
            (b"some text\n", None),
            // Latin-1; a tab as a word; more than is seen of a row.
            (b"2 2\ncaf\xe9 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"2 2\n\t 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"\t 0.1 0.2\n", Some(Form::Text)),
            (b"caf\xe9 0.1 0.2\n", Some(Form::Text)),
            // Bytes of numbers that happen to be letters.
            (b"2 1\na abcd\nb efgh\n", Some(Form::Word2vec)),
            (b"2 2\na 1 x\nb 3 4\n", Some(Form::Textdims)),
            (b"7 9\n8 3\n2 4\n", Some(Form::Text)),
            (b"2 2\na 1\nb 3\n", Some(Form::Textdims)),
            (b"0 1 2 3 4 5 6 7\n1 1 2 3 4 5 6 7\n", Some(Form::Text)),
            (b"", None),
            (b"\xff\xfe", None),
        ];
        for (head, form) in cases {
            assert_eq!(Form::sniff(head, true), *form, "{:?}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn a_row_that_is_cut_is_told_by_its_numbers() {
        let cases: &[(&[u8], Form)] = &[
            (b"2 9\na 1 2 3 4 5 6 7 8 9.12", Form::Textdims),
            (b"9 90\nword 1 2 3 4 5 6 7 8 9 10.", Form::Textdims),
            (b"9 90\nword \x01\x02\x03\x3d", Form::Word2vec),
            (b"word 0.25 0.5 -", Form::Text),
        ];
        for (head, form) in cases {
            assert_eq!(
                Form::sniff(head, false),
                Some(*form),
                "{:?}",
                String::from_utf8_lossy(head)
            );
        }
    }

    #[test]
    fn most_rows_tell_the_columns() {
        for (text, cols) in [
            (". . 1 2\na 1 2\n", Some(2)),
            ("1 2 0.5 0.5\na 1 2\nb 3 4\n", Some(2)),
            ("a 1 2\nb 3\n", Some(2)),
            ("\t 1 2\nb 3 4\n", Some(2)),
            ("word\n", None),
        ] {
            assert_eq!(most_common_cols(text.as_bytes()), cols, "{text:?}");
        }
    }
}
