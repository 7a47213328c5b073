//! The texts of a folder in an `.amb` file: members of its configuration, as strings.

use crate::error::{Error, ErrorKind, Result};
use crate::format::amb::Amb;
use crate::text::json::{Kind, chars, unescape};

/// An `.amb` file that keeps the texts of a folder, which are without their escapes in lent memory.
#[derive(Clone, Copy, Debug)]
pub struct AmbFolder<'a> {
    file: Amb<'a>,
    texts: &'a [AmbFolderText<'a>],
}

/// A text and its path in the folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct AmbFolderText<'a> {
    path: &'a str,
    text: &'a str,
}

/// How many elements of each kind [`AmbFolder::open`] needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmbFolderNeeds {
    /// Texts.
    pub texts: usize,
    /// Bytes of these and of their paths.
    pub bytes: usize,
}

/// Memory for the texts: as many elements of each kind as [`AmbFolderNeeds`] says.
#[derive(Debug)]
pub struct AmbFolderMemory<'a> {
    /// Texts.
    pub texts: &'a mut [AmbFolderText<'a>],
    /// Bytes of these and of their paths.
    pub bytes: &'a mut [u8],
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl AmbFolderNeeds {
    /// What the texts of a file take.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DuplicateName`] if there are two of one path.
    pub fn of(file: &Amb<'_>) -> Result<Self> {
        let mut needs = Self::default();
        each(file, |path, text| {
            needs.texts = needs.texts.saturating_add(1);
            for spelled in [path, text] {
                let bytes: usize = chars(spelled).map(char::len_utf8).sum();
                needs.bytes = needs.bytes.saturating_add(bytes);
            }
            Ok(())
        })?;
        Ok(needs)
    }
}

impl<'a> AmbFolder<'a> {
    /// The texts of `file` in the memory lent.
    ///
    /// # Errors
    ///
    /// As [`AmbFolderNeeds::of`]; [`ErrorKind::BufferTooSmall`] if there is less memory than it
    /// says.
    pub fn open(file: Amb<'a>, memory: AmbFolderMemory<'a>) -> Result<Self> {
        let AmbFolderMemory { texts, bytes } = memory;
        let (mut used, mut rest) = (0_usize, bytes);
        each(&file, |path, text| {
            let place = texts.get_mut(used).ok_or(TOO_SMALL)?;
            let path = without_escapes(path, &mut rest)?;
            *place = AmbFolderText { path, text: without_escapes(text, &mut rest)? };
            used = used.saturating_add(1);
            Ok(())
        })?;
        Ok(Self { file, texts: &*texts })
    }

    pub(super) const fn file(&self) -> &Amb<'a> {
        &self.file
    }

    pub(super) fn text(&self, is_wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.texts.iter().find(|it| is_wanted(it.path)).map(|it| it.text)
    }
}

/// Calls `take` with the path and the text of each, as JSON spells them. Quadratic in the number of
/// members, of which there are some twenty.
fn each<'a>(file: &Amb<'a>, mut take: impl FnMut(&'a str, &'a str) -> Result<()>) -> Result<()> {
    for (key, value) in file.config_members() {
        if value.kind != Kind::String || !key.spelling.ends_with(".json") {
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

/// The text in front of `rest`, of which it is taken.
fn without_escapes<'a>(spelled: &str, rest: &mut &'a mut [u8]) -> Result<&'a str> {
    let bytes = chars(spelled).map(char::len_utf8).sum();
    let (place, behind) = core::mem::take(rest).split_at_mut_checked(bytes).ok_or(TOO_SMALL)?;
    *rest = behind;
    unescape(spelled, place).ok_or(TOO_SMALL)
}
