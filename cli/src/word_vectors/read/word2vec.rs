//! word2vec's binary form: a line with the numbers of words and columns; then for each word its bytes, a blank, and its
//! little-endian f32 numbers; some writers put a line end behind them.

use std::io::{BufRead, ErrorKind as IoErrorKind, Read};

use nanoembed_core::ErrorKind;
use nanoembed_core::format::finalfusion::MAX_WORD_BYTES;

use super::{MAX_COLS, Rows};
use crate::error::{Failure, Result};

/// The longest first line.
const MAX_SIZES_BYTES: u64 = 64;

/// The rows of a file.
pub(crate) struct Word2VecRows<R> {
    stream: R,
    name: String,
    cols: usize,
    words: u64,
    count: u64,
    /// Offset of the next byte, and of the current word.
    at: u64,
    word_at: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Word2VecRows<R> {
    /// Reads the sizes.
    pub(crate) fn open(stream: R, name: String) -> Result<Self> {
        let (cols, words, bytes) = (0, 0, Vec::new());
        let mut rows = Self { stream, name, cols, words, count: 0, at: 0, word_at: 0, bytes };
        let mut line = Vec::new();
        let mut limited = rows.stream.by_ref().take(MAX_SIZES_BYTES);
        let read = limited.read_until(b'\n', &mut line);
        rows.at = read.map_err(|error| Failure::reading(&rows.name, &error))? as u64;
        let sizes = str::from_utf8(&line).unwrap_or("");
        let mut sizes = sizes.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(words)), Some(Ok(cols)), None) = (sizes.next(), sizes.next(), sizes.next())
        else {
            let message = "expected the number of words and the number of columns";
            return Err(rows.refuse(Failure::bad_input(message)));
        };
        rows.cols = usize::try_from(cols).unwrap_or(usize::MAX);
        if rows.cols > MAX_COLS || (cols == 0 && words > 0) {
            let message = format!("no word vectors have {cols} columns");
            return Err(rows.refuse(Failure::input(ErrorKind::BadDimensions, message)));
        }
        rows.words = words;
        rows.bytes = vec![0; rows.cols * 4];
        Ok(rows)
    }

    fn ended(&self) -> Failure {
        let message = format!(
            "the first line announces {} words, but the file ends in word {}",
            self.words,
            self.count + 1
        );
        self.refuse(Failure::input(ErrorKind::UnexpectedEnd, message))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        if error.kind() == IoErrorKind::UnexpectedEof {
            return self.ended();
        }
        Failure::reading(&self.name, error)
    }

    fn read_word(&mut self, word: &mut Vec<u8>) -> Result<()> {
        word.clear();
        let mut limited = self.stream.by_ref().take(MAX_WORD_BYTES as u64 + 2);
        let read = limited.read_until(b' ', word);
        self.word_at = self.at;
        self.at += read.map_err(|error| Failure::reading(&self.name, &error))? as u64;
        if word.pop() != Some(b' ') {
            if word.len() > MAX_WORD_BYTES {
                let failure = Failure::input(ErrorKind::NameTooLong, "no blank ends this word");
                return Err(self.refuse(failure).hint("is this word2vec's binary form?"));
            }
            return Err(self.ended());
        }
        let blanks = word.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        word.drain(..blanks);
        Ok(())
    }
}

impl<R: BufRead> Rows for Word2VecRows<R> {
    fn cols(&self) -> usize {
        self.cols
    }

    fn next_row(&mut self, word: &mut Vec<u8>, row: &mut [f32]) -> Result<bool> {
        if self.count == self.words {
            self.word_at = self.at;
            let mut rest = Vec::new();
            let read = self.stream.by_ref().take(2).read_to_end(&mut rest);
            read.map_err(|error| Failure::reading(&self.name, &error))?;
            return match rest[..] {
                [] | [b'\n'] => Ok(false),
                _ => {
                    let message = format!("bytes follow the {} words announced", self.words);
                    Err(self.refuse(Failure::input(ErrorKind::TrailingBytes, message)))
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

    fn refuse(&self, failure: Failure) -> Failure {
        failure.at(&self.name).at(format_args!("byte {}", self.word_at))
    }

    fn bytes_read(&self) -> u64 {
        self.at
    }
}
