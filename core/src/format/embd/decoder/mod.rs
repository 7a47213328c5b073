//! The sans-I/O decoder of both variants, which it distinguishes by the first bytes.

mod in_memory;
mod section;
mod stream;
mod table;

pub(super) use self::in_memory::InMemory;
use self::section::Section;
use self::stream::Stream;
pub use self::table::TensorRecord;
use self::table::{Kept, Records, Table};
use super::grammar::{self, FOOTER_BYTES, Flags, HEADER_SIZE, MAGIC};
use crate::bytes::{Item, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Step, advance};
use heapless::Vec;

/// The default capacity of a [`EmbdDecoder`] in tensors: BERT-large with INT8 scales has about 540.
pub const DEFAULT_MAX_TENSORS: usize = 1024;

/// Decodes `.weights` files of either variant.
///
/// `TENSORS` is the largest number of tensors: their offsets and name hashes are kept to reject
/// overlaps and duplicate names, however the bytes arrive. Files with more tensors fail with
/// [`ErrorKind::TooManyTensors`].
///
/// The decoder takes 48 bytes for each of `TENSORS`, and 2 KB: 50 KB with the default. On a small
/// stack, provide the memory for them with [`lent`](DecoderOver::lent).
///
/// ```
/// use nanoembed_core::event::{Decode, Event, Mode};
/// use nanoembed_core::format::embd::EmbdDecoder;
///
/// // A file of the stream variant without tensors and with one token.
/// let file = b"EMBD\x01\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0ok";
/// let mut decoder = EmbdDecoder::<16>::new(Mode::Strict);
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
/// assert!(size_of::<EmbdDecoder<16>>() <= 16 * 48 + 2048);
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
pub type EmbdDecoder<const TENSORS: usize = DEFAULT_MAX_TENSORS> =
    DecoderOver<[TensorRecord; TENSORS]>;

/// A decoder with tensor records in `M`: inline ([`EmbdDecoder`]) or in caller-provided memory.
///
/// ```
/// use nanoembed_core::event::Mode;
/// use nanoembed_core::format::embd::{DecoderOver, TensorRecord};
///
/// let mut room = [TensorRecord::EMPTY; 16];
/// let decoder = DecoderOver::lent(Mode::Strict, &mut room);
/// assert!(size_of_val(&decoder) <= 2048);
/// ```
#[derive(Clone, Debug)]
pub struct DecoderOver<M> {
    machine: Machine,
    tensors: M,
}

impl<const TENSORS: usize> DecoderOver<[TensorRecord; TENSORS]> {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self { machine: Machine::new(mode), tensors: [TensorRecord::EMPTY; TENSORS] }
    }
}

impl<'m> DecoderOver<&'m mut [TensorRecord]> {
    /// A decoder at the start of a file, for as many tensors as `tensors` has records.
    #[must_use]
    pub const fn lent(mode: Mode, tensors: &'m mut [TensorRecord]) -> Self {
        Self { machine: Machine::new(mode), tensors }
    }
}

impl<M> DecoderOver<M> {
    /// Validates the vocabulary's tokens without yielding them: no [`Event::Token`] comes.
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.machine.passes_tokens = true;
        self
    }

    /// The extent of the tensor data and the footer's checksums of the data and of everything
    /// before the footer; `None` in the stream variant, without flag bit 2, or before the end.
    pub(super) fn checksums(&self) -> Option<section::Checksums> {
        match &self.machine.variant {
            Variant::Section(section) => section.checksums(),
            _ => None,
        }
    }

    /// The section variant's header, once read.
    pub(super) fn header(&self) -> Option<&grammar::Header> {
        self.machine.header()
    }
}

/// The decoder's state except for its records.
#[derive(Clone, Debug)]
struct Machine {
    mode: Mode,
    passes_tokens: bool,
    offset: u64,
    failed: Option<Error>,
    variant: Variant,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Variant {
    Undetected,
    Section(Section),
    Stream(Stream),
}

impl Machine {
    const fn new(mode: Mode) -> Self {
        Self {
            mode,
            passes_tokens: false,
            offset: 0,
            failed: None,
            variant: Variant::Undetected,
            kept: Kept { tensors: 0, keys: Vec::new() },
        }
    }

    fn next<'a, R: Records + ?Sized>(
        &mut self,
        records: &mut R,
        input: &'a [u8],
    ) -> Result<Step<'a>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.step(records, input);
        advance(step, &mut self.offset, &mut self.failed)
    }

    #[inline(never)] // it is long, and there once for all who take steps
    fn step<'a, R: Records + ?Sized>(
        &mut self,
        records: &mut R,
        input: &'a [u8],
    ) -> Result<Step<'a>> {
        let mut table = Table { records, kept: &mut self.kept };
        match &mut self.variant {
            Variant::Undetected => self.detect(records, input),
            Variant::Section(section) => section.next(&mut table, input, self.offset),
            Variant::Stream(stream) => stream.next(&mut table, input, self.offset),
        }
    }

    fn detect<'a, R: Records + ?Sized>(
        &mut self,
        records: &mut R,
        input: &'a [u8],
    ) -> Result<Step<'a>> {
        let table = Table { records, kept: &mut self.kept };
        match detect(input)? {
            Detected::NeedMore { at_least } => Ok(Step::need_more(at_least)),
            Detected::Section => {
                let (header, used) = parsed!(parse(grammar::header, input, 0)?);
                let (mode, passes_tokens) = (self.mode, self.passes_tokens);
                let section = Section::new(header, input, mode, passes_tokens, &table)?;
                let info = section.info();
                self.variant = Variant::Section(section);
                Ok(Step::new(used, Event::Header(info)))
            }
            Detected::Stream => {
                let (tensors, used) = parsed!(parse(grammar::stream_header, input, 0)?);
                let stream = Stream::new(tensors, self.mode, self.passes_tokens, &table)?;
                let info = stream.info();
                self.variant = Variant::Stream(stream);
                Ok(Step::new(used, Event::Header(info)))
            }
        }
    }

    fn header(&self) -> Option<&grammar::Header> {
        match &self.variant {
            Variant::Section(section) => Some(section.header()),
            _ => None,
        }
    }

    fn skippable(&self) -> u64 {
        match &self.variant {
            _ if self.failed.is_some() => 0,
            Variant::Undetected => 0,
            Variant::Section(section) => section.skippable(self.offset),
            Variant::Stream(stream) => stream.skippable(),
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        if let Variant::Stream(stream) = &mut self.variant {
            stream.skip(bytes);
        }
        self.offset = self.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none()
            && match &self.variant {
                Variant::Undetected => false,
                Variant::Section(section) => section.is_complete(),
                Variant::Stream(stream) => stream.is_complete(),
            }
    }
}

impl<M: AsRef<[TensorRecord]> + AsMut<[TensorRecord]>> Decode for DecoderOver<M> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        self.machine.next(self.tensors.as_mut(), input)
    }

    fn offset(&self) -> u64 {
        self.machine.offset
    }

    fn skippable(&self) -> u64 {
        self.machine.skippable()
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        self.machine.skip(bytes)
    }

    fn is_complete(&self) -> bool {
        self.machine.is_complete()
    }
}

/// The number of tensors that a file declares in its first 64 bytes (or in all of them, if it is
/// shorter), to size memory for their records. `None` if it is not a `.weights` file.
#[must_use]
pub fn count_tensors(start: &[u8]) -> Option<u32> {
    let at = match detect(start).ok()? {
        Detected::NeedMore { .. } => return None,
        Detected::Section => section::COUNT_AT,
        Detected::Stream => stream::COUNT_AT,
    };
    let bytes = start.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

enum Detected {
    NeedMore { at_least: usize },
    Section,
    Stream,
}

/// Distinguishes the variants by the first bytes alone, before the file's length is known.
///
/// In the section variant, bytes 8..16 are the flags and the metadata's offset (at least 64), in
/// the stream variant the number of tensors and the length of the first name; from byte 16 on, the
/// section variant has small numbers and the stream variant that name.
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
    let Some(after) = input.get(16..wanted) else {
        return Ok(Detected::NeedMore { at_least: wanted });
    };
    let is_name = if flags_or_tensors == 0 {
        !is_section_header(input)
    } else {
        !after.is_empty() && after.iter().all(|&byte| byte >= b' ')
    };
    Ok(if is_name { Detected::Stream } else { Detected::Section })
}

/// Returns true if the sizes of a section header are consistent.
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
