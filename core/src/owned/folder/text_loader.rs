//! Texts that are read on demand into memory of their own: a reader that asks for one that is not
//! there yet starts again when it is.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::{FolderFault, FolderResult, Texts};
use crate::describe::folder as describe;
use crate::describe::folder::{TextFault, TextPath};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{joined, push, spelled, write};
use crate::text::json::{Fault, chars};

/// A reader of texts. It has no other effect than its result, as it may run several times.
type Reader<'r, R> = &'r dyn for<'a> Fn(&dyn describe::Texts<'a>) -> Outcome<'a, R>;

/// A result, or the text at fault.
type Outcome<'a, R> = core::result::Result<R, TextFault<'a>>;

/// A text by its path; `None` if there is none.
type Loaded<'t> = (String, Option<Cow<'t, str>>);

/// Returns the result of `read` on `texts`.
pub(super) fn read<R>(texts: Texts<'_, '_>, read: Reader<'_, R>) -> FolderResult<R> {
    let mut loaded: Vec<Loaded<'_>> = Vec::new();
    loop {
        let asking = Asking { loaded: &loaded, wanted: RefCell::new(None) };
        let outcome = read(&asking).map_err(FolderFault::from);
        let Some(path) = asking.wanted.into_inner() else { return outcome };
        let text =
            texts(&path).map_err(|error| FolderFault::new(&path, Fault::from_error(error)))?;
        push(&mut loaded, (path, text))?;
    }
}

/// The same on the texts of `folder`, which ends with `/` or is empty.
pub(super) fn read_within<R>(
    texts: Texts<'_, '_>,
    folder: &str,
    read: Reader<'_, R>,
) -> FolderResult<R> {
    let within = |path: &str| texts(&joined(&[folder, path])?);
    self::read(&within, read).map_err(|fault| FolderFault {
        file: joined(&[folder, &fault.file]).unwrap_or_default(),
        ..fault
    })
}

/// The texts that are loaded, and the path of one that is not.
struct Asking<'a, 't> {
    loaded: &'a [Loaded<'t>],
    wanted: RefCell<Option<String>>,
}

impl<'a> describe::Texts<'a> for Asking<'a, '_> {
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>> {
        if let Some((_, text)) = self.loaded.iter().find(|(known, _)| path.is(known)) {
            return Ok(text.as_deref());
        }
        self.wanted.replace(Some(whole(path)?));
        Err(Error::without_offset(ErrorKind::ReadFailed))
    }
}

/// A path with `/` between its parts.
pub(super) fn whole(path: TextPath<'_>) -> Result<String> {
    let mut whole = folder(path.folder)?;
    write(&mut whole, path.name)?;
    Ok(whole)
}

/// A folder that JSON spells like this, with `/` at its end unless it is empty.
pub(super) fn folder(spelling: &str) -> Result<String> {
    let mut folder = spelled(chars(spelling))?;
    if !folder.is_empty() {
        write(&mut folder, "/")?;
    }
    Ok(folder)
}

/// The fault where memory is exhausted.
pub(super) fn no_memory<'a>(error: Error) -> TextFault<'a> {
    TextFault { path: TextPath { folder: "", name: "" }, fault: Fault::from_error(error) }
}

impl From<TextFault<'_>> for FolderFault {
    fn from(TextFault { path, fault }: TextFault<'_>) -> Self {
        Self::new(&whole(path).unwrap_or_default(), fault)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_reader_starts_again_with_every_text_that_it_lacks() {
        let asked = RefCell::new(Vec::new());
        let texts = |path: &str| {
            asked.borrow_mut().push(path.to_string());
            Ok((path != "c").then(|| Cow::Owned(path.to_uppercase())))
        };
        let all = read(&texts, &|texts| {
            let text = |folder, name| {
                let path = TextPath { folder, name };
                texts
                    .text(path)
                    .map_err(|error| TextFault { path, fault: Fault::from_error(error) })
            };
            let found = [text("", "a")?, text("x", "b")?, text("", "c")?, text("", "a")?];
            Ok(found.map(|text| text.map(String::from)))
        });
        let expected = [Some("A"), Some("X/B"), None, Some("A")];
        assert_eq!(all.unwrap(), expected.map(|text| text.map(String::from)));
        assert_eq!(*asked.borrow(), ["a", "x/b", "c"]);
    }
}
