//! Readers of foreign files. Rows, a word and its numbers each, are streamed.

pub mod fasttext;
pub mod floret;
pub mod lines;
pub mod start;
pub mod text;
pub mod word2vec;

use crate::error::{Error, Result};

/// The hint where a first line's number of words is not that of the rows.
const IGNORE_COUNT: &str = "`nanoembed convert` with `--ignore-count` takes the rows that are there, with `--first N` only the first N";

/// A file of rows, a word and its numbers each.
pub trait WordRows {
    /// The number of elements of a row.
    fn cols(&self) -> usize;

    /// Reads the next row; `false` at the end.
    fn next_row(&mut self, word: &mut Vec<u8>, row: &mut [f32]) -> Result<bool>;

    /// A failure of the row that came last: its place in the file.
    fn refuse(&self, failure: Error) -> Error;

    /// The bytes of the file that have been read.
    fn bytes_read(&self) -> u64;
}
