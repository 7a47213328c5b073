//! Text: a line a word, followed by its numbers, blanks between them; perhaps a first line with the
//! numbers of words and columns. word2vec's and fastText's `.vec`, and GloVe's files, which have no
//! such line.
//!
//! Words may have blanks in them, as some of GloVe's have, or be blanks, as a tab is in some of
//! fastText's: a line's last numbers are the vector, in the number that the first line or most of
//! the first rows have, and all before them is the word.

use std::io::BufRead;

use nanoembed_core::{ErrorKind, limit};

use super::lines::ByteLines;
use super::{IGNORE_COUNT, WordRows};
use crate::error::{Error, Result};
use crate::signature::MAX_COLS;
use crate::signature::word_form::{Form, Sizes, is_number, most_common_cols};

/// The rows of a text.
pub struct TextRows<R> {
    lines: ByteLines<R>,
    cols: usize,
    /// The number of words that the first line announces.
    announced: Option<u64>,
    count: u64,
    /// True if the current line has not been returned yet.
    is_pending: bool,
    /// The ranges of the current line's fields.
    fields: Vec<(usize, usize)>,
}

impl<R: BufRead> TextRows<R> {
    /// Reads the first line, which has the sizes if `has_sizes`; with `ignores_count` its number of
    /// words means nothing.
    pub fn open(
        mut stream: R,
        name: String,
        (has_sizes, ignores_count): (bool, bool),
    ) -> Result<Self> {
        let head = stream.fill_buf().map_err(|error| Error::reading(&name, &error))?;
        let common = most_common_cols(head);
        let is_after_sizes = Form::sniff(head, false) == Some(Form::Textdims);
        let mut lines = ByteLines::new(stream, name);
        lines.advance()?;
        let fields = Vec::new();
        let mut rows =
            Self { lines, cols: 0, announced: None, count: 0, is_pending: false, fields };
        match has_sizes {
            true => rows.read_sizes(ignores_count)?,
            false => rows.infer_cols(common, is_after_sizes)?,
        }
        Ok(rows)
    }

    /// Takes the columns of a text without sizes from its first rows.
    fn infer_cols(&mut self, common: Option<usize>, is_after_sizes: bool) -> Result<()> {
        if let Some(sizes) = Sizes::parse(self.lines.line()).filter(|_| is_after_sizes)
            && sizes.cols != 1
        {
            let Sizes { words, cols } = sizes;
            let message = format!(
                "the first line is a header, which announces {words} words of {cols} numbers"
            );
            return Err(self.lines.bad(message).with_hint("`--from textdims` reads such files"));
        }
        self.split()?;
        self.cols = common.unwrap_or(self.fields.len().saturating_sub(1));
        self.is_pending = true;
        match self.cols {
            0 => Err(self.lines.bad("expected a word and its numbers")),
            _ => Ok(()),
        }
    }

    fn read_sizes(&mut self, ignores_count: bool) -> Result<()> {
        let Some(Sizes { words, cols }) = Sizes::parse(self.lines.line()) else {
            let message = "expected the number of words and the number of columns";
            return Err(self.lines.bad(message).with_hint(
                "`--from text` reads files whose first line is a word and its numbers",
            ));
        };
        self.announced = (!ignores_count).then_some(words);
        self.cols = cols;
        if cols > MAX_COLS || (cols == 0 && words > 0) {
            let message = format!("no word vectors have {cols} columns");
            return Err(self.lines.bad_as(ErrorKind::BadDimensions, message));
        }
        Ok(())
    }

    fn split(&mut self) -> Result<()> {
        self.fields.clear();
        let line = self.lines.line();
        let mut start = None;
        let ends = line.iter().map(u8::is_ascii_whitespace).chain([true]);
        for (at, is_end) in ends.enumerate() {
            match (is_end, start) {
                (false, None) => start = Some(at),
                (true, Some(begin)) => {
                    let pushed = limit::push(&mut self.fields, (begin, at));
                    pushed.map_err(|error| self.lines.failure(error))?;
                    start = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<bool> {
        match self.announced.filter(|&words| words != self.count) {
            None => Ok(false),
            Some(words) => Err(self
                .lines
                .bad_as(
                    ErrorKind::UnexpectedEnd,
                    format!("the first line announces {words} words, but there are {}", self.count),
                )
                .with_hint(IGNORE_COUNT)),
        }
    }

    /// The error about the current line's number of fields.
    fn ragged(&self) -> Error {
        let found = self.fields.len().saturating_sub(1);
        let cols = self.cols;
        self.lines.bad(format!("expected a word and {cols} numbers, but there are {found}"))
    }

    /// The word before the numbers, which begin at this field. Blanks inside it are part of it; a
    /// word of blanks only is what stands before the last of them.
    fn word(&self, numbers: usize) -> Result<&[u8]> {
        let line = self.lines.line();
        if let Some((&(_, end), &(start, _))) =
            numbers.checked_sub(1).and_then(|last| self.fields.get(last)).zip(self.fields.first())
        {
            if numbers > 1 && self.is_one_number_more(numbers) {
                return Err(self.ragged().with_hint(
                    "if blanks are part of the word, put another character, such as `_`, in their place",
                ));
            }
            return Ok(&line[start..end]);
        }
        let start = self.fields.first().map_or(0, |(start, _)| *start);
        match start.checked_sub(1) {
            Some(blank) => Ok(&line[..blank]),
            None => Err(self.ragged()),
        }
    }

    /// True if the last part of a word with blanks looks like the numbers after it: then the row
    /// has a number too many.
    fn is_one_number_more(&self, numbers: usize) -> bool {
        let line = self.lines.line();
        let field =
            |at: usize| self.fields.get(at).map_or(&line[..0], |&(start, end)| &line[start..end]);
        let last = field(numbers - 1);
        let is_fraction = |field: &[u8]| field.iter().any(|byte| b".eE".contains(byte));
        is_number(last)
            && last.iter().any(u8::is_ascii_digit)
            && (is_fraction(last) || !(numbers..self.fields.len()).any(|at| is_fraction(field(at))))
    }
}

impl<R: BufRead> WordRows for TextRows<R> {
    fn cols(&self) -> usize {
        self.cols
    }

    fn next_row(&mut self, word: &mut Vec<u8>, row: &mut [f32]) -> Result<bool> {
        if !std::mem::take(&mut self.is_pending) {
            if !self.lines.advance()? {
                return self.end();
            }
            self.split()?;
        }
        if self.announced == Some(self.count) {
            if self.fields.is_empty() {
                return Ok(false);
            }
            let message =
                format!("the first line announces {} words, but there are more", self.count);
            return Err(self
                .lines
                .bad_as(ErrorKind::TrailingBytes, message)
                .with_hint(IGNORE_COUNT));
        }
        let Some(numbers) = self.fields.len().checked_sub(self.cols) else {
            return Err(self.ragged());
        };
        word.clear();
        let bytes = self.word(numbers)?;
        limit::append(word, bytes).map_err(|error| self.lines.failure(error))?;
        let line = self.lines.line();
        for ((start, end), to) in self.fields[numbers..].iter().zip(row) {
            *to = self.lines.parse_number(&line[*start..*end])?;
        }
        self.count += 1;
        Ok(true)
    }

    fn refuse(&self, failure: Error) -> Error {
        self.lines.refuse(failure)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
