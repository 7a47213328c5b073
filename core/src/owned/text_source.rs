//! Models of texts in files, without their weights: what a folder's texts would say of them.

use super::model_fault::ModelFault;
use crate::format::gguf::Gguf;
use crate::limit::Boxed;
use crate::model::ModelSource;
use crate::owned::Pipeline;
use crate::owned::TextFile;
use crate::owned::folder::{FolderModel, FolderResult, Labels, Prompts};
use crate::owned::gguf_encoder::GgufEncoder;
use crate::tensor::TensorHeader;

/// A model of texts in a file.
///
/// BERT encoders in the layout that readers of BERT alone know are none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextSource<'f> {
    /// A `.weights` or `.amb` file that keeps the texts of a folder.
    File(Boxed<TextFile<'f>>),
    /// An encoder in a GGUF file.
    Gguf(Boxed<GgufEncoder>, Gguf<'f>),
}

impl<'f> TextSource<'f> {
    /// The model in a file; `None` if it keeps no texts of a folder and is no GGUF file with an
    /// encoder of its own.
    ///
    /// # Errors
    ///
    /// What is wrong with a text, a key or a tensor.
    pub fn read(source: ModelSource<'f>) -> Result<Option<Self>, ModelFault> {
        if let ModelSource::Gguf(file) = source
            && GgufEncoder::is_in(&file)
        {
            let encoder = GgufEncoder::read(&file)?;
            return Ok(Some(Self::Gguf(Boxed::new(encoder)?, file)));
        }
        let file = TextFile::read(source)?;
        file.map(|file| Ok(Self::File(Boxed::new(file)?))).transpose()
    }

    /// What the file says of the model, as the texts of a folder would.
    #[must_use]
    pub fn model(&self) -> &FolderModel {
        match self {
            Self::File(file) => file.model(),
            Self::Gguf(encoder, _) => &encoder.model,
        }
    }

    /// The prompts that the model has.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn prompts(&self) -> Result<Prompts, ModelFault> {
        match self {
            Self::File(file) => Ok(file.prompts()?),
            Self::Gguf(_, file) => Ok(Prompts::from_source(&ModelSource::Gguf(*file))?),
        }
    }

    /// The tokenizer.
    ///
    /// # Errors
    ///
    /// As [`TextFile::pipeline`].
    pub fn pipeline(&self) -> FolderResult<Pipeline> {
        match self {
            Self::File(file) => file.pipeline(),
            Self::Gguf(encoder, _) => Ok(encoder.tokenizer.clone()),
        }
    }

    /// What the file says of the model, and the tokenizer, which of a GGUF file is there already.
    ///
    /// # Errors
    ///
    /// As [`TextFile::pipeline`].
    pub fn into_parts(self) -> FolderResult<(FolderModel, Pipeline)> {
        match self {
            Self::File(file) => {
                let pipeline = file.pipeline()?;
                Ok((file.into_inner().into_model(), pipeline))
            }
            Self::Gguf(encoder, _) => {
                let GgufEncoder { model, tokenizer } = encoder.into_inner();
                Ok((model, tokenizer))
            }
        }
    }

    /// The names of classes; none of a GGUF file, which only models that embed are in.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn labels(&self) -> FolderResult<Labels> {
        match self {
            Self::File(file) => file.labels(),
            Self::Gguf(..) => Ok(Labels::default()),
        }
    }

    /// Calls `take` with every tensor, and with what the model calls it.
    pub fn each_tensor(&self, take: &mut dyn FnMut(&str, &TensorHeader<'f>)) {
        match self {
            Self::File(file) => file.source().each_tensor(&mut |header| take(header.name, header)),
            Self::Gguf(_, file) => {
                ModelSource::Gguf(*file).each_tensor(&mut |header| {
                    take(GgufEncoder::tensor_name(header.name), header);
                });
            }
        }
    }
}
