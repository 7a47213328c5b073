//! The texts of a folder by path, and their faults.

use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::Embd;
use crate::text::json::{Fault, Object, Value, is};

/// The texts of a folder.
pub trait Texts<'a> {
    /// The text at `path`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>>;
}

/// The path of a text in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPath<'p> {
    /// The folder of its module as JSON spells it, without a trailing `/`; empty for the model's
    /// own.
    pub folder: &'p str,
    /// The file's name.
    pub name: &'static str,
}

/// An error in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFault<'a> {
    /// The text.
    pub path: TextPath<'a>,
    /// The error, with the setting at fault.
    pub fault: Fault<'a>,
}

/// A result that names the text at fault.
pub type ReadText<'a, T> = core::result::Result<T, TextFault<'a>>;

impl<'p> TextPath<'p> {
    /// The text called `name` in the model's own folder.
    #[must_use]
    pub const fn own(name: &'static str) -> Self {
        Self { folder: "", name }
    }

    /// Returns true if it is equal to `path`, whose components are separated by `/`.
    #[must_use]
    pub fn is(&self, path: &str) -> bool {
        match path.strip_suffix(self.name) {
            Some("") => self.folder.is_empty(),
            Some(before) => before.strip_suffix('/').is_some_and(|it| is(self.folder, it)),
            None => false,
        }
    }

    pub(super) const fn fault(self, fault: Fault<'p>) -> TextFault<'p> {
        TextFault { path: self, fault }
    }

    pub(super) const fn error(self, error: Error) -> TextFault<'p> {
        self.fault(Fault::from_error(error))
    }

    /// The fault of a setting that is refused, without a place in the text.
    pub(super) const fn unsupported(self, key: &'p str, only: &'static str) -> TextFault<'p> {
        self.fault(Fault { error: Error::new(0, ErrorKind::UnsupportedSetting), key, only })
    }

    /// The fault of a missing text.
    pub(super) const fn missing(self) -> TextFault<'p> {
        self.error(Error::new(0, ErrorKind::MissingMetadata))
    }

    /// The text at this path.
    pub(super) fn text(self, texts: &dyn Texts<'p>) -> ReadText<'p, Option<&'p str>> {
        texts.text(self).map_err(|error| self.error(error))
    }

    /// Parses the text at this path.
    pub(super) fn value(self, text: &'p str) -> ReadText<'p, Value<'p>> {
        Value::parse(text, 0).map_err(|error| self.error(error))
    }

    /// Parses the text at this path as an object and applies `read` to it.
    pub(super) fn object<R>(
        self,
        text: &'p str,
        read: impl FnOnce(&Object<'p>) -> core::result::Result<R, Fault<'p>>,
    ) -> ReadText<'p, R> {
        let object = Object::new(self.value(text)?);
        object.and_then(|object| read(&object)).map_err(|fault| self.fault(fault))
    }
}

impl<'a> TextFault<'a> {
    /// The fault for callers that do not name the file: if no setting is at fault, the file's name
    /// takes its place.
    #[must_use]
    pub const fn setting_fault(self) -> Fault<'a> {
        let is_json = matches!(
            self.fault.error.kind(),
            ErrorKind::BadJson | ErrorKind::InvalidUtf8 | ErrorKind::TooDeep
        );
        match self.fault {
            fault if is_json || !fault.key.is_empty() => fault,
            fault => Fault { key: self.path.name, ..fault },
        }
    }
}

impl<'a> Texts<'a> for Embd<'a> {
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>> {
        Ok(self.metadata().find(|(known, _)| path.is(known)).map(|(_, text)| text))
    }
}
