//! JSON files as trees of values.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::Value;

use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// A JSON file; `None` if there is none.
pub(crate) fn read_json(path: &Path) -> Result<Option<Value>> {
    Ok(read_json_text(path)?.map(|(value, _)| value))
}

/// A JSON file and its text; `None` if there is none.
pub(crate) fn read_json_text(path: &Path) -> Result<Option<(Value, String)>> {
    let bytes = match whole_file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::reading(name_of(path), &error)),
    };
    let bad = |error: &dyn Display| {
        let message = format!("not valid JSON: {error}");
        Error::input(ErrorKind::BadMetadata, message).at(path.display())
    };
    let value = tree(&bytes).map_err(|fault| match fault {
        TreeFault::Memory(error) => Error::in_file(path.display(), error),
        TreeFault::Invalid(error) => bad(&error),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| bad(&error))?;
    Ok(Some((value, text)))
}

/// The reason that a text has no tree.
pub(crate) enum TreeFault {
    Memory(CoreError),
    Invalid(serde_json::Error),
}

impl Display for TreeFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

/// The most bytes of a tree.
const MOST_BYTES: usize = 1 << 31;

/// The bytes that the smallest object, the smallest list, and a further member take, while lists grow
/// too: measured with memory that counts.
const OBJECT: usize = 512;
const LIST: usize = 320;
const MEMBER: usize = 384;

/// The tree of a JSON text, which takes memory that is not refused: as much is reserved before, and
/// returned.
pub(crate) fn tree(text: &[u8]) -> std::result::Result<Value, TreeFault> {
    let room = room(text);
    if room > MOST_BYTES {
        return Err(TreeFault::Memory(CoreError::without_offset(ErrorKind::OverLimit)));
    }
    limit::reserved::<u8>(room).map(drop).map_err(TreeFault::Memory)?;
    serde_json::from_slice(text).map_err(TreeFault::Invalid)
}

/// The bytes that the tree of a text takes at most: texts are copied, and each bracket and comma may
/// stand for a value.
fn room(text: &[u8]) -> usize {
    let of_byte = |byte: &u8| match byte {
        b'{' => OBJECT,
        b'[' => LIST,
        b',' => MEMBER,
        _ => 2,
    };
    text.iter().map(of_byte).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_takes_too_much_is_refused_before_it_is_made() {
        let lists = "[".repeat(MOST_BYTES / LIST + 1);
        let fault = tree(lists.as_bytes()).unwrap_err();
        assert!(matches!(fault, TreeFault::Memory(error) if error.kind() == ErrorKind::OverLimit));
        assert_eq!(tree(b"{\"a\": [1, 2]}").ok().unwrap()["a"][1], 2);
    }
}
