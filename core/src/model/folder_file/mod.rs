//! A file in memory that keeps the texts of a folder beside its tensors, and the tokenizer.
//!
//! `.weights` files have the texts as they are, among their metadata. In `.amb` files they are
//! strings of the configuration, whose escapes are resolved in memory that is lent.

mod amb;
mod section;
mod tokenizer;

use crate::describe::folder::{TextPath, Texts};
use crate::error::Result;
use crate::format::embd::Embd;
use crate::tensor::TensorView;
use crate::text::json::Read;

pub use self::amb::AmbFolder;
pub(in crate::model) use self::tokenizer::TokenizerSections;

/// A file in memory that keeps the texts of a folder.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FolderFile<'a> {
    /// A `.weights` file.
    Embd(Embd<'a>),
    /// An `.amb` file.
    Amb(AmbFolder<'a>),
}

impl<'a> From<Embd<'a>> for FolderFile<'a> {
    fn from(file: Embd<'a>) -> Self {
        Self::Embd(file)
    }
}

impl<'a> From<AmbFolder<'a>> for FolderFile<'a> {
    fn from(file: AmbFolder<'a>) -> Self {
        Self::Amb(file)
    }
}

impl<'a> FolderFile<'a> {
    /// The tokenizer.
    ///
    /// # Errors
    ///
    /// [`MissingVocabulary`](crate::ErrorKind::MissingVocabulary) without one;
    /// [`UnsupportedTokenizer`](crate::ErrorKind::UnsupportedTokenizer) for one that is no folder's;
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary).
    pub(in crate::model) fn tokenizer(&self) -> Read<'a, TokenizerSections<'a>> {
        match self {
            Self::Embd(file) => TokenizerSections::from_embd(file),
            Self::Amb(file) => section::sections(file.file()),
        }
    }

    /// The tensor of this name.
    pub(in crate::model) fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        match self {
            Self::Embd(file) => file.tensor(name),
            Self::Amb(file) => file.file().tensor(name),
        }
    }
}

impl<'a> Texts<'a> for FolderFile<'a> {
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>> {
        match self {
            Self::Embd(file) => file.text(path),
            Self::Amb(file) => file.text(path),
        }
    }
}
