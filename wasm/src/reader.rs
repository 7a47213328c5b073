//! A file's bytes on their way in: as they arrive, or as they are asked for.
//!
//! The decoders look at bytes where they lie. A reader that keeps them is one growing buffer:
//! JavaScript writes each piece of a download to its end, and the decoder goes on in the same
//! place; there is no second copy, and nothing is carried from one piece to the next. A reader that
//! does not keep them drops what the decoder has seen.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use nanoembed_core::event::{Event, Format, Mode};
use nanoembed_core::format::{SNIFF_BYTES, sniff};
use nanoembed_core::owned::{EncoderFile, TableFile};
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use crate::decoder::{Decoder, Depth};
use crate::failure::{Failure, Result};
use crate::file_summary::FileSummary;
use crate::leaf::{self, Part};
#[cfg(feature = "inspect")]
use crate::report::Report;

/// The purpose for which a file is read.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Keep all of it, to be used; look at every byte.
    Load,
    /// Keep what the decoder wants to see, and pass over the rest.
    Open,
    /// Keep nothing, report what header and index say.
    Inspect,
    /// Keep nothing, look at every byte.
    Verify,
}

/// A stretch of the file that was kept.
#[derive(Debug, Default)]
pub(crate) struct Region {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Region {
    /// The offset after its last byte.
    pub(crate) const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes.len() as u64)
    }
}

/// Reads one file.
#[wasm_bindgen]
pub struct Reader {
    purpose: Purpose,
    mode: Mode,
    /// `None` before the file's first bytes are there.
    decoder: Option<Decoder>,
    format: Option<Format>,
    /// The file's length, where it is known.
    length: Option<u64>,
    /// The bytes that are being looked at.
    window: Region,
    /// Stretches before the window that were kept.
    #[cfg(feature = "words")]
    kept: Vec<Region>,
    /// How many bytes must follow before there is anything to do.
    at_least: usize,
    summary: FileSummary,
    /// The report on the file, for readers that inspect.
    #[cfg(feature = "inspect")]
    report: Report,
    /// The static model that the file was found to hold.
    table: Option<Part<leaf::Table, TableFile<()>>>,
    /// True if the file has ended or has its announced number of bytes, and is valid.
    complete: bool,
}

#[wasm_bindgen]
impl Reader {
    /// A reader at the start of a file; `length` is negative where it is not known.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(purpose: Purpose, strict: bool, length: f64) -> Self {
        Self {
            purpose,
            mode: if strict { Mode::Strict } else { Mode::Lenient },
            decoder: None,
            format: None,
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            length: (length >= 0.0).then_some(length as u64),
            window: Region::default(),
            #[cfg(feature = "words")]
            kept: Vec::new(),
            at_least: SNIFF_BYTES,
            summary: FileSummary::default(),
            #[cfg(feature = "inspect")]
            report: Report::default(),
            table: None,
            complete: false,
        }
    }

    /// Makes room for a file that is kept, of `bytes`, so that nothing has to be moved as it grows.
    ///
    /// # Errors
    ///
    /// `buffer_too_small` if there is not as much memory.
    #[cfg(any(
        feature = "embed",
        feature = "static",
        feature = "encoders",
        feature = "words",
        feature = "causal"
    ))]
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        let more = bytes.saturating_sub(self.window.bytes.len());
        let reserved = self.window.bytes.try_reserve_exact(more);
        reserved.map_err(|_| ErrorKind::BufferTooSmall.into())
    }

    /// The address where the next `bytes` bytes belong, until the next call.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn room(&mut self, bytes: usize) -> Result<usize> {
        let buffer = &mut self.window.bytes;
        buffer.try_reserve(bytes).map_err(|_| ErrorKind::BufferTooSmall)?;
        let end = buffer.len();
        buffer.resize(end.saturating_add(bytes), 0);
        Ok(buffer.as_ptr().addr().saturating_add(end))
    }

    /// Looks at what was written to the room.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the file.
    pub fn advance(&mut self) -> Result<()> {
        if self.decoder.is_none() {
            if self.window.bytes.len() < SNIFF_BYTES && self.length != Some(self.end()) {
                return Ok(());
            }
            self.choose()?;
        }
        let result = self.decode();
        self.drop_seen();
        result
    }

    /// Declares that no more bytes come.
    ///
    /// # Errors
    ///
    /// The fault of the file if it ends here.
    pub fn finish(&mut self) -> Result<()> {
        let end = self.end();
        match self.length {
            // A source that gives up early.
            Some(length) if length > end => {
                return Err(Error::new(end, ErrorKind::SourceChanged).into());
            }
            _ => self.length = Some(end),
        }
        self.advance()?;
        if self.complete { Ok(()) } else { Err(Error::new(end, ErrorKind::UnexpectedEnd).into()) }
    }

    /// The offset of the byte that is wanted next: later than the last if some are of no interest.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn wanted(&self) -> f64 {
        self.end() as f64
    }

    /// The size of the whole file as its header gives it, 0 if it does not.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "files are shorter than 2⁵³")]
    pub fn file_bytes(&self) -> f64 {
        self.summary.file_bytes() as f64
    }

    /// The format's name, once it is known.
    #[must_use]
    pub fn format(&self) -> Option<String> {
        self.format.map(|format| format.name().into())
    }

    /// Returns true if the file holds a causal model, for which there is another module; known
    /// after the first tensor.
    #[cfg(any(feature = "embed", feature = "static"))]
    #[must_use]
    pub fn holds_decoder(&self) -> Option<bool> {
        self.summary.has_decoder()
    }

    /// Returns true if the file needs the module for encoders of all families: it keeps the texts
    /// of a folder, has named prompts, or is an encoder where a causal model was expected.
    #[cfg(any(
        feature = "embed",
        feature = "static",
        feature = "encoder-weights",
        feature = "encoder-gguf",
        feature = "causal"
    ))]
    #[must_use]
    pub fn needs_encoders(&mut self) -> bool {
        if let Ok(leaf) = leaf::Table::built_in() {
            let table = TableFile::open(&self.window.bytes).ok();
            self.table = table.map(|table| Part::new(leaf, table.with_file(())));
            if self.table.is_some() {
                return false;
            }
        }
        if leaf::File::built_in().is_ok() && EncoderFile::is_in(&self.window.bytes) {
            return false;
        }
        if cfg!(any(feature = "embed", feature = "causal")) {
            let source = ModelSource::parse(&self.window.bytes);
            return source
                .is_ok_and(|source| source.has_folder_texts() || is_other_encoder(&source));
        }
        // Files of other formats have not come this far.
        cfg!(not(feature = "encoder-gguf"))
    }

    /// The report on the file as JSON, of a reader that inspects.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn report(&mut self) -> String {
        let decoder = self.decoder.as_ref();
        let data = decoder.map_or(0, Decoder::data_offset);
        self.report.json(data, decoder.and_then(Decoder::first_document_bytes))
    }
}

/// For files that are read in parts.
#[cfg(any(feature = "inspect", feature = "words"))]
#[wasm_bindgen]
impl Reader {
    /// Returns true if all of the file that the purpose needs has been read and is valid.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// How many bytes are wanted there at least.
    #[must_use]
    pub fn at_least(&self) -> usize {
        let there = self.window.bytes.len();
        self.at_least.saturating_sub(there).max(1)
    }
}

/// Returns true if a file without the texts of a folder has an encoder that the module for sentence
/// models does not run: one with named prompts, or in GGUF.
fn is_other_encoder(source: &ModelSource<'_>) -> bool {
    match source {
        ModelSource::Gguf(_) => !source.is_causal(),
        source => cfg!(feature = "embed") && source.has_prompts(),
    }
}

impl Reader {
    /// The offset after the last byte that is there.
    fn end(&self) -> u64 {
        self.window.end()
    }

    fn choose(&mut self) -> Result<()> {
        let unknown = Error::new(0, ErrorKind::UnknownFormat);
        self.start(sniff(&self.window.bytes).ok_or(unknown)?)
    }

    /// Starts to decode, from the beginning, which is still in the window.
    fn start(&mut self, format: Format) -> Result<()> {
        let depth = match self.purpose {
            Purpose::Open | Purpose::Inspect => Depth::Index,
            Purpose::Load | Purpose::Verify => Depth::Everything,
        };
        self.decoder = Some(Decoder::new(format, self.mode, depth)?);
        self.format = Some(format);
        self.summary = FileSummary::default();
        #[cfg(feature = "inspect")]
        {
            self.report = Report::default();
        }
        Ok(())
    }

    /// Returns true if bulk data is skipped.
    fn skips(&self) -> bool {
        matches!(self.purpose, Purpose::Open | Purpose::Inspect)
    }

    fn decode(&mut self) -> Result<()> {
        let skips = self.skips();
        loop {
            let Self { decoder: Some(decoder), window, summary, length, .. } = self else {
                return Err(ErrorKind::Finished.into());
            };
            if skips && summary.header_is_read() {
                decoder.skip(length.unwrap_or(u64::MAX));
            }
            let offset = decoder.offset();
            let start = usize::try_from(offset.saturating_sub(window.offset)).unwrap_or(usize::MAX);
            let rest = window.bytes.get(start..).unwrap_or(&[]);
            let step = decoder.next(rest).map_err(Failure::from)?;
            match step.event {
                None => {}
                Some(Event::NeedMore { at_least }) => {
                    let there = offset.saturating_add(rest.len() as u64);
                    if Some(there) == *length {
                        return Err(Error::new(decoder.offset(), ErrorKind::UnexpectedEnd).into());
                    }
                    self.at_least = at_least;
                    return Ok(());
                }
                Some(Event::End) => {
                    // What follows, if anything does, is for the decoder to judge.
                    self.complete = *length == Some(decoder.offset());
                    self.at_least = 1;
                    return Ok(());
                }
                Some(event) => {
                    summary.add(&event);
                    #[cfg(feature = "inspect")]
                    if self.purpose == Purpose::Inspect {
                        self.report.add(&event);
                    }
                    if summary.found_uqff() && self.format == Some(Format::Safetensors) {
                        self.start(Format::Uqff)?;
                    }
                }
            }
        }
    }

    /// Drops what the decoder has seen, or keeps it apart where bytes are passed over.
    fn drop_seen(&mut self) {
        let Some(decoder) = &mut self.decoder else { return };
        if self.purpose == Purpose::Load || !self.summary.header_is_read() {
            return;
        }
        let next = decoder.offset();
        #[cfg(feature = "words")]
        if self.purpose == Purpose::Open {
            if next > self.window.offset.saturating_add(self.window.bytes.len() as u64) {
                let after = Region { offset: next, bytes: Vec::new() };
                self.kept.push(mem::replace(&mut self.window, after));
            }
            return;
        }
        let seen = next.saturating_sub(self.window.offset);
        let seen = usize::try_from(seen).unwrap_or(usize::MAX);
        if seen >= self.window.bytes.len() {
            self.window.bytes.clear();
        } else {
            self.window.bytes.drain(..seen);
        }
        self.window.offset = next;
    }

    /// The whole file, of a reader that kept it, if it is of one of these formats.
    pub(crate) fn into_file(self, formats: &[Format]) -> Result<Vec<u8>> {
        if self.purpose != Purpose::Load || !self.complete {
            return Err(ErrorKind::InvalidArgument.into());
        }
        if !self.format.is_some_and(|format| formats.contains(&format)) {
            return Err(ErrorKind::UnknownFormat.into());
        }
        Ok(self.window.bytes)
    }

    /// The static model in the file, if it was found to hold one, and the file.
    pub(crate) fn take_table(&mut self) -> Option<TableFile<()>> {
        self.table.take().map(Part::into_inner)
    }

    /// Returns true if this reader keeps the whole file.
    pub(crate) fn keeps_all(&self) -> bool {
        self.purpose == Purpose::Load
    }

    /// The parts that were kept of a file of word vectors, and its layout.
    #[cfg(feature = "words")]
    pub(crate) fn into_regions(
        self,
    ) -> Result<(Vec<Region>, nanoembed_core::format::finalfusion::FinalfusionLayout)> {
        let layout = self.decoder.as_ref().and_then(Decoder::layout);
        let layout = layout.ok_or(ErrorKind::UnknownFormat)?;
        if !self.complete || !matches!(self.purpose, Purpose::Load | Purpose::Open) {
            return Err(ErrorKind::InvalidArgument.into());
        }
        let mut kept = self.kept;
        kept.push(self.window);
        Ok((kept, layout))
    }
}
