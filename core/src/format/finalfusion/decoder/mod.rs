//! The sans-I/O decoder: chunk by chunk, in the only order that readers of this format accept.

mod storage;
mod trailer;
mod vocabulary;

use self::storage::Parts;
use self::vocabulary::Entries;
use super::grammar::{self, CHUNK_HEADER_BYTES, MAGIC, id};
use super::layout::{Chunk, FinalfusionLayout, FinalfusionPlace, Storage};
use crate::bytes::{parse, within};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, Step, Version, advance};
use crate::subword::WordVocabulary;

/// The largest number of chunks in a file.
const MAX_CHUNKS: usize = 4;

/// The offset of the number of chunks.
const CHUNK_COUNT_OFFSET: u64 = 8;

/// The treatment of words that are not valid UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BrokenUtf8 {
    /// The file is rejected, as both reference readers do.
    #[default]
    Error,
    /// They are kept as bytes.
    Bytes,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Start,
    ChunkList {
        next: u32,
        count: u32,
    },
    ChunkHeader,
    Document {
        until: u64,
    },
    VocabularyHeader,
    Words {
        next: u32,
    },
    Ngrams {
        next: u32,
    },
    StorageHeader,
    /// Before, between and after the parts of a chunk with bulk data.
    Bulk,
    /// After the storage: the end, or another chunk's header, collected byte by byte because the
    /// file may end here.
    Trailer {
        gathered: u8,
        header: [u8; CHUNK_HEADER_BYTES],
    },
    NormsHeader,
    /// An unknown chunk after the storage.
    Unknown {
        until: u64,
    },
    /// After the norms.
    Complete,
}

/// Decodes `.fifu` files.
///
/// ```
/// use nanoembed_core::event::{Decode, Event, Mode};
/// use nanoembed_core::format::finalfusion::FinalfusionDecoder;
///
/// // One word, "ok", with a vector of one number, 1.
/// let file = b"FiFu\0\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\
///     \x01\0\0\0\x0e\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0ok\
///     \x02\0\0\0\x16\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x0a\0\0\0\0\0\
///     \0\0\x80\x3f";
/// let mut decoder = FinalfusionDecoder::new(Mode::Strict);
/// let mut rest = &file[..];
/// let mut words = 0;
/// loop {
///     let step = decoder.next(rest)?;
///     rest = &rest[step.used..];
///     match step.event {
///         Some(Event::Token { .. }) => words += 1,
///         Some(Event::End) => break,
///         _ => {}
///     }
/// }
/// assert_eq!(words, 1);
/// assert_eq!(decoder.layout().unwrap().storage.cols(), 1);
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FinalfusionDecoder {
    mode: Mode,
    broken_utf8: BrokenUtf8,
    offset: u64,
    state: State,
    failed: Option<Error>,
    deviation: Option<Error>,
    /// The first identifiers of the header's list, and how many it has.
    listed: [u32; MAX_CHUNKS],
    listed_count: u32,
    chunks: [Option<Chunk>; MAX_CHUNKS],
    metadata: Option<FinalfusionPlace>,
    vocabulary: Option<WordVocabulary>,
    entries: Entries,
    storage: Option<Storage>,
    norms: Option<u64>,
    /// The parts of the chunk that is being read, in the state `Bulk`.
    parts: Parts,
}

impl FinalfusionDecoder {
    /// A decoder at the start of a file, which rejects invalid UTF-8.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self {
            mode,
            broken_utf8: BrokenUtf8::Error,
            offset: 0,
            state: State::Start,
            failed: None,
            deviation: None,
            listed: [0; MAX_CHUNKS],
            listed_count: 0,
            chunks: [None; MAX_CHUNKS],
            metadata: None,
            vocabulary: None,
            entries: Entries::new(),
            storage: None,
            norms: None,
            parts: Parts::new(0, false),
        }
    }

    /// Sets the treatment of words and n-grams that are not valid UTF-8.
    #[must_use]
    pub const fn broken_utf8(mut self, policy: BrokenUtf8) -> Self {
        self.broken_utf8 = policy;
        self
    }

    /// The layout; `None` before vocabulary and storage have been seen, so never at the end of a
    /// valid file. It includes the norms once they have been seen.
    #[must_use]
    pub fn layout(&self) -> Option<FinalfusionLayout> {
        let norms_listed =
            self.listed.iter().take(self.listed_count as usize).any(|&id| id == id::NORMS);
        Some(FinalfusionLayout {
            metadata: self.metadata,
            vocabulary: self.vocabulary?,
            words: self.entries.words,
            ngrams: self.entries.ngrams,
            distinct_ngram_indices: self.entries.distinct_indices(),
            storage: self.storage?,
            norms: self.norms,
            norms_listed,
            chunks: self.chunks,
        })
    }

    /// The first deviation from the format that lenient mode has accepted: the error of strict mode.
    #[must_use]
    pub fn deviation(&self) -> Option<Error> {
        let missing = self.is_complete() && !self.is_all_announced();
        let missing = missing.then_some(Error::new(self.offset, ErrorKind::UnexpectedEnd));
        self.deviation.or(missing)
    }

    /// Returns an error in strict mode and records it in lenient mode.
    fn deviate(&mut self, offset: u64, kind: ErrorKind) -> Result<()> {
        let error = Error::new(offset, kind);
        if self.mode == Mode::Strict {
            return Err(error);
        }
        self.deviation.get_or_insert(error);
        Ok(())
    }

    fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        match self.state {
            State::Start => self.start(input),
            State::ChunkList { next, count } => self.chunk_list(input, next, count),
            State::ChunkHeader => self.chunk_header(input),
            State::Document { until } => self.document(input, until),
            State::VocabularyHeader => self.vocabulary_header(input),
            State::Words { next } => self.word(input, next),
            State::Ngrams { next } => self.ngram(input, next),
            State::StorageHeader => self.storage_header(input),
            State::Bulk => self.bulk(input),
            State::Trailer { gathered, header } => self.trailer(input, gathered, header),
            State::NormsHeader => self.norms_header(input),
            State::Unknown { until } => self.unknown(input, until),
            State::Complete => self.complete(input),
        }
    }

    fn start<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let known = input.len().min(MAGIC.len());
        if input.get(..known) != MAGIC.get(..known) {
            return Err(Error::new(0, ErrorKind::BadMagic));
        }
        let (count, used) = parsed!(parse(grammar::file_header, input, 0)?);
        if count as usize > MAX_CHUNKS {
            self.deviate(CHUNK_COUNT_OFFSET, ErrorKind::BadCount)?;
        }
        self.listed_count = count;
        self.state = State::ChunkList { next: 0, count };
        let info = FileInfo {
            format: Format::Finalfusion,
            variant: "",
            version: Version::new(0, 0),
            tensors: None,
            file_bytes: None,
        };
        Ok(Step::new(used, Event::Header(info)))
    }

    fn chunk_list<'a>(&mut self, input: &'a [u8], next: u32, count: u32) -> Result<Step<'a>> {
        if next == count {
            self.state = State::ChunkHeader;
            return Ok(Step::silent(0));
        }
        let (listed, used) = parsed!(parse(crate::bytes::le_u32, input, self.offset)?);
        if !id::is_known(listed) {
            self.deviate(self.offset, ErrorKind::BadChunk)?;
        }
        if let Some(slot) = self.listed.get_mut(next as usize) {
            *slot = listed;
        }
        self.state = State::ChunkList { next: next.saturating_add(1), count };
        Ok(Step::silent(used))
    }

    /// A chunk before the storage, or the storage.
    fn chunk_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        let ((found, bytes), used) = parsed!(parse(grammar::chunk_header, input, offset)?);
        let payload = offset.saturating_add(used as u64);
        let state = if self.vocabulary.is_some() && id::is_storage(found) {
            State::StorageHeader
        } else if self.vocabulary.is_none() && id::is_vocabulary(found) {
            State::VocabularyHeader
        } else if found == id::METADATA && self.chunks.iter().all(Option::is_none) {
            let until = payload
                .checked_add(bytes)
                .ok_or(Error::new(offset.saturating_add(4), ErrorKind::OutOfBounds))?;
            self.metadata = Some(FinalfusionPlace { offset: payload, bytes });
            State::Document { until }
        } else {
            return Err(Error::new(offset, ErrorKind::BadChunk));
        };
        self.enter_chunk(found, offset, bytes)?;
        self.state = state;
        Ok(Step::silent(used))
    }

    /// Records a chunk whose header is at `offset`; the list in the header should contain it.
    fn enter_chunk(&mut self, id: u32, offset: u64, declared_bytes: u64) -> Result<()> {
        let place = self.chunks.iter().position(Option::is_none);
        let announced = place
            .filter(|&place| place < self.listed_count as usize)
            .and_then(|place| self.listed.get(place));
        if announced != Some(&id) {
            self.deviate(offset, ErrorKind::BadChunk)?;
        }
        if let Some(slot) = place.and_then(|place| self.chunks.get_mut(place)) {
            *slot = Some(Chunk { id, offset, declared_bytes, payload_bytes: 0 });
        }
        Ok(())
    }

    /// Ends a chunk whose payload ends at the absolute `end`, which its declared length should
    /// match.
    fn leave_chunk(&mut self, end: u64) -> Result<()> {
        let Some(chunk) = self.chunks.iter_mut().rev().flatten().next() else { return Ok(()) };
        let payload = chunk.offset.saturating_add(CHUNK_HEADER_BYTES as u64);
        chunk.payload_bytes = end.saturating_sub(payload);
        let length_offset = chunk.offset.saturating_add(4);
        if chunk.declared_bytes == chunk.payload_bytes {
            return Ok(());
        }
        self.deviate(length_offset, ErrorKind::SizeMismatch)
    }

    /// Metadata, in pieces that end between two characters.
    fn document<'a>(&mut self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        let offset = self.offset;
        if offset == until {
            self.leave_chunk(until)?;
            self.state = State::ChunkHeader;
            return Ok(Step::silent(0));
        }
        let piece = within(input, offset, until);
        let error = match core::str::from_utf8(piece) {
            Ok("") => return Ok(Step::need_more(1)),
            Ok(text) => return Ok(Step::new(text.len(), Event::Document { offset, text })),
            Err(error) => error,
        };
        let (valid, rest) = piece.split_at_checked(error.valid_up_to()).unwrap_or((&[], piece));
        if let Ok(text) = core::str::from_utf8(valid)
            && !text.is_empty()
        {
            return Ok(Step::new(text.len(), Event::Document { offset, text }));
        }
        let ends_inside = offset.saturating_add(rest.len() as u64) < until;
        if error.error_len().is_none() && ends_inside {
            return Ok(Step::need_more(rest.len().saturating_add(1)));
        }
        Err(Error::new(offset, ErrorKind::InvalidUtf8))
    }
}

impl Decode for FinalfusionDecoder {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.step(input);
        advance(step, &mut self.offset, &mut self.failed)
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn skippable(&self) -> u64 {
        match (&self.state, self.failed) {
            (State::Bulk, None) => self.parts.skippable(self.offset),
            (State::Unknown { until }, None) => until.saturating_sub(self.offset),
            _ => 0,
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        self.offset = self.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        // Lenient mode ignores the bytes after the storage.
        let may_end = self.mode == Mode::Lenient || self.is_all_announced();
        let is_after_storage =
            matches!(self.state, State::Complete | State::Trailer { .. } | State::Unknown { .. });
        self.failed.is_none() && may_end && is_after_storage
    }
}
