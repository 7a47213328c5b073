//! Encoders of all families in GGUF files, with memory of their own.

mod tokenizer;

use super::Pipeline;
use super::folder::FolderModel;
use crate::describe::folder::Kind;
use crate::describe::gguf::{GgufFault, describe, encoder_keys};
use crate::error::{Error, ErrorKind};
use crate::format::gguf::Gguf;

/// An encoder in a GGUF file: all but its weights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GgufEncoder {
    /// The description of the model.
    pub model: FolderModel,
    /// Its tokenizer.
    pub tokenizer: Pipeline,
}

impl GgufEncoder {
    /// Reads the settings and the tokenizer.
    ///
    /// # Errors
    ///
    /// As [`gguf_description`](crate::describe::gguf::gguf_description);
    /// [`ErrorKind::MissingVocabulary`]; [`ErrorKind::BadVocabulary`].
    pub fn read<'a>(file: &Gguf<'a>) -> Result<Self, GgufFault<'a>> {
        let keys = encoder_keys(file)?;
        let description = describe(&keys)?;
        let tokenizer = tokenizer::read(&keys)?;
        keys.finish()?;
        if let Kind::Transformer(family) = &description.kind
            && tokenizer.count() as usize > family.config.vocabulary
        {
            return Err(Error::without_offset(ErrorKind::BadVocabulary).into());
        }
        Ok(Self { model: FolderModel::from_description(description)?, tokenizer })
    }
}
