//! word2vec's binary form: a line with the numbers of words and columns; then for each word its
//! bytes, a blank, and its little-endian f32 numbers; some writers add a line end after them.

use std::io::{BufRead, ErrorKind as IoErrorKind, Read};

use nanoembed_core::format::finalfusion::MAX_WORD_BYTES;
use nanoembed_core::{ErrorKind, limit};

use super::lines::read_until;
use super::{IGNORE_COUNT, WordRows};
use crate::error::{Error, Result};
use crate::signature::MAX_COLS;
use crate::signature::word_form::Sizes;

/// The longest first line.
const MAX_SIZES_BYTES: usize = 64;

/// The rows of a file.
pub struct Word2VecRows<R> {
    stream: R,
    name: String,
    cols: usize,
    /// The number of words that the first line announces; `None` if that is to be ignored.
    words: Option<u64>,
    count: u64,
    /// Offset of the next byte, and of the current word.
    at: u64,
    word_at: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Word2VecRows<R> {
    /// Reads the sizes; with `ignores_count` their number of words means nothing.
    pub fn open(stream: R, name: String, ignores_count: bool) -> Result<Self> {
        let (cols, words, bytes) = (0, None, Vec::new());
        let mut rows = Self { stream, name, cols, words, count: 0, at: 0, word_at: 0, bytes };
        let mut line = Vec::new();
        let read = read_until(&mut rows.stream, b'\n', MAX_SIZES_BYTES, &mut line);
        rows.at = read.map_err(|error| Error::reading(&rows.name, &error))? as u64;
        let Some(Sizes { words, cols }) = Sizes::parse(&line) else {
            let message = "expected the number of words and the number of columns";
            return Err(rows.refuse(Error::bad_input(message)));
        };
        rows.cols = cols;
        if rows.cols > MAX_COLS || (cols == 0 && words > 0) {
            let message = format!("no word vectors have {cols} columns");
            return Err(rows.refuse(Error::input(ErrorKind::BadDimensions, message)));
        }
        rows.words = (!ignores_count).then_some(words);
        let bytes = limit::filled(rows.cols * 4, 0);
        rows.bytes = bytes.map_err(|error| Error::in_file(&rows.name, error))?;
        Ok(rows)
    }

    fn ended(&self) -> Error {
        let message = match self.words {
            Some(words) => format!(
                "the first line announces {words} words, but the file ends in word {}",
                self.count + 1
            ),
            None => format!("the file ends in the middle of word {}", self.count + 1),
        };
        let failure = self.refuse(Error::input(ErrorKind::UnexpectedEnd, message));
        match self.words {
            Some(_) => failure.with_hint(IGNORE_COUNT),
            None => failure,
        }
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        if error.kind() == IoErrorKind::UnexpectedEof {
            return self.ended();
        }
        Error::reading(&self.name, error)
    }

    /// Returns true if nothing but line ends follows; they are passed over.
    fn is_at_end(&mut self) -> Result<bool> {
        loop {
            let next = self.stream.fill_buf();
            let next = next.map_err(|error| Error::reading(&self.name, &error))?;
            let ends = next.iter().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
            let (is_at_end, is_word) = (next.is_empty(), ends < next.len());
            self.stream.consume(ends);
            self.at += ends as u64;
            if is_at_end || is_word {
                return Ok(is_at_end);
            }
        }
    }

    fn read_word(&mut self, word: &mut Vec<u8>) -> Result<()> {
        word.clear();
        let read = read_until(&mut self.stream, b' ', MAX_WORD_BYTES + 2, word);
        self.word_at = self.at;
        self.at += read.map_err(|error| Error::reading(&self.name, &error))? as u64;
        if word.pop() != Some(b' ') {
            if word.len() > MAX_WORD_BYTES {
                let failure = Error::input(ErrorKind::NameTooLong, "no blank ends this word");
                return Err(self.refuse(failure).with_hint("is this word2vec's binary form?"));
            }
            return Err(self.ended());
        }
        // Line ends after the row before are no part of the word; other blanks are, as a tab is a
        // word in some files.
        let ends = word.iter().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
        word.drain(..ends);
        Ok(())
    }
}

impl<R: BufRead> WordRows for Word2VecRows<R> {
    fn cols(&self) -> usize {
        self.cols
    }

    fn next_row(&mut self, word: &mut Vec<u8>, row: &mut [f32]) -> Result<bool> {
        let is_last = match self.words {
            Some(words) => self.count == words,
            None => self.is_at_end()?,
        };
        if is_last {
            self.word_at = self.at;
            let mut rest = Vec::new();
            let read = self.stream.by_ref().take(3).read_to_end(&mut rest);
            read.map_err(|error| Error::reading(&self.name, &error))?;
            return match rest[..] {
                [] | [b'\n'] | [b'\r', b'\n'] => Ok(false),
                _ => {
                    let message = format!("bytes follow the {} words announced", self.count);
                    Err(self
                        .refuse(Error::input(ErrorKind::TrailingBytes, message))
                        .with_hint(IGNORE_COUNT))
                }
            };
        }
        self.read_word(word)?;
        let read = self.stream.read_exact(&mut self.bytes);
        read.map_err(|error| self.failed(&error))?;
        self.at += self.bytes.len() as u64;
        for (bytes, to) in self.bytes.as_chunks::<4>().0.iter().zip(row) {
            *to = f32::from_le_bytes(*bytes);
        }
        self.count += 1;
        Ok(true)
    }

    fn refuse(&self, failure: Error) -> Error {
        failure.at(&self.name).at_byte(self.word_at)
    }

    fn bytes_read(&self) -> u64 {
        self.at
    }
}
