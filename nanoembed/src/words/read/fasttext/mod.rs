//! fastText models, `.bin` and quantised `.ftz`, little-endian as fastText writes them on all
//! machines of today.
//!
//! | part | content |
//! |---|---|
//! | start | `i32` magic 793712314, `i32` version up to 12 |
//! | arguments | twelve `i32` and one `f64`, see `Arguments` |
//! | dictionary | `i32` entries, `i32` words, `i32` labels, `i64` tokens, `i64` kept buckets or −1; an entry is its bytes, 0, `i64` count, `u8` 0 for words and 1 for labels; then for each kept bucket `i32` its number, `i32` its row |
//! | input | `u8` whether it is quantised, then the matrix (`matrix`): a row a word, then a row a bucket |
//! | output | not read: only classifiers and training need it |
//!
//! Models from before versions had numbers lack the start, the number of kept buckets, and the byte
//! before the matrix.
//!
//! Source: fastText 0.9.2, `src/{args,dictionary,fasttext}.cc`.

mod matrix;
mod ngrams;

use std::collections::HashMap;

use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::DROPPED;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use self::matrix::Matrix;
use crate::error::{Error, Result};
use crate::signature::fasttext::cursor::{self, Cursor};
use crate::signature::fasttext::{Arguments, MAGIC, is_of_old_form};
use crate::{hashed, units};

/// The end of a line, which has no n-grams.
const END_OF_LINE: &[u8] = b"</s>";

/// The offset of the number of buckets in the arguments.
const BUCKETS_AT: u64 = 40;
/// The most rows of buckets, in multiples of the file's size. A pruned model keeps a few of its
/// buckets, but a `.fifu` file has rows for all: fastText's usual 2 million with 100 columns are
/// 4000 times as much as a classifier of 200 kB.
const MAX_GROWTH: u64 = 4096;

/// The most numbers that are added up for the n-grams of all words: for each byte of the file, and
/// for a file of any size. Models with n-grams of up to six letters take some ten to a hundred for
/// each byte.
const WORK_PER_BYTE: u64 = 1 << 10;
const WORK_OF_ANY: u64 = 1 << 26;

/// A model, its words and vectors borrowed from the file.
#[derive(Debug)]
pub struct FastText<'f> {
    pub arguments: Arguments,
    /// The words with the offsets at which they stand.
    pub words: Vec<(&'f [u8], u64)>,
    /// The rows of the buckets that a quantised model has kept; `None` if it has all.
    kept: Option<HashMap<u32, u32>>,
    matrix: Matrix<'f>,
}

impl<'f> FastText<'f> {
    /// Reads everything but the vectors.
    pub fn parse(name: &str, file: &'f [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(file);
        Self::read(&mut cursor).map_err(|wrong| {
            let failure = Error::input(wrong.kind, wrong.message).at(name);
            match failure.is_no_memory() {
                true => failure,
                false => failure.at_byte(wrong.offset),
            }
        })
    }

    fn read(cursor: &mut Cursor<'f>) -> cursor::Result<Self> {
        let version = read_version(cursor)?;
        let mut arguments = Arguments::read(cursor)?;
        if version.is_none() && arguments.model == "Supervised" {
            let message = "a classifier of fastText from before versions had numbers";
            return Err(cursor.wrong_at(0, ErrorKind::UnsupportedVersion, message));
        }
        // Classifiers of version 11 say that they have n-grams, but were trained without.
        if version == Some(11) && arguments.model == "Supervised" {
            arguments.max_n = 0;
        }
        let entries = cursor.count()?;
        let words = cursor.count()?;
        let labels = cursor.count()?;
        if words.checked_add(labels) != Some(entries) {
            return Err(cursor.wrong(
                8,
                ErrorKind::BadCount,
                "words and labels are not all entries",
            ));
        }
        let _tokens: [u8; 8] = cursor.array()?;
        let kept = match version {
            Some(_) => i64::from_le_bytes(cursor.array()?),
            None => -1,
        };
        let words = read_entries(cursor, entries, words)?;
        let kept = match kept {
            ..0 => None,
            _ => Some(read_kept(cursor, kept, arguments.bucket)?),
        };
        let is_quantized = version.is_some() && cursor.array::<1>()? != [0];
        let at = cursor.offset();
        let matrix = Matrix::read(cursor, is_quantized)?;
        let buckets = kept.as_ref().map_or(u64::from(arguments.bucket), |kept| kept.len() as u64);
        if matrix.rows() != words.len() as u64 + buckets || matrix.cols() != arguments.dims {
            return Err(cursor.wrong_at(
                at,
                ErrorKind::WrongShape,
                format!(
                    "the matrix is {} × {}, but {} words, {buckets} buckets and {} dimensions are announced",
                    matrix.rows(), matrix.cols(), words.len(), arguments.dims
                ),
            ));
        }
        let model = Self { arguments, words, kept, matrix };
        model.check_growth(cursor)?;
        model.check_work(cursor)?;
        Ok(model)
    }

    /// Refuses numbers of buckets that are out of proportion to the file.
    fn check_growth(&self, cursor: &Cursor<'f>) -> cursor::Result<()> {
        let buckets = self.vocabulary(0).subwords.rows().unwrap_or(0);
        let bytes = buckets.saturating_mul(u64::from(self.cols()) * 4);
        if bytes <= cursor.file_bytes().saturating_mul(MAX_GROWTH) {
            return Ok(());
        }
        let message = format!(
            "{buckets} buckets would be rows of {}, more than {MAX_GROWTH} times the file's {}",
            units::bytes(bytes),
            units::bytes(cursor.file_bytes()),
        );
        Err(cursor.wrong_at(BUCKETS_AT, ErrorKind::BadCount, message))
    }

    /// Refuses words and lengths of n-grams whose work is out of proportion to the file.
    fn check_work(&self, cursor: &Cursor<'f>) -> cursor::Result<()> {
        let vocabulary = self.vocabulary(0);
        if vocabulary.subwords == Subwords::None {
            return Ok(());
        }
        let allowed = cursor.file_bytes().saturating_mul(WORK_PER_BYTE).saturating_add(WORK_OF_ANY);
        let row = u64::from(self.cols()).max(8);
        let mut work = 0_u64;
        for &(word, offset) in &self.words {
            work = work.saturating_add(ngrams::work(word, vocabulary.max_n).saturating_mul(row));
            if work > allowed {
                let message = format!(
                    "words up to this one of {} bytes have more n-grams of up to {} letters than a file of {} may \
                     have",
                    word.len(),
                    vocabulary.max_n,
                    units::bytes(cursor.file_bytes()),
                );
                return Err(cursor.wrong_at(offset, ErrorKind::BadCount, message));
            }
        }
        Ok(())
    }

    /// The length of a vector.
    pub const fn cols(&self) -> u32 {
        self.matrix.cols()
    }

    /// True if the model is a quantised one.
    pub const fn is_quantized(&self) -> bool {
        self.matrix.is_quantized()
    }

    /// The scheme of n-grams; the words are to be counted by the caller, who may leave some out.
    pub const fn vocabulary(&self, words: u32) -> WordVocabulary {
        let Arguments { bucket, min_n, max_n, .. } = self.arguments;
        let has_subwords = max_n > 0 && min_n <= max_n && bucket > 0;
        let min_n = if min_n == 0 { 1 } else { min_n };
        WordVocabulary {
            words,
            subwords: if has_subwords {
                Subwords::FastText { buckets: bucket }
            } else {
                Subwords::None
            },
            min_n: if has_subwords { min_n } else { 0 },
            max_n: if has_subwords { max_n } else { 0 },
            begin: Bracket::BEGIN,
            end: Bracket::END,
        }
    }

    /// The model's vector of word number `word`: the mean of its row and those of its n-grams.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn word(&self, word: usize, out: &mut [f32]) -> Result<(), CoreError> {
        out.fill(0.0);
        self.matrix.add(word as u64, out);
        let mut count = 1_u32;
        let text = self.words[word].0;
        let vocabulary = self.vocabulary(0);
        if text != END_OF_LINE && vocabulary.subwords != Subwords::None {
            ngrams::for_each(text, (vocabulary.min_n, vocabulary.max_n), |hash| {
                let bucket = hash % self.arguments.bucket;
                if self.add_bucket(bucket, out) {
                    count += 1;
                }
            })?;
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2²⁴ n-grams")]
        out.iter_mut().for_each(|value| *value /= count as f32);
        Ok(())
    }

    /// The vector of a bucket; that of a dropped one where a quantised model has not kept it.
    pub fn bucket(&self, bucket: u32, out: &mut [f32]) {
        out.fill(0.0);
        if !self.add_bucket(bucket, out) {
            out.fill(DROPPED);
        }
    }

    fn add_bucket(&self, bucket: u32, out: &mut [f32]) -> bool {
        let row = match &self.kept {
            None => Some(bucket),
            Some(kept) => kept.get(&bucket).copied(),
        };
        if let Some(row) = row {
            self.matrix.add(self.words.len() as u64 + u64::from(row), out);
        }
        row.is_some()
    }
}

/// The version at the start; `None` for a model from before there were any, which has no start.
fn read_version(cursor: &mut Cursor<'_>) -> cursor::Result<Option<u32>> {
    if is_of_old_form(cursor.file()) {
        return Ok(None);
    }
    if cursor.array()? != MAGIC {
        return Err(cursor.wrong(4, ErrorKind::BadMagic, "not a fastText model"));
    }
    let version = cursor.count()?;
    if version > 12 {
        let message = format!("fastText's version {version} is not known here");
        return Err(cursor.wrong(4, ErrorKind::UnsupportedVersion, message));
    }
    Ok(Some(version))
}

/// Words, then labels, which are passed over.
fn read_entries<'f>(
    cursor: &mut Cursor<'f>,
    entries: u32,
    words: u32,
) -> cursor::Result<Vec<(&'f [u8], u64)>> {
    let mut read = Vec::new();
    for entry in 0..entries {
        let at = cursor.offset();
        let word = cursor.until_zero()?;
        let _count: [u8; 8] = cursor.array()?;
        let is_label = cursor.array::<1>()? != [0];
        if is_label != (entry >= words) {
            return Err(cursor.wrong(
                1,
                ErrorKind::BadVocabulary,
                format!("expected a {}", if is_label { "word" } else { "label" }),
            ));
        }
        if !is_label {
            limit::push(&mut read, (word, at))?;
        }
    }
    Ok(read)
}

fn read_kept(
    cursor: &mut Cursor<'_>,
    count: i64,
    buckets: u32,
) -> cursor::Result<HashMap<u32, u32>> {
    let mut kept = HashMap::new();
    for _ in 0..count {
        let (bucket, row) = (cursor.count()?, cursor.count()?);
        let is_new = bucket < buckets && i64::from(row) < count && !kept.contains_key(&bucket);
        if !is_new {
            let message = "a bucket is kept twice, or is not one";
            return Err(cursor.wrong(8, ErrorKind::BadVocabulary, message));
        }
        hashed::insert(&mut kept, bucket, row)?;
    }
    Ok(kept)
}
