//! Where a description is spelled.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Value};

/// The value of JSON that a part of a description comes from, if it comes from one: for the offsets
/// of errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonPlace<'a>(Option<Value<'a>>);

impl<'a> JsonPlace<'a> {
    /// The place of a description that no file spells.
    pub const NONE: Self = Self(None);

    /// The place of what `value` spells.
    #[must_use]
    pub const fn new(value: Value<'a>) -> Self {
        Self(Some(value))
    }

    /// The value.
    #[must_use]
    pub const fn value(&self) -> Option<Value<'a>> {
        self.0
    }

    /// The absolute offset.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.map(|value| value.offset())
    }

    /// The place of a member, or this one if it is not there.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        self.0.and_then(|value| value.member(name)).map_or(*self, Self::new)
    }

    /// The error that the setting at `path`, a name within each, is not done; `only` says what is.
    #[must_use]
    pub fn unsupported(&self, path: &[&'static str], only: &'static str) -> Fault<'a> {
        self.fault(path, ErrorKind::UnsupportedSetting, only)
    }

    /// An error of the setting at `path`. Its offset is that of the last member that is there.
    #[must_use]
    pub fn fault(&self, path: &[&'static str], kind: ErrorKind, only: &'static str) -> Fault<'a> {
        let mut at = self.0;
        for name in path {
            let Some(inner) = at.and_then(|value| value.member(name)) else { break };
            at = Some(inner);
        }
        let error = match at {
            Some(value) => Error::new(value.offset(), kind),
            None => Error::without_offset(kind),
        };
        let mut fault = Fault::from_error(error);
        (fault.key, fault.only) = (path.last().copied().unwrap_or_default(), only);
        fault
    }

    /// An error that was met in what stands here. One that knows its own offset keeps it.
    #[must_use]
    pub fn met(&self, key: &'static str, error: Error) -> Fault<'a> {
        let offset = error.offset().or(self.offset());
        let mut fault = Fault::from_error(match offset {
            Some(offset) => Error::new(offset, error.kind()),
            None => error,
        });
        fault.key = key;
        fault
    }
}
