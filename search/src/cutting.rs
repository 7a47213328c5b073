//! Files read and cut into passages.

use std::path::Path;

use nanoembed::{Encoder, Error, ErrorKind, Result, name_of};

use crate::content::Content;
use crate::passage::{Form, passages};
use crate::records;
use crate::walk::{Found, read};

/// Reads files in another way than this crate does, which reads texts and JSON lines, or reads `-`.
pub trait Reader: Sync {
    /// The content of a file; `None` if this crate is to read it.
    fn content(&self, found: &Found, encoder: &Encoder) -> Option<Result<Content>>;
}

/// Leaves all files to this crate.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsualReader;

impl Reader for UsualReader {
    fn content(&self, _: &Found, _: &Encoder) -> Option<Result<Content>> {
        None
    }
}

/// How texts are cut into passages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cutting {
    /// The form of all texts; if `None`, each file's name tells it.
    pub form: Option<Form>,
    /// True if bytes that are not UTF-8 become U+FFFD even in files that were given by name.
    pub lossy: bool,
}

impl Cutting {
    /// The passages of a text; `found` tells its form.
    ///
    /// # Errors
    ///
    /// Fails if a file that was given is not in UTF-8.
    pub fn cut(&self, found: &Found, bytes: Vec<u8>, encoder: &Encoder) -> Result<Content> {
        let text = self.text(found, bytes)?;
        let form = self.form.unwrap_or_else(|| Form::for_path(&found.path));
        let passages = passages(form, &text, encoder).into_iter().map(|it| (it, String::new()));
        Ok(Content { passages: passages.collect(), ..Content::default() })
    }

    /// True if each line of a file is a record.
    #[must_use]
    pub fn has_records(&self, path: &Path) -> bool {
        self.form.is_none() && Form::for_path(path) == Form::JsonLines
    }

    /// The content of a file, which is empty if it is no text.
    pub(crate) fn content(
        &self,
        found: &Found,
        encoder: &Encoder,
        reader: &dyn Reader,
    ) -> Result<Content> {
        if let Some(content) = reader.content(found, encoder) {
            return content;
        }
        if self.has_records(&found.path) {
            return records::read(found, self.lossy, encoder);
        }
        match read(&found.path)? {
            Some(bytes) => self.cut(found, bytes, encoder),
            None if found.is_given => Err(Error::bad_input("is no text").at(name_of(&found.path))),
            None => Ok(Content::default()),
        }
    }

    /// A text in UTF-8: bytes that are not are replaced in files that were not given.
    fn text(&self, found: &Found, bytes: Vec<u8>) -> Result<String> {
        let is_lossy = self.lossy || !found.is_given;
        String::from_utf8(bytes).or_else(|error| {
            if is_lossy {
                return Ok(String::from_utf8_lossy(error.as_bytes()).into_owned());
            }
            Err(invalid(&found.path, error.as_bytes(), error.utf8_error().valid_up_to()))
        })
    }
}

fn invalid(path: &Path, bytes: &[u8], at: usize) -> Error {
    let before = bytes.get(..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    Error::input(ErrorKind::InvalidUtf8, "not valid UTF-8")
        .at(name_of(path))
        .at(format_args!("line {line}"))
        .at_byte(at as u64)
        .with_hint("`--lossy` replaces such bytes")
}
