//! The sans-I/O decoder: the header is lexed byte by byte as it arrives, the data is passed on.

use core::mem::replace;

use heapless::Vec;

use super::entry::{Entries, Entry, spelling_hash};
use super::fields::Fields;
use super::{LENGTH_BYTES, METADATA};
use crate::bytes::{le_u64, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, Step, Version, advance};
use crate::text::json::{Lexeme, LexemeKind, Lexer, is};

/// The longest accepted header, as in the reference.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The longest description of a tensor or entry of the metadata. A carry buffer of this size always
/// suffices for [`read::Push`](crate::read::Push); real descriptions have some 100 bytes.
pub const MAX_ITEM_BYTES: usize = 1 << 20;

/// The largest number of metadata entries, whose keys must differ.
pub(super) const MAX_METADATA_ENTRIES: usize = 128;

/// Decodes safetensors files. The caller provides memory for one [`Entry`] per tensor: the tensors'
/// extents are kept to reject gaps, overlaps and duplicate names. Files with more tensors fail with
/// [`ErrorKind::TooManyTensors`].
#[derive(Debug)]
pub struct SafetensorsDecoder<'m> {
    mode: Mode,
    offset: u64,
    failed: Option<Error>,
    state: State,
    lexer: Lexer,
    /// Absolute offset of the header's end, where the data begins.
    data: u64,
    entries: Entries<'m>,
    has_metadata: bool,
    keys: Vec<u64, MAX_METADATA_ENTRIES>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Length,
    Header(Place),
    Data { end: u64 },
}

/// The position of the next lexeme in the header.
#[derive(Clone, Copy, Debug)]
enum Place {
    Start,
    Members,
    Metadata,
    MetadataMembers,
    MetadataValue { key: Lexeme },
    Tensor { name: Lexeme },
    Fields { name: Lexeme, fields: Fields },
    Dtype { name: Lexeme, fields: Fields },
    Shape { name: Lexeme, fields: Fields, begun: bool },
    Offsets { name: Lexeme, fields: Fields, begun: bool },
    Unknown { name: Lexeme, fields: Fields },
    Padding,
}

/// The result of a lexeme: another position inside the same item, or the item's end.
enum After<'a> {
    Goes(Place),
    Item(Step<'a>),
}

impl<'m> SafetensorsDecoder<'m> {
    /// A decoder at the start of a file with up to `entries.len()` tensors.
    #[must_use]
    pub const fn new(mode: Mode, entries: &'m mut [Entry]) -> Self {
        Self {
            mode,
            offset: 0,
            failed: None,
            state: State::Length,
            lexer: Lexer::new(LENGTH_BYTES),
            data: 0,
            entries: Entries::new(entries),
            has_metadata: false,
            keys: Vec::new(),
        }
    }

    /// Absolute offset of the data, once the header's length is known.
    pub(crate) const fn data_offset(&self) -> u64 {
        self.data
    }

    /// Returns true if the header has been read; then the entries are in the order of their
    /// offsets.
    pub(crate) const fn is_after_header(&self) -> bool {
        matches!(self.state, State::Data { .. })
    }

    pub(crate) const fn entries(&self) -> &Entries<'m> {
        &self.entries
    }

    pub(crate) const fn entries_mut(&mut self) -> &mut Entries<'m> {
        &mut self.entries
    }

    pub(crate) fn into_entries(self) -> &'m mut [Entry] {
        self.entries.into_all()
    }

    fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        match self.state {
            State::Length => self.length(input),
            State::Header(place) => self.header(input, place),
            State::Data { end } if self.offset < end => Ok(Step::data(input, self.offset, end)),
            State::Data { .. } if input.is_empty() => Ok(Step::new(0, Event::End)),
            State::Data { .. } => Err(Error::new(self.offset, ErrorKind::TrailingBytes)),
        }
    }

    fn length<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (length, used) = parsed!(parse(le_u64, input, 0)?);
        if length > MAX_HEADER_BYTES {
            return Err(Error::new(0, ErrorKind::HeaderTooLarge));
        }
        self.data = LENGTH_BYTES.saturating_add(length);
        self.state = State::Header(Place::Start);
        let info = FileInfo {
            format: Format::Safetensors,
            variant: "safetensors",
            version: Version::new(0, 0),
            tensors: None,
            file_bytes: None,
        };
        Ok(Step::new(used, Event::Header(info)))
    }

    fn header<'a>(&mut self, input: &'a [u8], place: Place) -> Result<Step<'a>> {
        let left = usize::try_from(self.data.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let window = input.get(..left.min(MAX_ITEM_BYTES)).unwrap_or(input);
        let mut place = place;
        // The bytes of a shorter input of an earlier call are lexed already.
        while let (_, Some(lexeme)) = self.lexer.next(window.get(self.used()..).unwrap_or(&[]))? {
            match self.lexeme(input, place, lexeme)? {
                After::Goes(next) => place = next,
                After::Item(step) => return Ok(step),
            }
            self.state = State::Header(place);
        }
        let whole = window.len() == left;
        match place {
            Place::Padding if whole => {
                self.entries.check_names()?;
                let end = self.entries.tile()?;
                self.state = State::Data { end: self.data.saturating_add(end) };
                Ok(Step::silent(left))
            }
            _ if whole => Err(Error::new(self.data, ErrorKind::BadJson)),
            // Bytes before an item are not kept, so that the offset of an error does not depend on
            // cuts.
            _ if self.first_needed(place) > self.offset => {
                let before = self.first_needed(place).saturating_sub(self.offset);
                Ok(Step::silent(usize::try_from(before).unwrap_or(usize::MAX)))
            }
            _ if window.len() == MAX_ITEM_BYTES => {
                Err(Error::new(self.offset, ErrorKind::NameTooLong))
            }
            _ => Ok(Step::need_more(window.len().saturating_add(1))),
        }
    }

    /// Absolute offset of the item at `place`, including its name's quote, or of the next byte
    /// between items.
    fn first_needed(&self, place: Place) -> u64 {
        match place {
            Place::MetadataValue { key: name }
            | Place::Tensor { name }
            | Place::Fields { name, .. }
            | Place::Dtype { name, .. }
            | Place::Shape { name, .. }
            | Place::Offsets { name, .. }
            | Place::Unknown { name, .. } => name.start.saturating_sub(1),
            _ => self.lexer.lexeme_offset(),
        }
    }

    /// The number of lexed bytes from the current offset on.
    fn used(&self) -> usize {
        usize::try_from(self.lexer.offset().saturating_sub(self.offset)).unwrap_or(usize::MAX)
    }

    fn text<'a>(&self, input: &'a [u8], lexeme: Lexeme) -> Result<&'a str> {
        let at = |offset: u64| usize::try_from(offset.saturating_sub(self.offset)).ok();
        let bytes = match (at(lexeme.start), at(lexeme.end)) {
            (Some(start), Some(end)) => input.get(start..end),
            _ => None,
        };
        // The lexer has checked the encoding.
        let text = bytes.and_then(|bytes| core::str::from_utf8(bytes).ok());
        text.ok_or(Error::new(lexeme.start, ErrorKind::InvalidUtf8))
    }

    fn lexeme<'a>(&mut self, input: &'a [u8], place: Place, lexeme: Lexeme) -> Result<After<'a>> {
        let wrong = Error::new(lexeme.start, ErrorKind::BadField);
        let next = match (place, lexeme.kind) {
            (Place::Start, LexemeKind::BeginObject) => {
                if self.mode == Mode::Strict && lexeme.start != LENGTH_BYTES {
                    return Err(Error::new(LENGTH_BYTES, ErrorKind::BadJson));
                }
                return Ok(self.item(Place::Members));
            }
            (Place::Members, LexemeKind::Key) if is(self.text(input, lexeme)?, METADATA) => {
                if replace(&mut self.has_metadata, true) {
                    return Err(Error::new(lexeme.start, ErrorKind::DuplicateName));
                }
                return Ok(self.item(Place::Metadata));
            }
            (Place::Members, LexemeKind::Key) => Place::Tensor { name: lexeme },
            (Place::Members, LexemeKind::EndObject) => return Ok(self.item(Place::Padding)),
            (Place::Metadata, LexemeKind::BeginObject) => {
                return Ok(self.item(Place::MetadataMembers));
            }
            (Place::Metadata, LexemeKind::Null)
            | (Place::MetadataMembers, LexemeKind::EndObject) => {
                return Ok(self.item(Place::Members));
            }
            (Place::MetadataMembers, LexemeKind::Key) => Place::MetadataValue { key: lexeme },
            (Place::MetadataValue { key }, LexemeKind::String) => {
                return self.metadata(input, key, lexeme).map(After::Item);
            }
            (Place::Tensor { name }, LexemeKind::BeginObject) => {
                Place::Fields { name, fields: Fields::default() }
            }
            (Place::Fields { name, fields }, LexemeKind::Key) => {
                self.field(self.text(input, lexeme)?, name, fields, lexeme.start)?
            }
            (Place::Fields { name, fields }, LexemeKind::EndObject) => {
                return self.tensor(input, name, &fields, lexeme.start).map(After::Item);
            }
            (place, _) => self.value(input, place, lexeme).ok_or(wrong)??,
        };
        Ok(After::Goes(next))
    }

    /// A lexeme inside one member of a tensor's description; `None` if it is not allowed there.
    fn value(&self, input: &[u8], place: Place, lexeme: Lexeme) -> Option<Result<Place>> {
        let at = lexeme.start;
        let spelling = match self.text(input, lexeme) {
            Ok(spelling) => spelling,
            Err(error) => return Some(Err(error)),
        };
        Some(match (place, lexeme.kind) {
            (Place::Dtype { name, mut fields }, LexemeKind::String) => {
                fields.dtype(spelling, at).map(|()| Place::Fields { name, fields })
            }
            (Place::Shape { name, mut fields, begun: false }, LexemeKind::BeginArray) => {
                fields.begin_shape();
                Ok(Place::Shape { name, fields, begun: true })
            }
            (Place::Shape { name, mut fields, begun: true }, LexemeKind::Number) => {
                fields.dim(spelling, at).map(|()| Place::Shape { name, fields, begun: true })
            }
            (Place::Offsets { name, mut fields, begun: false }, LexemeKind::BeginArray) => {
                fields.begin_offsets(at);
                Ok(Place::Offsets { name, fields, begun: true })
            }
            (Place::Offsets { name, mut fields, begun: true }, LexemeKind::Number) => fields
                .data_offset(spelling, at)
                .map(|()| Place::Offsets { name, fields, begun: true }),
            (
                Place::Shape { name, fields, begun: true }
                | Place::Offsets { name, fields, begun: true },
                LexemeKind::EndArray,
            ) => Ok(Place::Fields { name, fields }),
            // A member of unknown name ends with its value, whatever that is.
            (Place::Unknown { name, fields }, kind) => {
                let over = self.lexer.depth() == TENSOR_DEPTH && kind != LexemeKind::Key;
                Ok(if over { Place::Fields { name, fields } } else { place })
            }
            _ => return None,
        })
    }

    /// A member's key in a tensor's description.
    fn field(&self, key: &str, name: Lexeme, fields: Fields, at: u64) -> Result<Place> {
        let (twice, place) = if is(key, "dtype") {
            (fields.has_dtype(), Place::Dtype { name, fields })
        } else if is(key, "shape") {
            (fields.has_shape(), Place::Shape { name, fields, begun: false })
        } else if is(key, "data_offsets") {
            (fields.has_offsets(), Place::Offsets { name, fields, begun: false })
        } else {
            (self.mode == Mode::Strict, Place::Unknown { name, fields })
        };
        if twice { Err(Error::new(at, ErrorKind::BadField)) } else { Ok(place) }
    }

    fn tensor<'a>(
        &mut self,
        input: &'a [u8],
        name: Lexeme,
        fields: &Fields,
        at: u64,
    ) -> Result<Step<'a>> {
        let tensor = fields.finish(self.text(input, name)?, self.data, at)?;
        let begin = tensor.offset.saturating_sub(self.data);
        self.entries.push(Entry {
            name: spelling_hash(tensor.name),
            begin,
            end: begin.saturating_add(tensor.bytes),
            // The header is far shorter than 4 GiB.
            at: u32::try_from(name.start).unwrap_or(u32::MAX),
            tag: 0,
        })?;
        let used = self.consume(Place::Members).used;
        Ok(Step::new(used, Event::Tensor(tensor)))
    }

    fn metadata<'a>(&mut self, input: &'a [u8], key: Lexeme, value: Lexeme) -> Result<Step<'a>> {
        let (name, value) = (self.text(input, key)?, self.text(input, value)?);
        self.keep_key(name, key)?;
        let used = self.consume(Place::MetadataMembers).used;
        Ok(Step::new(used, Event::Metadata { key: name, value }))
    }

    fn keep_key(&mut self, key: &str, lexeme: Lexeme) -> Result<()> {
        let fail = |kind| Error::new(lexeme.start, kind);
        let hash = spelling_hash(key);
        if self.keys.contains(&hash) {
            return Err(fail(ErrorKind::DuplicateName));
        }
        self.keys.push(hash).map_err(|_| fail(ErrorKind::TooManyEntries))
    }

    fn item<'a>(&mut self, place: Place) -> After<'a> {
        After::Item(self.consume(place))
    }

    /// Uses everything that has been lexed.
    fn consume<'a>(&mut self, place: Place) -> Step<'a> {
        self.state = State::Header(place);
        Step::silent(self.used())
    }
}

/// The nesting depth of the members of a tensor's description.
const TENSOR_DEPTH: u8 = 2;

impl Decode for SafetensorsDecoder<'_> {
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
        match self.state {
            State::Data { end } if self.failed.is_none() => end.saturating_sub(self.offset),
            _ => 0,
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.skippable());
        self.offset = self.offset.saturating_add(bytes);
        bytes
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none() && matches!(self.state, State::Data { end } if self.offset >= end)
    }
}
