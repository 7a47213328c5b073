//! The texts of a folder in an `.amb` file: members of its configuration, as strings.

use super::tokenizer::first_entry;
use crate::describe::folder::{TextPath, Texts};
use crate::error::{Error, ErrorKind, Result};
use crate::format::amb::Amb;
use crate::text::json::{LexemeKind, chars, unescape};

/// An `.amb` file that keeps the texts of a folder, which are without their escapes in lent memory.
#[derive(Clone, Copy, Debug)]
pub struct AmbFolder<'a> {
    file: Amb<'a>,
    /// Each text after its path, and both after their length, a `u32`.
    texts: &'a [u8],
}

/// The ends of the paths of texts.
const TEXTS: [&str; 2] = [".json", ".jinja"];

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<'a> AmbFolder<'a> {
    /// How many bytes of memory [`open`](Self::open) needs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DuplicateName`] if there are two texts of one path.
    pub fn bytes_needed(file: &Amb<'_>) -> Result<usize> {
        let mut needed = 0_usize;
        each(file, |path, text| {
            for spelled in [path, text] {
                let bytes = chars(spelled).map(char::len_utf8).sum();
                needed = needed.saturating_add(bytes).saturating_add(4);
            }
            Ok(())
        })?;
        Ok(needed)
    }

    /// The texts of `file` in the memory lent.
    ///
    /// # Errors
    ///
    /// As [`bytes_needed`](Self::bytes_needed); [`ErrorKind::BufferTooSmall`] if there is less
    /// memory than it says.
    pub fn open(file: Amb<'a>, memory: &'a mut [u8]) -> Result<Self> {
        let mut rest = &mut *memory;
        each(&file, |path, text| {
            put(path, &mut rest)?;
            put(text, &mut rest)
        })?;
        let unused = rest.len();
        let used = memory.len().saturating_sub(unused);
        Ok(Self { file, texts: memory.get(..used).unwrap_or_default() })
    }

    pub(super) const fn file(&self) -> &Amb<'a> {
        &self.file
    }
}

impl<'a> Texts<'a> for AmbFolder<'a> {
    fn text(&self, wanted: TextPath<'_>) -> Result<Option<&'a str>> {
        let mut rest = self.texts;
        while let Some((path, after)) = first_entry(rest, 4) {
            let Some((text, after)) = first_entry(after, 4) else { break };
            if core::str::from_utf8(path).is_ok_and(|path| wanted.is(path)) {
                return Ok(core::str::from_utf8(text).ok());
            }
            rest = after;
        }
        Ok(None)
    }
}

/// Calls `take` with the path and the text of each, as JSON spells them. Quadratic in the number of
/// members, of which there are some twenty.
fn each<'a>(file: &Amb<'a>, mut take: impl FnMut(&'a str, &'a str) -> Result<()>) -> Result<()> {
    for (key, value) in file.config_members() {
        let is_path = TEXTS.iter().any(|ending| key.spelling.ends_with(ending));
        if value.kind != LexemeKind::String || !is_path {
            continue;
        }
        let is_same = |other: &str| chars(other).eq(chars(key.spelling));
        if file.config_members().filter(|(other, _)| is_same(other.spelling)).count() > 1 {
            return Err(Error::new(key.offset, ErrorKind::DuplicateName));
        }
        take(key.spelling, value.spelling)?;
    }
    Ok(())
}

/// Puts what JSON spells like this, after its length, at the front of `rest`, which becomes what is
/// after it.
fn put(spelled: &str, rest: &mut &mut [u8]) -> Result<()> {
    let (length, free) = core::mem::take(rest).split_first_chunk_mut().ok_or(TOO_SMALL)?;
    let bytes = unescape(spelled, free).ok_or(TOO_SMALL)?.len();
    *length = u32::try_from(bytes).map_err(|_| TOO_SMALL)?.to_le_bytes();
    *rest = free.get_mut(bytes..).unwrap_or_default();
    Ok(())
}
