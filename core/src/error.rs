//! Errors: a cause with a stable code, and the byte of the file where it was found.
//!
//! Codes are grouped by whose fault it is, so that a caller can decide what to do from the hundreds
//! digit alone:
//!
//! | codes | whose fault | what helps |
//! |---|---|---|
//! | 1xx | the file: damaged or not what it claims | another copy of the file |
//! | 2xx | ours: well-formed, but not something this reader does | another version or build |
//! | 3xx | the model in the file: parts missing or at odds with each other | converting the model again |
//! | 4xx | the caller: a buffer too small, an argument out of range | calling differently |
//! | 5xx | the source: reading failed | trying again |
//!
//! Codes never change their meaning; new causes get new numbers.

use core::ffi::CStr;
use core::fmt;

/// A cause with a stable code and, if the error is about a place in a file, the offset of that
/// place.
///
/// ```
/// use nanoembed_core::{Error, ErrorKind};
///
/// let error = Error::new(56, ErrorKind::HeaderChecksum);
/// assert_eq!((error.code(), error.offset()), (115, Some(56)));
/// assert_eq!(error.to_string(), "byte 56: the header's checksum does not match its bytes");
///
/// let error = Error::without_offset(ErrorKind::InvalidArgument);
/// assert_eq!((error.code(), error.offset()), (402, None));
/// assert_eq!(error.to_string(), "an argument is out of its range");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// [`NOWHERE`] if the error is not about a place in a file.
    offset: u64,
    kind: ErrorKind,
}

/// An offset that no file reaches.
const NOWHERE: u64 = u64::MAX;

impl Error {
    /// An error of `kind` about the field at the absolute byte `offset`.
    #[must_use]
    pub const fn new(offset: u64, kind: ErrorKind) -> Self {
        Self { offset, kind }
    }

    /// An error that is about an argument, a buffer or a model as a whole rather than a place in a
    /// file.
    #[must_use]
    pub const fn without_offset(kind: ErrorKind) -> Self {
        Self { offset: NOWHERE, kind }
    }

    /// The cause.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The absolute offset in the file of the offending field; `None` if the error is not about a
    /// place in a file.
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        match self.offset {
            NOWHERE => None,
            offset => Some(offset),
        }
    }

    /// Converts an error of a part of a file to one of the whole file; the part begins at `start`.
    #[must_use]
    pub const fn shifted_by(self, start: u64) -> Self {
        Self { offset: self.offset.saturating_add(start), kind: self.kind }
    }

    /// The stable number of the cause.
    #[must_use]
    pub const fn code(&self) -> u16 {
        self.kind.code()
    }

    /// One English sentence that says what is wrong.
    #[must_use]
    pub const fn message(&self) -> &'static str {
        self.kind.message()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.offset() {
            write!(f, "byte {offset}: ")?;
        }
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, .. } = self;
        f.debug_struct("Error").field("kind", kind).field("offset", &self.offset()).finish()
    }
}

impl core::error::Error for Error {}

/// A literal that ends with its only zero.
const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

macro_rules! error_kinds {
    ($($(#[$group:meta])* $code:literal $variant:ident $name:literal $message:literal;)+) => {
        /// The causes of errors. The number of a variant is its stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum ErrorKind {
            $($(#[$group])* #[doc = $message] $variant = $code,)+
        }

        impl ErrorKind {
            /// Every cause, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable number of this cause.
            #[must_use]
            pub const fn code(self) -> u16 {
                self as u16
            }

            /// The stable name of this cause in `snake_case`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// One English sentence that says what is wrong.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self { $(Self::$variant => $message,)+ }
            }

            /// [`name`](Self::name) for callers whose strings end with a zero.
            #[must_use]
            pub const fn c_name(self) -> &'static CStr {
                match self { $(Self::$variant => c_str(concat!($name, "\0")),)+ }
            }

            /// [`message`](Self::message) for callers whose strings end with a zero.
            #[must_use]
            pub const fn c_message(self) -> &'static CStr {
                match self { $(Self::$variant => c_str(concat!($message, "\0")),)+ }
            }

            /// The cause with this number.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

error_kinds! {
    // 1xx: the file.
    101 UnexpectedEnd "unexpected_end" "the file ends in the middle of an item";
    102 BadMagic "bad_magic" "the file does not start with a known magic number";
    103 TrailingBytes "trailing_bytes" "bytes follow the end of the content";
    104 InvalidUtf8 "invalid_utf8" "a string is not valid UTF-8";
    105 OutOfBounds "out_of_bounds" "an offset or size points outside the file or its section";
    106 Overlap "overlap" "two sections or tensors share bytes";
    107 SizeOverflow "size_overflow" "a product of dimensions is larger than any file can be";
    108 SizeMismatch "size_mismatch" "a declared size differs from the content it describes";
    109 BadDimensions "bad_dimensions" "a tensor has no dimensions, too many, or one of size zero";
    110 BadDtype "bad_dtype" "the number of a data type is not one the format defines";
    111 ReservedNotZero "reserved_not_zero" "a reserved field, an unused dimension or padding is not zero";
    112 Misaligned "misaligned" "the file promises aligned tensors, but this one is not";
    113 NameHashMismatch "name_hash_mismatch" "the hash beside a tensor's name is not the hash of that name";
    114 DuplicateName "duplicate_name" "two tensors or two metadata keys have the same name";
    115 HeaderChecksum "header_checksum" "the header's checksum does not match its bytes";
    116 DataChecksum "data_checksum" "the tensor data's checksum does not match its bytes";
    117 FileChecksum "file_checksum" "the file's checksum does not match its bytes";
    118 BadFooter "bad_footer" "the footer's magic number is missing";
    119 UnknownFlags "unknown_flags" "a flag is set that the format does not define";
    120 EmptyName "empty_name" "a tensor or metadata key has an empty name";
    121 BadCount "bad_count" "a count is larger than the bytes that follow could hold";
    122 BadChunk "bad_chunk" "a chunk has an unknown identifier, stands in the wrong place, or is not the one that the list announces";
    123 DuplicateWord "duplicate_word" "a word or n-gram stands in the vocabulary twice";
    124 CodeOutOfRange "code_out_of_range" "a quantised code is larger than the number of centroids";
    125 BadToml "bad_toml" "the TOML is not well-formed";
    130 BadJson "bad_json" "the JSON is not well-formed";
    131 BadField "bad_field" "a field is missing, given twice, or not of the type it should have";
    132 NotContiguous "not_contiguous" "the tensors do not fill the data without gaps";
    133 BadQuantization "bad_quantization" "a quantisation has parameters that the format does not define";
    134 BadEncoding "bad_encoding" "the number of a layer's encoding is not one the format defines";
    135 BadVersion "bad_version" "the file's version is missing, or it mixes the layouts of two versions";
    136 BadAlignment "bad_alignment" "the alignment is not a power of two, or not one the format allows";
    140 MissingQuantization "missing_quantization" "a quantised tensor's data does not begin with the parameters of its quantisation";

    // 2xx: not supported here.
    201 UnsupportedVersion "unsupported_version" "this version of the format is not supported";
    202 Compressed "compressed" "the file is marked as compressed, for which the format defines no method";
    203 TooManyTensors "too_many_tensors" "the file has more tensors than this reader was built to keep";
    204 NameTooLong "name_too_long" "a name is longer than this reader accepts";
    205 TooManyEntries "too_many_entries" "the file has more metadata entries than this reader was built to keep";
    206 UnknownFormat "unknown_format" "none of the formats known here starts like this file";
    207 UnsupportedDtype "unsupported_dtype" "a tensor's data type cannot be used here";
    208 UnsupportedSetting "unsupported_setting" "the model asks for something that is not done here";
    209 OverLimit "over_limit" "a number is larger than any that is taken here";
    210 HeaderTooLarge "header_too_large" "the header is larger than this reader accepts";
    211 TooDeep "too_deep" "the JSON is nested deeper than this reader follows";
    212 BigEndian "big_endian" "the file is big-endian; only little-endian files are read";
    213 UnsupportedArchitecture "unsupported_architecture" "the file says that its model is of an architecture that is not known here";
    214 RemovedDtype "removed_dtype" "a tensor has a data type that the format had once and has removed";
    215 SplitFile "split_file" "the file is one part of several that a model was split into";
    216 NestedArray "nested_array" "an array of arrays stands in the metadata, which ggml does not read either";
    217 OtherModel "other_model" "the model is of another kind: one that continues texts where one that embeds them is asked for, or the other way round";
    218 UnsupportedTokenizer "unsupported_tokenizer" "the model's tokenizer is of a kind that is not read here";

    // 3xx: the model.
    301 MissingMetadata "missing_metadata" "a metadata key that the model needs is missing";
    302 BadMetadata "bad_metadata" "a metadata value is not the number or word it should be";
    303 MissingTensor "missing_tensor" "a tensor that the model needs is missing";
    304 WrongShape "wrong_shape" "a tensor's shape does not fit the model's sizes";
    305 TransposedWeights "transposed_weights" "linear weights are stored [in, out] instead of [out, in]; convert the file to use it";
    306 MissingVocabulary "missing_vocabulary" "the file has no vocabulary";
    307 BadVocabulary "bad_vocabulary" "the vocabulary's size, special tokens or index are at odds with its tokens";
    308 BadScale "bad_scale" "a quantised tensor's scale is missing, of another type, or not a finite number";
    309 MixedShards "mixed_shards" "the files are not all shards of one set, or not all of them are here";
    310 NotFinite "not_finite" "the model gave numbers that are not finite: its weights are damaged, or too large for 32 bits";

    // 4xx: the caller.
    401 BufferTooSmall "buffer_too_small" "the buffer lent is too small";
    402 InvalidArgument "invalid_argument" "an argument is out of its range";
    403 TooManyTokens "too_many_tokens" "there are more tokens than the model has positions";
    404 TokenOutOfRange "token_out_of_range" "a token id is not in the model's vocabulary";
    405 Finished "finished" "the reader was used again after its end";
    406 IndexRequired "index_required" "the rows of this vocabulary's n-grams can be told only by an index in memory";
    407 NoMemory "no_memory" "there is not as much memory as this takes";

    // 5xx: the source.
    501 ReadFailed "read_failed" "reading from the source failed";
    502 SourceChanged "source_changed" "the source delivered fewer bytes than it promised";
    503 WriteFailed "write_failed" "writing failed";
}

/// `Result` with this crate's [`Error`].
pub type Result<T> = core::result::Result<T, Error>;
