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

/// What a decoder finds in a file, in the order in which it lies there. Events borrow only the
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
        /// What the token is for.
        role: SpecialRole,
        /// Its id.
        id: u32,
    },
    /// A tensor's name, type, shape and place. Its bytes come as [`Event::Data`], after or (rarely)
    /// before.
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
        /// How many bytes, counted from the current position, the next call should be given at
        /// least.
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
    /// How many bytes of the input were consumed.
    pub used: usize,
    /// What they were; `None` if they only changed the decoder's state.
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

    /// Nothing happens before the input has `at_least` bytes.
    pub(crate) const fn need_more(at_least: usize) -> Self {
        Self::new(0, Event::NeedMore { at_least })
    }

    /// As much bulk data as `input`, which lies at `offset`, has before the absolute offset
    /// `until`.
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
    /// Consumes some of `input`, whose first byte lies at [`offset`](Decode::offset).
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the file; after an error every call returns that error.
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error>;

    /// The absolute offset of the next byte to be consumed.
    fn offset(&self) -> u64;

    /// How many of the next bytes are bulk data that [`skip`](Decode::skip) may pass over unseen.
    fn skippable(&self) -> u64;

    /// Passes over up to [`skippable`](Decode::skippable) bytes without seeing them; returns how
    /// many.
    fn skip(&mut self, bytes: u64) -> u64;

    /// Whether the content is complete, so that the source may end here.
    fn is_complete(&self) -> bool;
}

/// What every decoder does after a step: moves on by what was used, or keeps the error for every
/// further call.
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

/// The formats known here.
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
    /// What changes when old readers cannot read new files.
    pub major: u16,
    /// What changes otherwise.
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

/// What a file's fixed header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The format.
    pub format: Format,
    /// Which of the format's layouts this is, where there are several.
    pub variant: &'static str,
    /// The version of the format.
    pub version: Version,
    /// The number of tensors, where the header says it.
    pub tensors: Option<u32>,
    /// The size of the whole file in bytes, where the header says it.
    pub file_bytes: Option<u64>,
}

/// What a special token is for, in the order of the EMBD special-token block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpecialRole {
    /// Fills texts up to one length.
    Pad,
    /// Stands for a word that the vocabulary cannot spell.
    Unknown,
    /// Starts a text.
    Classify,
    /// Ends a text.
    Separate,
    /// Stands for a word to be guessed.
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

/// How much of a format's letter is insisted on. The two differ only where the format's page says
/// so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Accepts harmless deviations: unknown flags, wrong name hashes, missing alignment, padding
    /// that is not zero.
    #[default]
    Lenient,
    /// Refuses every deviation.
    Strict,
}
