//! Limits on the memory that a model's file makes the library take.

use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result};
use crate::units;

/// Limits on the memory that a model's file makes the library take. Anything above is refused
/// before it is allocated, as [`OverLimit`](ErrorKind::OverLimit), by the name of the limit.
///
/// Opening takes time and memory in proportion to the files, running in proportion to tokens; the
/// file sets the most tokens of a text, unless `max_tokens` is less.
///
/// ```
/// use nanoembed::{Encoder, ErrorKind, Kind, Limits};
///
/// let limits = Limits { session_bytes: 1 << 10, ..Limits::default() };
/// let refused = Encoder::options().limits(limits).open("../ffi/tests/data/small_bert.weights");
/// let error = refused.unwrap_err();
/// assert_eq!(error.kind(), Kind::Core(ErrorKind::OverLimit));
/// assert!(error.to_string().contains("`session_bytes`"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files that hold the model's weights, or of the file of word vectors: 1 TiB.
    pub file_bytes: u64,
    /// Bytes of scratch memory that a thread takes for the longest text: 16 GiB. A generator's are
    /// for as many tokens as the prompt has and are asked for.
    pub session_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1 << 40, session_bytes: 1 << 34 }
    }
}

impl Limits {
    /// Refuses files of so many bytes, of which messages say `name`.
    #[doc(hidden)]
    pub fn check_file_bytes(&self, bytes: u64, name: &str) -> Result<()> {
        if bytes <= self.file_bytes {
            return Ok(());
        }
        let limit = ("file_bytes", self.file_bytes);
        Err(refused(format_args!("its files have {}", units::bytes(bytes)), limit)
            .at(name)
            .with_hint("a larger limit takes it, if you trust the file"))
    }

    /// Refuses scratch memory of so many bytes, which a text of so many tokens takes with the model
    /// called `name`. Memory that cannot be counted is refused where it is asked for.
    pub(crate) fn check_session(
        &self,
        bytes: core::result::Result<usize, CoreError>,
        tokens: usize,
        name: &str,
    ) -> Result<()> {
        let bytes = bytes.map_or(0, |bytes| bytes as u64);
        if bytes <= self.session_bytes {
            return Ok(());
        }
        let limit = ("session_bytes", self.session_bytes);
        let taken = units::bytes(bytes);
        Err(refused(format_args!("a text of {tokens} tokens takes {taken} of memory"), limit)
            .at(name)
            .with_hint("fewer tokens (`max_tokens`) take less, and a larger limit allows more"))
    }
}

/// The most tokens of a text that are used: `asked`, or as many as the model was trained for.
pub(crate) fn max_tokens(asked: Option<usize>, usual: usize, positions: usize) -> Result<usize> {
    match asked {
        None => Ok(usual),
        Some(asked) if (2..=positions).contains(&asked) => Ok(asked),
        Some(asked) => Err(Error::argument("max_tokens", format!("{asked} is out of range"))
            .with_hint(format!(
                "two special tokens stand around every text, and this model has {positions} positions: 2 to {positions}"
            ))),
    }
}

fn refused(what: std::fmt::Arguments<'_>, (name, most): (&'static str, u64)) -> Error {
    let most = units::bytes(most);
    Error::input(ErrorKind::OverLimit, format!("{what}, where the limit `{name}` allows {most}"))
}
