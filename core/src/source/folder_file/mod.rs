//! A file in memory that describes its encoder, by the texts of a folder or by keys.
//!
//! `.weights` files have the texts as they are, among their metadata. In `.amb` files they are
//! strings of the configuration, whose escapes are resolved in memory that is lent. GGUF files have
//! keys in place of texts.

mod amb;
mod section;
mod tokenizer;

use crate::describe::folder::{TextPath, Texts};
use crate::describe::gguf::{Key, gguf_tensor_name};
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::Embd;
use crate::format::gguf::Gguf;
use crate::tensor::TensorView;
use crate::text::json::{Fault, Read};

pub use self::amb::AmbFolder;
pub(in crate::source) use self::tokenizer::TokenizerSections;

/// A file in memory that describes its encoder.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FolderFile<'a> {
    /// A `.weights` file.
    Embd(Embd<'a>),
    /// An `.amb` file.
    Amb(AmbFolder<'a>),
    /// A GGUF file.
    Gguf(Gguf<'a>),
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

impl<'a> From<Gguf<'a>> for FolderFile<'a> {
    fn from(file: Gguf<'a>) -> Self {
        Self::Gguf(file)
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
    pub(in crate::source) fn tokenizer(&self) -> Read<'a, TokenizerSections<'a>> {
        match self {
            Self::Embd(file) => TokenizerSections::from_embd(file),
            Self::Amb(file) => section::sections(file.file()),
            // Its tokenizer is put together from keys, which takes a heap.
            Self::Gguf(_) => Err(Fault {
                error: Error::without_offset(ErrorKind::UnsupportedTokenizer),
                key: Key::TokenizerModel.name(),
                only: "",
            }),
        }
    }

    /// The tensor of this name.
    pub(in crate::source) fn tensor(&self, name: &str) -> Option<TensorView<'a>> {
        match self {
            Self::Embd(file) => file.tensor(name),
            Self::Amb(file) => file.file().tensor(name),
            Self::Gguf(file) => file.tensor(gguf_tensor_name(name)),
        }
    }
}

impl<'a> Texts<'a> for FolderFile<'a> {
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>> {
        match self {
            Self::Embd(file) => file.text(path),
            Self::Amb(file) => file.text(path),
            Self::Gguf(_) => Ok(None),
        }
    }
}
