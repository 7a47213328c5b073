//! Statuses, and the failures of calls.

use nanoembed_core::{Error, ErrorKind};

/// The result of a call: 0 for success, else whose fault it is by the hundreds digit. 1xx the file
/// is damaged, 2xx it is not supported here, 3xx the model in it is incomplete, 4xx the call, 5xx
/// the source, 9xx the call, seen by this interface. Numbers never change their meaning.
pub type nanoembed_status = u32;

/// The call did what it should.
pub const NANOEMBED_OK: nanoembed_status = 0;
/// The format embd is not part of this build.
pub const NANOEMBED_UNSUPPORTED_EMBD: nanoembed_status = 291;
/// The format finalfusion is not part of this build.
pub const NANOEMBED_UNSUPPORTED_FINALFUSION: nanoembed_status = 292;
/// The format gguf is not part of this build.
pub const NANOEMBED_UNSUPPORTED_GGUF: nanoembed_status = 293;
/// The format safetensors is not part of this build.
pub const NANOEMBED_UNSUPPORTED_SAFETENSORS: nanoembed_status = 294;
/// The format uqff is not part of this build.
pub const NANOEMBED_UNSUPPORTED_UQFF: nanoembed_status = 295;
/// The format amb is not part of this build.
pub const NANOEMBED_UNSUPPORTED_AMB: nanoembed_status = 296;
/// Transformers are not part of this build.
pub const NANOEMBED_UNSUPPORTED_TRANSFORMERS: nanoembed_status = 297;
/// A pointer is NULL where that is not allowed, is not aligned, or has an impossible length.
pub const NANOEMBED_BAD_POINTER: nanoembed_status = 901;
/// The callback asked to stop.
pub const NANOEMBED_STOPPED: nanoembed_status = 902;
/// The word, tensor or row asked for is not there.
pub const NANOEMBED_NOT_FOUND: nanoembed_status = 903;
/// There is no memory left on the heap.
pub const NANOEMBED_OUT_OF_MEMORY: nanoembed_status = 904;
/// A file of this format or kind must be in memory.
pub const NANOEMBED_NEEDS_MEMORY: nanoembed_status = 905;
/// The operating system cannot open or map the file.
pub const NANOEMBED_CANNOT_OPEN: nanoembed_status = 906;

/// The file has the weights of a model alone: its folder is opened by its path.
pub const NANOEMBED_NEEDS_FOLDER: nanoembed_status = 907;

/// Stands for no place in a file.
pub const NANOEMBED_NO_OFFSET: u64 = u64::MAX;

/// The failure of a call. As small as can be: every step of every call may give one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) offset: u64,
    status: nanoembed_status,
    /// The name of the thing at fault, or nothing.
    pub(crate) name: &'static str,
    /// The bytes or elements that would suffice, or 0.
    pub(crate) needed: usize,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::core(error)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self::from_kind(kind)
    }
}

pub(crate) const BAD_POINTER: Failure = Failure::here(NANOEMBED_BAD_POINTER);
pub(crate) const TOO_SMALL: Failure = Failure::from_kind(ErrorKind::BufferTooSmall);
pub(crate) const INVALID: Failure = Failure::from_kind(ErrorKind::InvalidArgument);

/// Lent memory is too small: so many bytes or elements are needed.
pub(crate) const fn too_small(needed: usize) -> Failure {
    Failure { needed, ..TOO_SMALL }
}

/// The parameter or field of this name cannot be what it is.
pub(crate) const fn invalid(name: &'static str) -> Failure {
    INVALID.about(name)
}

impl Failure {
    #[inline(never)] // there are calls of it everywhere
    pub(crate) fn core(error: Error) -> Self {
        let offset = error.offset().unwrap_or(NANOEMBED_NO_OFFSET);
        Self { offset, ..Self::from_kind(error.kind()) }
    }

    const fn from_kind(kind: ErrorKind) -> Self {
        Self::here(kind.code() as nanoembed_status)
    }

    pub(crate) const fn here(status: nanoembed_status) -> Self {
        Self { offset: NANOEMBED_NO_OFFSET, status, name: "", needed: 0 }
    }

    /// The same, of what has this name.
    pub(crate) const fn about(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) const fn status(self) -> nanoembed_status {
        self.status
    }
}
