//! floret's text form: a line "buckets columns min max hashes seed begin end", then a line a
//! bucket, its number and its vector.

use std::io::BufRead;

use nanoembed_core::ErrorKind;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};

use super::lines::ByteLines;
use crate::error::Result;

/// The buckets of a file.
pub struct Floret<R> {
    lines: ByteLines<R>,
    /// The vocabulary that the first line describes.
    pub vocabulary: WordVocabulary,
    /// The number of buckets.
    pub buckets: u64,
    /// The length of a vector.
    pub cols: u32,
    count: u64,
}

impl<R: BufRead> Floret<R> {
    /// Reads the first line.
    pub fn open(stream: R, name: String) -> Result<Self> {
        let mut lines = ByteLines::new(stream, name);
        lines.advance()?;
        let Some((vocabulary, buckets, cols)) = first_line(lines.line()) else {
            let message =
                "expected buckets, columns, n-gram lengths, hashes, seed, and two brackets";
            return Err(lines.bad_as(ErrorKind::BadVocabulary, message));
        };
        Ok(Self { lines, vocabulary, buckets, cols, count: 0 })
    }

    /// Reads the next bucket's vector; `false` after the last.
    pub fn next_row(&mut self, row: &mut [f32]) -> Result<bool> {
        if !self.lines.advance()? {
            return match self.count == self.buckets {
                true => Ok(false),
                false => Err(self.lines.bad_as(
                    ErrorKind::UnexpectedEnd,
                    format!("expected {} buckets, but there are {}", self.buckets, self.count),
                )),
            };
        }
        let line = str::from_utf8(self.lines.line());
        let line =
            line.map_err(|_| self.lines.bad_as(ErrorKind::InvalidUtf8, "not valid UTF-8"))?;
        let mut fields = line.split_ascii_whitespace();
        if fields.next().and_then(|number| number.parse().ok()) != Some(self.count)
            || self.count == self.buckets
        {
            let expected = match self.count == self.buckets {
                true => "no more buckets".into(),
                false => format!("bucket {}", self.count),
            };
            return Err(self.lines.bad(format!("expected {expected}")));
        }
        let mut rest = row.iter_mut();
        for field in fields {
            let number = self.lines.parse_number(field.as_bytes())?;
            match rest.next() {
                Some(to) => *to = number,
                None => return Err(self.lines.bad(format!("more than {} numbers", self.cols))),
            }
        }
        if rest.next().is_some() {
            return Err(self.lines.bad(format!("fewer than {} numbers", self.cols)));
        }
        self.count += 1;
        Ok(true)
    }

    /// The bytes of the file that have been read.
    pub const fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

fn first_line(line: &[u8]) -> Option<(WordVocabulary, u64, u32)> {
    let mut fields = str::from_utf8(line).ok()?.split(' ');
    let mut next = || fields.next();
    let [buckets, cols, min_n, max_n] = [next()?, next()?, next()?, next()?];
    let [hashes, seed, begin, end] = [next()?, next()?, next()?, next()?];
    if next().is_some() {
        return None;
    }
    let number = |field: &str| field.parse::<u32>().ok();
    let buckets: u64 = buckets.parse().ok().filter(|&buckets| buckets > 0)?;
    let hashes = number(hashes).filter(|hashes| (1..=4).contains(hashes))?;
    let min_n = number(min_n).filter(|&min_n| min_n > 0)?;
    let vocabulary = WordVocabulary {
        words: 0,
        subwords: Subwords::Floret { buckets, hashes, seed: number(seed)? },
        min_n,
        max_n: number(max_n).filter(|&max_n| max_n >= min_n)?,
        begin: Bracket::new(begin)?,
        end: Bracket::new(end)?,
    };
    Some((
        vocabulary,
        buckets,
        number(cols).filter(|&cols| cols > 0 && cols as usize <= crate::signature::MAX_COLS)?,
    ))
}
