//! The sans-I/O decoder of both variants: tells them apart by their first bytes, then hands over.

mod section;
mod stream;

use self::section::Section;
use self::stream::Stream;
use super::grammar::{self, FOOTER_BYTES, Flags, HEADER_SIZE, MAGIC};
use crate::bytes::{Item, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Step, advance};

/// How many tensors a [`Decoder`] keeps track of unless told otherwise: BERT-large with INT8 scales
/// has some 540.
pub const DEFAULT_MAX_TENSORS: usize = 1024;

/// Decodes `.weights` files of either variant.
///
/// `TENSORS` bounds how many tensors a file may have: their places and name hashes are kept to
/// refuse overlaps and duplicate names, whichever way the bytes arrive. More tensors are refused
/// with [`ErrorKind::TooManyTensors`].
///
/// The decoder takes 48 bytes for each of `TENSORS`, and 2 KB: 50 KB with the default. Where the
/// stack is small, choose fewer or keep the decoder in a `static`.
///
/// ```
/// use nanoembed_core::event::{Decode, Event, Mode};
/// use nanoembed_core::format::embd::Decoder;
///
/// // A file of the stream variant without tensors and with one token.
/// let file = b"EMBD\x01\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0ok";
/// let mut decoder = Decoder::<16>::new(Mode::Strict);
/// let mut rest = &file[..];
/// let mut tokens = 0;
/// loop {
///     let step = decoder.next(rest)?;
///     rest = &rest[step.used..];
///     match step.event {
///         Some(Event::Token { .. }) => tokens += 1,
///         Some(Event::End) => break,
///         _ => {}
///     }
/// }
/// assert_eq!(tokens, 1);
/// assert!(size_of::<Decoder<16>>() <= 16 * 48 + 2048);
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<const TENSORS: usize = DEFAULT_MAX_TENSORS> {
    mode: Mode,
    passes_tokens: bool,
    offset: u64,
    failed: Option<Error>,
    variant: VariantDecoder<TENSORS>,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "both keep their tensors' names where there is no heap"
)]
enum VariantDecoder<const TENSORS: usize> {
    Undetected,
    Section(Section<TENSORS>),
    Stream(Stream<TENSORS>),
}

impl<const TENSORS: usize> Decoder<TENSORS> {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        let variant = VariantDecoder::Undetected;
        Self { mode, passes_tokens: false, offset: 0, failed: None, variant }
    }

    /// Checks the vocabulary's tokens without giving them: no [`Event::Token`] comes.
    #[must_use]
    pub const fn without_tokens(mut self) -> Self {
        self.passes_tokens = true;
        self
    }

    /// Where the tensor data lies and the checksums that the footer gives for it and for all before
    /// the footer; `None` in the stream variant, without flag bit 2, or before the end.
    pub(super) fn checksums(&self) -> Option<section::Checksums> {
        match &self.variant {
            VariantDecoder::Section(section) => section.checksums(),
            _ => None,
        }
    }

    /// The section variant's header, once read.
    pub(super) fn header(&self) -> Option<&grammar::Header> {
        match &self.variant {
            VariantDecoder::Section(section) => Some(section.header()),
            _ => None,
        }
    }

    #[inline(never)] // it is long, and there once for all who take steps
    fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        match &mut self.variant {
            VariantDecoder::Undetected => self.detect(input),
            VariantDecoder::Section(section) => section.next(input, self.offset),
            VariantDecoder::Stream(stream) => stream.next(input, self.offset),
        }
    }

    fn detect<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        match detect(input)? {
            Detected::NeedMore { at_least } => Ok(Step::need_more(at_least)),
            Detected::Section => {
                let (header, used) = parsed!(parse(grammar::header, input, 0)?);
                let section = Section::new(header, input, self.mode, self.passes_tokens)?;
                let info = section.info();
                self.variant = VariantDecoder::Section(section);
                Ok(Step::new(used, Event::Header(info)))
            }
            Detected::Stream => {
                let (tensors, used) = parsed!(parse(grammar::stream_header, input, 0)?);
                let stream = Stream::new(tensors, self.mode, self.passes_tokens)?;
                let info = stream.info();
                self.variant = VariantDecoder::Stream(stream);
                Ok(Step::new(used, Event::Header(info)))
            }
        }
    }
}

impl<const TENSORS: usize> Decode for Decoder<TENSORS> {
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
        match &self.variant {
            _ if self.failed.is_some() => 0,
            VariantDecoder::Undetected => 0,
            VariantDecoder::Section(section) => section.skippable(self.offset),
            VariantDecoder::Stream(stream) => stream.skippable(),
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        if let VariantDecoder::Stream(stream) = &mut self.variant {
            stream.skip(bytes);
        }
        self.offset = self.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none()
            && match &self.variant {
                VariantDecoder::Undetected => false,
                VariantDecoder::Section(section) => section.is_complete(),
                VariantDecoder::Stream(stream) => stream.is_complete(),
            }
    }
}

enum Detected {
    NeedMore { at_least: usize },
    Section,
    Stream,
}

/// Tells the variants apart by the first bytes alone, so that it works before the file's length is
/// known.
///
/// Bytes 8..16 are flags and the metadata's offset (at least 64) in one, the number of tensors and
/// the length of the first one's name in the other; from byte 16 on the one has small numbers, the
/// other that name.
fn detect(input: &[u8]) -> Result<Detected> {
    let known = input.len().min(MAGIC.len());
    if input.get(..known) != MAGIC.get(..known) {
        return Err(Error::new(0, ErrorKind::BadMagic));
    }
    let Some(start) = input.first_chunk::<16>() else {
        return Ok(Detected::NeedMore { at_least: 16 });
    };
    let [_, _, _, _, v0, v1, _, _, a0, a1, a2, a3, b0, b1, b2, b3] = *start;
    if u16::from_le_bytes([v0, v1]) != 1 {
        return Err(Error::new(4, ErrorKind::UnsupportedVersion));
    }
    let flags_or_tensors = u32::from_le_bytes([a0, a1, a2, a3]);
    let offset_or_name_bytes = u32::from_le_bytes([b0, b1, b2, b3]) as usize;
    if flags_or_tensors == 0 && offset_or_name_bytes < HEADER_SIZE {
        return Ok(Detected::Stream);
    }
    let wanted = offset_or_name_bytes.saturating_add(16).min(HEADER_SIZE);
    let Some(behind) = input.get(16..wanted) else {
        return Ok(Detected::NeedMore { at_least: wanted });
    };
    let is_name = if flags_or_tensors == 0 {
        !is_section_header(input)
    } else {
        !behind.is_empty() && behind.iter().all(|&byte| byte >= b' ')
    };
    Ok(if is_name { Detected::Stream } else { Detected::Section })
}

/// Whether the sizes that a section header gives agree with each other.
fn is_section_header(input: &[u8]) -> bool {
    match parse(grammar::header, input, 0) {
        Ok(Item::Parsed { item, .. }) => {
            item.flags == Flags(0)
                && item
                    .data
                    .bytes
                    .checked_add(item.data.offset)
                    .and_then(|end| end.checked_add(FOOTER_BYTES))
                    == Some(item.file_bytes)
        }
        _ => false,
    }
}
