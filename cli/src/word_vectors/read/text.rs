//! Text: a line a word, its numbers behind it, blanks between them; perhaps a first line with the numbers of words
//! and columns. word2vec's and fastText's `.vec`, and GloVe's files, which have no such line.
//!
//! Words may have blanks in them, as some of GloVe's have: a line's last numbers are the vector, as many as the first
//! line had, and all before them is the word.

use std::io::BufRead;

use nanoembed_core::ErrorKind;

use super::lines::ByteLines;
use super::{MAX_COLS, Rows};
use crate::error::{Failure, Result};

/// The rows of a text.
pub(crate) struct TextRows<R> {
    lines: ByteLines<R>,
    cols: usize,
    /// How many words the first line announces.
    announced: Option<u64>,
    count: u64,
    /// Whether the current line has not been given yet.
    is_pending: bool,
    /// Where the fields of the current line lie.
    fields: Vec<(usize, usize)>,
}

impl<R: BufRead> TextRows<R> {
    /// Reads the first line, which has the sizes if `has_sizes`.
    pub(crate) fn open(stream: R, name: String, has_sizes: bool) -> Result<Self> {
        let mut lines = ByteLines::new(stream, name);
        let is_empty = !lines.advance()?;
        let mut rows = Self {
            lines,
            cols: 0,
            announced: None,
            count: 0,
            is_pending: false,
            fields: Vec::new(),
        };
        if !has_sizes {
            rows.split();
            rows.cols = rows.fields.len().saturating_sub(1);
            rows.is_pending = true;
            if rows.cols == 0 {
                return Err(rows.lines.bad("expected a word and its numbers"));
            }
            return Ok(rows);
        }
        let first = str::from_utf8(rows.lines.line()).unwrap_or("");
        let mut sizes = first.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(words)), Some(Ok(cols)), None) = (sizes.next(), sizes.next(), sizes.next())
        else {
            return Err(rows.lines.bad("expected the number of words and the number of columns"));
        };
        rows.announced = Some(words);
        rows.cols = usize::try_from(cols).unwrap_or(usize::MAX);
        if is_empty || rows.cols > MAX_COLS || (cols == 0 && words > 0) {
            return Err(rows
                .lines
                .bad_as(ErrorKind::BadDimensions, format!("no word vectors have {cols} columns")));
        }
        Ok(rows)
    }

    fn split(&mut self) {
        self.fields.clear();
        let mut start = None;
        let line = self.lines.line();
        for (at, byte) in line.iter().enumerate() {
            match (byte.is_ascii_whitespace(), start) {
                (false, None) => start = Some(at),
                (true, Some(begin)) => {
                    self.fields.push((begin, at));
                    start = None;
                }
                _ => {}
            }
        }
        self.fields.extend(start.map(|begin| (begin, line.len())));
    }

    fn end(&self) -> Result<bool> {
        match self.announced.filter(|&words| words != self.count) {
            None => Ok(false),
            Some(words) => Err(self.lines.bad_as(
                ErrorKind::UnexpectedEnd,
                format!("the first line announces {words} words, but there are {}", self.count),
            )),
        }
    }
}

impl<R: BufRead> Rows for TextRows<R> {
    fn cols(&self) -> usize {
        self.cols
    }

    fn next_row(&mut self, word: &mut Vec<u8>, row: &mut [f32]) -> Result<bool> {
        if !std::mem::take(&mut self.is_pending) {
            if !self.lines.advance()? {
                return self.end();
            }
            self.split();
        }
        if self.announced == Some(self.count) && !self.fields.is_empty() {
            return Err(self.lines.bad_as(
                ErrorKind::TrailingBytes,
                format!("the first line announces {} words, but there are more", self.count),
            ));
        }
        let line = self.lines.line();
        let words = self.fields.len().saturating_sub(self.cols);
        let (Some((_, end)), Some((start, _))) =
            (words.checked_sub(1).map(|last| self.fields[last]), self.fields.first())
        else {
            if self.fields.is_empty() && self.announced == Some(self.count) {
                return Ok(false);
            }
            let found = self.fields.len().saturating_sub(1);
            let cols = self.cols;
            return Err(self
                .lines
                .bad(format!("expected a word and {cols} numbers, but there are {found}")));
        };
        word.clear();
        word.extend_from_slice(&line[*start..end]);
        for ((start, end), to) in self.fields[words..].iter().zip(row) {
            *to = self.lines.parse_number(&line[*start..*end])?;
        }
        self.count += 1;
        Ok(true)
    }

    fn refuse(&self, failure: Failure) -> Failure {
        self.lines.refuse(failure)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
