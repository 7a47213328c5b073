//! Events of a reader: the contents of a file, piece by piece.

use nanoembed_core::event::{Event, Value};
use nanoembed_core::subword::Subwords;

use crate::format::{nanoembed_format, number_of};
use crate::tensor::nanoembed_tensor;

/// Bytes that are not ended by a zero. They lie in the file or in the reader's buffer, and are good
/// until the next call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_bytes {
    /// The first byte.
    pub data: *const u8,
    /// How many there are.
    pub length: usize,
}

impl nanoembed_bytes {
    pub(crate) const NONE: Self = Self::new(b"");

    const fn new(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), length: bytes.len() }
    }
}

/// The subject of an event.
pub type nanoembed_event_kind = u32;
/// The content is complete; always the last event.
pub const NANOEMBED_EVENT_END: nanoembed_event_kind = 0;
/// The fixed header: `format`, `key` (the layout's name), `version_major`, `version_minor`, `id`
/// (the number of tensors), `integer` (the file's length); the last two are 0 where the header does
/// not say. Always the first event.
pub const NANOEMBED_EVENT_HEADER: nanoembed_event_kind = 1;
/// A metadata entry: `key`, `value`.
pub const NANOEMBED_EVENT_METADATA: nanoembed_event_kind = 2;
/// A piece of a metadata document in the format's own language (TOML in finalfusion): `value`,
/// `offset`.
pub const NANOEMBED_EVENT_DOCUMENT: nanoembed_event_kind = 3;
/// The parameters of a vocabulary of words: `id` words; `key` is the kind of their subwords;
/// `integer` rows of subwords.
pub const NANOEMBED_EVENT_VOCABULARY: nanoembed_event_kind = 4;
/// A metadata entry whose value is a number, a truth value, a text or the beginning of an array of
/// `integer` elements: `key`, `value_type`, and `integer`, `real` or `value`.
pub const NANOEMBED_EVENT_VALUE: nanoembed_event_kind = 5;
/// Element `id` of the array that the last value began: as there.
pub const NANOEMBED_EVENT_ELEMENT: nanoembed_event_kind = 6;
/// Token or word number `id`: `value`.
pub const NANOEMBED_EVENT_TOKEN: nanoembed_event_kind = 7;
/// An n-gram: `value`, and `integer`, the index that the file gives it.
pub const NANOEMBED_EVENT_NGRAM: nanoembed_event_kind = 8;
/// A token with a special role: `key` (`pad`, `unk`, `cls`, `sep`, `mask`), `id`.
pub const NANOEMBED_EVENT_SPECIAL_TOKEN: nanoembed_event_kind = 9;
/// A tensor: `key` (its name), `tensor`.
pub const NANOEMBED_EVENT_TENSOR: nanoembed_event_kind = 10;
/// A piece of tensor data: `value`, `offset`. Pieces may be cut anywhere.
pub const NANOEMBED_EVENT_DATA: nanoembed_event_kind = 11;

/// The type of a metadata value.
pub type nanoembed_value_type = u32;
/// There is no typed value.
pub const NANOEMBED_VALUE_NONE: nanoembed_value_type = 0;
/// An integer that is not negative: `integer`.
pub const NANOEMBED_VALUE_UNSIGNED: nanoembed_value_type = 1;
/// An integer: `integer`, to be read as `int64_t`.
pub const NANOEMBED_VALUE_SIGNED: nanoembed_value_type = 2;
/// A number: `real`.
pub const NANOEMBED_VALUE_FLOAT: nanoembed_value_type = 3;
/// A truth value: `integer` is 0 or 1.
pub const NANOEMBED_VALUE_BOOL: nanoembed_value_type = 4;
/// A text: `value`.
pub const NANOEMBED_VALUE_TEXT: nanoembed_value_type = 5;
/// The beginning of an array of `integer` elements.
pub const NANOEMBED_VALUE_ARRAY: nanoembed_value_type = 6;

/// Something that a file says. Which fields count depends on `kind`; the others are 0 and empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_event {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// The subject.
    pub kind: nanoembed_event_kind,
    /// A number, see `kind`.
    pub id: u32,
    /// The format.
    pub format: nanoembed_format,
    /// The type of the value.
    pub value_type: nanoembed_value_type,
    /// The version of the format.
    pub version_major: u32,
    /// The version of the format.
    pub version_minor: u32,
    /// A name, in UTF-8.
    pub key: nanoembed_bytes,
    /// A value.
    pub value: nanoembed_bytes,
    /// A number, see `kind`.
    pub integer: u64,
    /// A number, see `kind`.
    pub real: f64,
    /// Absolute offset in the file, see `kind`.
    pub offset: u64,
    /// The tensor.
    pub tensor: nanoembed_tensor,
}

crate::versioned!(nanoembed_event);

impl nanoembed_event {
    pub(crate) const END: Self = Self {
        size: size_of::<Self>() as u32,
        kind: NANOEMBED_EVENT_END,
        id: 0,
        format: 0,
        value_type: 0,
        version_major: 0,
        version_minor: 0,
        key: nanoembed_bytes::NONE,
        value: nanoembed_bytes::NONE,
        integer: 0,
        real: 0.0,
        offset: 0,
        tensor: nanoembed_tensor::NONE,
    };

    const fn new(kind: nanoembed_event_kind) -> Self {
        Self { kind, ..Self::END }
    }

    fn typed(mut self, value: Value<'_>) -> Self {
        match value {
            Value::Unsigned(number) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_UNSIGNED, number);
            }
            Value::Signed(number) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_SIGNED, number.cast_unsigned());
            }
            Value::Float(number) => {
                (self.value_type, self.real) = (NANOEMBED_VALUE_FLOAT, number);
            }
            Value::Bool(truth) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_BOOL, truth.into());
            }
            Value::Text(text) => {
                self.value_type = NANOEMBED_VALUE_TEXT;
                self.value = nanoembed_bytes::new(text.as_bytes());
            }
            Value::Array { count } => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_ARRAY, count);
            }
        }
        self
    }

    pub(crate) fn from_event(event: &Event<'_>) -> Self {
        let text = |text: &str| nanoembed_bytes::new(text.as_bytes());
        let (key, value) = (text, nanoembed_bytes::new);
        match *event {
            Event::Header(info) => Self {
                format: number_of(info.format),
                key: key(info.variant),
                version_major: info.version.major.into(),
                version_minor: info.version.minor.into(),
                id: info.tensors.unwrap_or(0),
                integer: info.file_bytes.unwrap_or(0),
                ..Self::new(NANOEMBED_EVENT_HEADER)
            },
            Event::Metadata { key: name, value } => {
                Self { key: key(name), value: text(value), ..Self::new(NANOEMBED_EVENT_METADATA) }
            }
            Event::Document { offset, text: piece } => {
                Self { value: text(piece), offset, ..Self::new(NANOEMBED_EVENT_DOCUMENT) }
            }
            Event::Vocabulary(vocabulary) => Self {
                id: vocabulary.words,
                key: key(vocabulary.subwords.name()),
                integer: subword_rows(&vocabulary.subwords),
                ..Self::new(NANOEMBED_EVENT_VOCABULARY)
            },
            Event::Value { key: name, value } => {
                Self { key: key(name), ..Self::new(NANOEMBED_EVENT_VALUE) }.typed(value)
            }
            Event::Element { index, value } => Self {
                id: u32::try_from(index).unwrap_or(u32::MAX),
                ..Self::new(NANOEMBED_EVENT_ELEMENT)
            }
            .typed(value),
            Event::Token { id, bytes } => {
                Self { id, value: value(bytes), ..Self::new(NANOEMBED_EVENT_TOKEN) }
            }
            Event::Ngram { bytes, index } => {
                Self { value: value(bytes), integer: index, ..Self::new(NANOEMBED_EVENT_NGRAM) }
            }
            Event::SpecialToken { role, id } => {
                Self { key: key(role.name()), id, ..Self::new(NANOEMBED_EVENT_SPECIAL_TOKEN) }
            }
            Event::Tensor(header) => Self {
                key: key(header.name),
                offset: header.offset,
                tensor: nanoembed_tensor::from_header(&header),
                ..Self::new(NANOEMBED_EVENT_TENSOR)
            },
            Event::Data { offset, bytes } => {
                Self { value: value(bytes), offset, ..Self::new(NANOEMBED_EVENT_DATA) }
            }
            // Sources keep the first to themselves.
            Event::NeedMore { .. } | Event::End => Self::END,
        }
    }
}

fn subword_rows(subwords: &Subwords) -> u64 {
    match subwords {
        Subwords::Explicit { ngrams } => (*ngrams).into(),
        hashed => hashed.rows().unwrap_or(0),
    }
}
