//! Events, and the contract between formats and sources: a format's [`Decode`] turns bytes into
//! [`Event`]s, and a source in [`read`](crate::read) feeds it.
//!
//! The contract, asserted by the fuzz targets for every format:
//!
//! * `used <= input.len()`, and every call uses bytes, changes the decoder's state, or answers
//!   `NeedMore` or `End`;
//! * the same bytes give the same events however they are cut (only [`Event::Data`] may be cut
//!   anywhere);
//! * after an error every further call returns the same error;
//! * nothing panics, allocates, or takes time that is not bounded by the bytes it is given.

use crate::error::Error;
use crate::subword::WordVocabulary;
use crate::tensor::TensorHeader;

/// An item that a decoder finds in a file; events come in file order and borrow only from the
/// input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// The fixed header has been read. Always the first event.
    Header(FileInfo),
    /// One entry of the metadata.
    Metadata {
        /// The key, unique in the file.
        key: &'a str,
        /// The value as the file spells it.
        value: &'a str,
    },
    /// A piece of a metadata document in the format's own language, cut anywhere between two
    /// characters.
    Document {
        /// Absolute offset of the first byte of `text` in the file.
        offset: u64,
        /// The piece.
        text: &'a str,
    },
    /// The parameters of a vocabulary of words; its words follow.
    Vocabulary(WordVocabulary),
    /// One entry of the metadata whose value is a number, a truth value, or the beginning of an
    /// array.
    Value {
        /// The key, unique in the file.
        key: &'a str,
        /// The value.
        value: Value<'a>,
    },
    /// One element of the array that the last [`Event::Value`] began.
    Element {
        /// The ordinal in the array.
        index: u64,
        /// The element.
        value: Value<'a>,
    },
    /// One token or word of the vocabulary; ids count up from 0.
    Token {
        /// The ordinal in the vocabulary.
        id: u32,
        /// The token's bytes, usually UTF-8.
        bytes: &'a [u8],
    },
    /// One n-gram of a vocabulary that lists them.
    Ngram {
        /// The n-gram's bytes, usually UTF-8.
        bytes: &'a [u8],
        /// The index that the file gives it; several n-grams may share one.
        index: u64,
    },
    /// The id of a token with a special role.
    SpecialToken {
        /// The token's role.
        role: SpecialRole,
        /// Its id.
        id: u32,
    },
    /// A tensor's name, type, shape and offset. Its bytes follow as [`Event::Data`] or, rarely,
    /// precede it.
    Tensor(TensorHeader<'a>),
    /// A piece of tensor data, cut anywhere; [`Blocks`](crate::read::Blocks) re-assembles rows.
    Data {
        /// Absolute offset of the first byte of `bytes` in the file.
        offset: u64,
        /// The piece.
        bytes: &'a [u8],
    },
    /// The next item needs more bytes than the input has; nothing was used.
    NeedMore {
        /// The minimum number of bytes, counted from the current position, for the next call.
        at_least: usize,
    },
    /// The content is complete.
    End,
}

/// A typed value of the metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer that is not negative.
    Unsigned(u64),
    /// An integer.
    Signed(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'a str),
    /// The beginning of an array of so many elements, which follow.
    Array {
        /// The number of elements.
        count: u64,
    },
}

/// The answer to one call of [`Decode::next`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'a> {
    /// The number of input bytes consumed.
    pub used: usize,
    /// The event that they contain; `None` if they only changed the decoder's state.
    pub event: Option<Event<'a>>,
}

impl<'a> Step<'a> {
    /// `used` bytes were `event`.
    pub(crate) const fn new(used: usize, event: Event<'a>) -> Self {
        Self { used, event: Some(event) }
    }

    /// `used` bytes only changed the state.
    pub(crate) const fn silent(used: usize) -> Self {
        Self { used, event: None }
    }

    /// Waits until the input has `at_least` bytes.
    pub(crate) const fn need_more(at_least: usize) -> Self {
        Self::new(0, Event::NeedMore { at_least })
    }

    /// The bulk data in `input`, which starts at `offset`, up to the absolute offset `until`.
    pub(crate) fn data(input: &'a [u8], offset: u64, until: u64) -> Self {
        let room = usize::try_from(until.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = input.get(..room).unwrap_or(input);
        if bytes.is_empty() {
            return Self::need_more(1);
        }
        Self::new(bytes.len(), Event::Data { offset, bytes })
    }
}

/// A sans-I/O state machine over one format's grammar.
pub trait Decode {
    /// Consumes some of `input`, which starts at [`offset`](Decode::offset).
    ///
    /// # Errors
    ///
    /// The first fault of the file; after an error every call returns that error.
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error>;

    /// The absolute offset of the next byte to be consumed.
    fn offset(&self) -> u64;

    /// The number of upcoming bytes that are bulk data, which [`skip`](Decode::skip) may skip.
    fn skippable(&self) -> u64;

    /// Skips up to [`skippable`](Decode::skippable) bytes; returns the number skipped.
    fn skip(&mut self, bytes: u64) -> u64;

    /// Returns true if the content is complete, so that the source may end here.
    fn is_complete(&self) -> bool;
}

/// Completes a decoder's step: advances by the bytes used, or keeps the error for every further
/// call.
pub(crate) fn advance<'a>(
    step: Result<Step<'a>, Error>,
    offset: &mut u64,
    failed: &mut Option<Error>,
) -> Result<Step<'a>, Error> {
    match &step {
        Ok(step) => *offset = offset.saturating_add(step.used as u64),
        Err(error) => *failed = Some(*error),
    }
    step
}

impl<D: Decode + ?Sized> Decode for &mut D {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        (**self).next(input)
    }

    fn offset(&self) -> u64 {
        (**self).offset()
    }

    fn skippable(&self) -> u64 {
        (**self).skippable()
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        (**self).skip(bytes)
    }

    fn is_complete(&self) -> bool {
        (**self).is_complete()
    }
}

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// AMB `.amb`.
    Amb,
    /// EMBD `.weights`.
    Embd,
    /// finalfusion `.fifu`.
    Finalfusion,
    /// GGUF.
    Gguf,
    /// safetensors.
    Safetensors,
    /// UQFF, in a safetensors container.
    Uqff,
}

impl Format {
    /// The format's name in machine-readable output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amb => "amb",
            Self::Embd => "embd",
            Self::Finalfusion => "finalfusion",
            Self::Gguf => "gguf",
            Self::Safetensors => "safetensors",
            Self::Uqff => "uqff",
        }
    }
}

/// A version of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Version {
    /// Changes when old readers cannot read new files.
    pub major: u16,
    /// Changes otherwise.
    pub minor: u16,
}

impl Version {
    /// The version `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The contents of a file's fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The format.
    pub format: Format,
    /// The format's layout variant, for formats that have several.
    pub variant: &'static str,
    /// The version of the format.
    pub version: Version,
    /// The number of tensors, if the header states it.
    pub tensors: Option<u32>,
    /// The size of the whole file in bytes, if the header states it.
    pub file_bytes: Option<u64>,
}

/// The role of a special token, in the order of the EMBD special-token block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpecialRole {
    /// Padding: fills texts up to one length.
    Pad,
    /// Unknown: replaces a word that the vocabulary cannot spell.
    Unknown,
    /// Classification: starts a text.
    Classify,
    /// Separator: ends a text.
    Separate,
    /// Mask: replaces a word to be predicted.
    Mask,
}

impl SpecialRole {
    /// All roles, in the order of the EMBD special-token block.
    pub const ALL: [Self; 5] =
        [Self::Pad, Self::Unknown, Self::Classify, Self::Separate, Self::Mask];

    /// The role's name in machine-readable output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pad => "pad",
            Self::Unknown => "unk",
            Self::Classify => "cls",
            Self::Separate => "sep",
            Self::Mask => "mask",
        }
    }
}

/// How strictly a file is checked. The two modes differ only where the format's documentation says
/// so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Accepts harmless deviations: unknown flags, wrong name hashes, missing alignment, padding
    /// that is not zero.
    #[default]
    Lenient,
    /// Rejects every deviation.
    Strict,
}
