//! Writes a file in one pass and without allocating: a [`FinalfusionPlan`] determines all sizes; words,
//! n-grams and bulk data are passed through.

mod plan;

pub use self::plan::{FinalfusionPlan, StorageSpec};
use super::decoder::BrokenUtf8;
use super::grammar::{
    self, CHUNK_HEADER_BYTES, MAGIC, MAX_WORD_BYTES, TYPE_F32, TYPE_U8, id, padding,
};
use crate::bytes::{Item, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;
use crate::subword::{MAX_BRACKET_BYTES, Subwords, WordVocabulary};

/// The largest number of bytes of a vocabulary before its words.
const MAX_VOCABULARY_HEADER_BYTES: usize = 24 + 2 * (4 + MAX_BRACKET_BYTES);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Vocabulary,
    Storage,
    Norms,
    Complete,
}

/// Writes one file: [`new`](Self::new) writes header and metadata; then come all
/// [`word`](Self::word)s, all [`ngram`](Self::ngram)s, the [`data`](Self::data) of storage and
/// norms, and [`finish`](Self::finish).
pub struct FinalfusionWriter<'p, S> {
    plan: FinalfusionPlan<'p>,
    sink: S,
    position: u64,
    stage: Stage,
    words_left: u32,
    ngrams_left: u32,
    word_bytes_left: u64,
    ngram_bytes_left: u64,
    data_left: u64,
}

impl<'p, S: Sink> FinalfusionWriter<'p, S> {
    /// Writes everything before the words.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the format cannot hold the plan, or its numbers of words,
    /// buckets and rows are inconsistent; any error from the sink.
    pub fn new(plan: FinalfusionPlan<'p>, sink: S) -> Result<Self> {
        plan.check()?;
        let mut fields = Fields::default();
        vocabulary_fields(&plan.vocabulary, &mut fields);
        // Anything that the grammar would reject is not written.
        match parse(grammar::vocabulary(plan.vocabulary_id()), fields.written(), 0) {
            Ok(Item::Parsed { item: (item, _), .. }) if same(&item, &plan.vocabulary) => {}
            _ => return Err(invalid()),
        }
        let mut writer = Self {
            plan,
            sink,
            position: 0,
            stage: Stage::Vocabulary,
            words_left: plan.vocabulary.words,
            ngrams_left: plan.ngrams(),
            word_bytes_left: plan.word_bytes,
            ngram_bytes_left: plan.ngram_bytes,
            data_left: 0,
        };
        writer.file_header()?;
        if let Some(metadata) = plan.metadata {
            writer.chunk_header(id::METADATA, metadata.len() as u64)?;
            writer.put(metadata.as_bytes())?;
        }
        let words = plan.word_bytes + 4 * u64::from(plan.vocabulary.words);
        let ngrams = plan.ngram_bytes + 12 * u64::from(plan.ngrams());
        let header = fields.written().len() as u64;
        writer.chunk_header(plan.vocabulary_id(), header + words + ngrams)?;
        writer.put(fields.written())?;
        writer.advance()?;
        Ok(writer)
    }

    /// Writes the next word.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if all words have been written; [`ErrorKind::NameTooLong`];
    /// [`ErrorKind::InvalidUtf8`] unless the plan allows it; [`ErrorKind::SizeMismatch`] if words
    /// are longer than planned; any error from the sink.
    pub fn word(&mut self, word: &[u8]) -> Result<()> {
        self.words_left = self.words_left.checked_sub(1).ok_or(invalid())?;
        self.word_bytes_left = self.take_string(word, self.word_bytes_left)?;
        self.advance()
    }

    /// Writes the next n-gram with its index, counted from the first subword row.
    ///
    /// # Errors
    ///
    /// As [`word`](Self::word), and [`ErrorKind::InvalidArgument`] if words are missing.
    pub fn ngram(&mut self, ngram: &[u8], index: u64) -> Result<()> {
        if self.words_left > 0 {
            return Err(invalid());
        }
        self.ngrams_left = self.ngrams_left.checked_sub(1).ok_or(invalid())?;
        self.ngram_bytes_left = self.take_string(ngram, self.ngram_bytes_left)?;
        self.put(&index.to_le_bytes())?;
        self.advance()
    }

    /// Writes the next bytes of bulk data: the storage's parts in the order of [`StorageSpec`],
    /// then the norms, cut anywhere, without padding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if words or n-grams are missing, or if there is more data
    /// than planned; any error from the sink.
    pub fn data(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = usize::try_from(self.data_left).unwrap_or(usize::MAX);
            if self.stage == Stage::Vocabulary || room == 0 {
                return Err(invalid());
            }
            let (part, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.put(part)?;
            self.data_left -= part.len() as u64;
            rest = after;
            self.advance()?;
        }
        Ok(())
    }

    /// Returns the sink.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if anything is missing.
    pub fn finish(self) -> Result<S> {
        if self.stage == Stage::Complete {
            Ok(self.sink)
        } else {
            Err(Error::new(self.position, ErrorKind::SizeMismatch))
        }
    }

    fn file_header(&mut self) -> Result<()> {
        let plan = self.plan;
        let metadata = plan.metadata.map(|_| id::METADATA);
        let norms = (plan.norms && plan.norms_listed).then_some(id::NORMS);
        let chunks = [metadata, Some(plan.vocabulary_id()), Some(plan.storage.id()), norms];
        self.put(MAGIC)?;
        self.put(&0_u32.to_le_bytes())?;
        let count = u32::try_from(chunks.iter().flatten().count()).unwrap_or(0);
        self.put(&count.to_le_bytes())?;
        chunks.into_iter().flatten().try_for_each(|id| self.put(&id.to_le_bytes()))
    }

    fn chunk_header(&mut self, id: u32, bytes: u64) -> Result<()> {
        self.put(&id.to_le_bytes())?;
        self.put(&bytes.to_le_bytes())
    }

    /// Proceeds to the next chunk when this one is complete.
    fn advance(&mut self) -> Result<()> {
        loop {
            self.stage = match self.stage {
                Stage::Vocabulary if self.words_left == 0 && self.ngrams_left == 0 => {
                    if self.word_bytes_left != 0 || self.ngram_bytes_left != 0 {
                        return Err(Error::new(self.position, ErrorKind::SizeMismatch));
                    }
                    self.storage_header()?;
                    Stage::Storage
                }
                Stage::Storage if self.data_left == 0 && self.plan.norms => {
                    self.norms_header()?;
                    Stage::Norms
                }
                Stage::Storage | Stage::Norms if self.data_left == 0 => Stage::Complete,
                _ => return Ok(()),
            };
        }
    }

    fn storage_header(&mut self) -> Result<()> {
        let mut fields = Fields::default();
        match self.plan.storage {
            StorageSpec::Array { rows, cols } => {
                fields.put(&rows.to_le_bytes());
                fields.word(cols);
                fields.word(TYPE_F32);
            }
            StorageSpec::Quantized { rows, cols, codes_per_row, centroids, projection, norms } => {
                let start = [projection.into(), norms.into(), codes_per_row, cols, centroids];
                start.into_iter().for_each(|field| fields.word(field));
                fields.put(&rows.to_le_bytes());
                fields.word(TYPE_U8);
                fields.word(TYPE_F32);
            }
        }
        let bytes = self.plan.storage.data_bytes().ok_or(invalid())?;
        self.bulk_header(self.plan.storage.id(), &fields, bytes)
    }

    fn norms_header(&mut self) -> Result<()> {
        let words = u64::from(self.plan.vocabulary.words);
        let mut fields = Fields::default();
        fields.put(&words.to_le_bytes());
        fields.word(TYPE_F32);
        self.bulk_header(id::NORMS, &fields, words * 4)
    }

    fn bulk_header(&mut self, id: u32, fields: &Fields, data_bytes: u64) -> Result<()> {
        let fields = fields.written();
        let padding = padding(self.position + CHUNK_HEADER_BYTES as u64 + fields.len() as u64);
        self.chunk_header(id, fields.len() as u64 + padding + data_bytes)?;
        self.put(fields)?;
        self.data_left = data_bytes;
        (0..padding).try_for_each(|_| self.put(&[0]))
    }

    /// Writes a string and returns the rest of the planned bytes.
    fn take_string(&mut self, string: &[u8], planned: u64) -> Result<u64> {
        let at = |kind| Error::new(self.position, kind);
        let length = u32::try_from(string.len()).map_err(|_| at(ErrorKind::NameTooLong))?;
        if string.len() > MAX_WORD_BYTES {
            return Err(at(ErrorKind::NameTooLong));
        }
        if self.plan.broken_utf8 == BrokenUtf8::Error && core::str::from_utf8(string).is_err() {
            return Err(at(ErrorKind::InvalidUtf8));
        }
        let left = planned.checked_sub(length.into()).ok_or(at(ErrorKind::SizeMismatch))?;
        self.put(&length.to_le_bytes())?;
        self.put(string)?;
        Ok(left)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// The fixed fields of a chunk.
struct Fields {
    bytes: [u8; MAX_VOCABULARY_HEADER_BYTES],
    length: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self { bytes: [0; MAX_VOCABULARY_HEADER_BYTES], length: 0 }
    }
}

impl Fields {
    fn put(&mut self, field: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(self.length).zip(field) {
            *to = *from;
        }
        self.length += field.len();
    }

    fn word(&mut self, field: u32) {
        self.put(&field.to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        self.word(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.put(text.as_bytes());
    }

    fn written(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

/// The fields before the words, in the order of the reference, not that of the specification.
fn vocabulary_fields(vocabulary: &WordVocabulary, fields: &mut Fields) {
    let lengths = [vocabulary.min_n, vocabulary.max_n];
    let words = u64::from(vocabulary.words).to_le_bytes();
    match vocabulary.subwords {
        Subwords::None => fields.put(&words),
        Subwords::Buckets { exponent: buckets } | Subwords::FastText { buckets } => {
            fields.put(&words);
            lengths.into_iter().chain([buckets]).for_each(|field| fields.word(field));
        }
        Subwords::Explicit { ngrams } => {
            fields.put(&words);
            fields.put(&u64::from(ngrams).to_le_bytes());
            lengths.into_iter().for_each(|field| fields.word(field));
        }
        Subwords::Floret { buckets, hashes, seed } => {
            lengths.into_iter().for_each(|field| fields.word(field));
            fields.put(&buckets.to_le_bytes());
            fields.word(hashes);
            fields.word(seed);
            fields.string(vocabulary.begin.as_str());
            fields.string(vocabulary.end.as_str());
        }
    }
}

/// Returns true if the format preserves all of `planned`; a vocabulary without subwords has neither
/// lengths nor brackets.
fn same(read: &WordVocabulary, planned: &WordVocabulary) -> bool {
    match planned.subwords {
        Subwords::None => read.words == planned.words,
        _ => read == planned,
    }
}

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}
