//! Files that describe their model by the texts of a Hugging Face folder or by keys.

use alloc::borrow::Cow;
use alloc::string::String;

use super::folder::{
    AbsentSettings, FolderFault, FolderModel, FolderResult, Labels, Prompts, Texts,
};
use super::model_fault::ModelFault;
use super::stored_tokenizer::{TOKENIZER, tokenizer_settings};
use super::{Pipeline, PipelineParts, gguf_tokenizer, metadata};
use crate::describe::folder::{Kind, TemplateText};
use crate::describe::gguf::{
    GgufFault, Key, describe, encoder_keys, gguf_has_described_encoder, gguf_module_tensor,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::gguf::Gguf;
use crate::source::ModelSource;
use crate::tensor::TensorHeader;
use crate::text::json::Fault;

/// A file and the description of the model in it: a `.weights` or `.amb` file that keeps the texts
/// of a folder, or a GGUF file with an encoder. BERT in the layout of BERT alone is described
/// elsewhere.
#[derive(Clone, Debug)]
pub struct DescribedFile<'f> {
    source: ModelSource<'f>,
    model: FolderModel,
    /// Settings of its texts that are ignored.
    absent: AbsentSettings,
    /// The tokenizer of a GGUF file, whose keys are all checked together, until it is taken.
    tokenizer: Option<Pipeline>,
}

impl<'f> DescribedFile<'f> {
    /// Reads the description in a file; `None` if it keeps no texts of a folder and is no GGUF file
    /// with an encoder.
    ///
    /// # Errors
    ///
    /// The text, key or tensor at fault.
    pub fn read(source: ModelSource<'f>) -> core::result::Result<Option<Self>, ModelFault> {
        Self::read_allowing(source, &[])
    }

    /// As [`read`](Self::read), but unknown settings of these `names` in the texts of a folder are
    /// ignored: see [`absent`](Self::absent). Keys of GGUF files are not texts.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_allowing(
        source: ModelSource<'f>,
        names: &[String],
    ) -> core::result::Result<Option<Self>, ModelFault> {
        if let ModelSource::Gguf(file) = source
            && gguf_has_described_encoder(&file)
        {
            return Ok(Some(Self::from_gguf(&file)?));
        }
        if !source.has_folder_texts() {
            return Ok(None);
        }
        let texts = |path: &str| stored_text(&source, path);
        let absent = AbsentSettings::in_texts(&texts, names, &|model, texts| {
            pipeline(&source, model, texts).map(drop)
        })?;
        let model = FolderModel::read(&|path: &str| absent.text(&texts, path))?;
        Ok(Some(Self { source, model, absent, tokenizer: None }))
    }

    fn from_gguf(file: &Gguf<'f>) -> core::result::Result<Self, GgufFault<'f>> {
        let keys = encoder_keys(file)?;
        let description = describe(&keys)?;
        let tokenizer = gguf_tokenizer::read(&keys)?;
        keys.finish()?;
        if let Kind::Transformer(family) = &description.kind
            && tokenizer.count() as usize > family.config.vocabulary
        {
            return Err(Error::without_offset(ErrorKind::BadVocabulary).into());
        }
        let template = description.template.as_ref().map(TemplateText::checked).transpose();
        let template = template.map_err(|_| {
            let only = "the prompt has to have the places {query} and {document}";
            GgufFault::from(keys.refuse(Key::RerankTemplate, only))
        })?;
        let model = FolderModel::from_description(description, template)?;
        let (source, absent) = (ModelSource::Gguf(*file), AbsentSettings::default());
        Ok(Self { source, model, absent, tokenizer: Some(tokenizer) })
    }

    /// The description, as of a folder.
    #[must_use]
    pub const fn model(&self) -> &FolderModel {
        &self.model
    }

    /// The file.
    #[must_use]
    pub const fn source(&self) -> &ModelSource<'f> {
        &self.source
    }

    /// The settings of its texts that are ignored.
    #[must_use]
    pub const fn absent(&self) -> &AbsentSettings {
        &self.absent
    }

    /// The text at a path of the folder that the file was made from, without the settings that are
    /// ignored.
    ///
    /// # Errors
    ///
    /// [`BadMetadata`](crate::ErrorKind::BadMetadata) or [`NoMemory`](crate::ErrorKind::NoMemory) if
    /// it cannot be read.
    pub fn text(&self, path: &str) -> Result<Option<Cow<'f, str>>> {
        self.absent.text(&|path: &str| stored_text(&self.source, path), path)
    }

    /// The prompts of the model.
    ///
    /// # Errors
    ///
    /// The text at fault.
    pub fn prompts(&self) -> core::result::Result<Prompts, ModelFault> {
        match &self.source {
            source @ ModelSource::Gguf(_) => Ok(Prompts::from_source(source)?),
            _ => Ok(self.model.prompts(&|path: &str| self.text(path))?),
        }
    }

    /// The names of classes: see [`FolderModel::labels`]. GGUF files have none.
    ///
    /// # Errors
    ///
    /// The text at fault.
    pub fn labels(&self) -> FolderResult<Labels> {
        match &self.source {
            ModelSource::Gguf(_) => Ok(Labels::default()),
            _ => self.model.labels(&|path: &str| self.text(path)),
        }
    }

    /// The tokenizer that was read with the description, once.
    pub fn take_pipeline(&mut self) -> Option<Pipeline> {
        self.tokenizer.take()
    }

    /// Reads the tokenizer.
    ///
    /// # Errors
    ///
    /// [`MissingVocabulary`](crate::ErrorKind::MissingVocabulary) if the file has none,
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if it is invalid, and as
    /// [`Pipeline::from_parts`].
    pub fn pipeline(&self) -> FolderResult<Pipeline> {
        if let ModelSource::Gguf(file) = &self.source {
            let read = encoder_keys(file).and_then(|keys| gguf_tokenizer::read(&keys));
            return read.map_err(|refused| tokenizer_error(refused.error()));
        }
        pipeline(&self.source, &self.model, &|path: &str| self.text(path))
    }

    /// The description, the tokenizer, and the settings that are ignored.
    ///
    /// # Errors
    ///
    /// As [`pipeline`](Self::pipeline).
    pub fn into_parts(mut self) -> FolderResult<(FolderModel, Pipeline, AbsentSettings)> {
        let tokenizer = match self.tokenizer.take() {
            Some(tokenizer) => tokenizer,
            None => self.pipeline()?,
        };
        Ok((self.model, tokenizer, self.absent))
    }

    /// Calls `take` with the model's name of each tensor, and the tensor.
    pub fn each_tensor(&self, take: &mut dyn FnMut(&str, &TensorHeader<'f>)) {
        self.source.each_tensor(&mut |header| match &self.source {
            ModelSource::Gguf(_) => take(gguf_module_tensor(header.name), header),
            _ => take(header.name, header),
        });
    }
}

/// The text at a path of the folder that the file `source` was made from.
///
/// # Errors
///
/// [`BadMetadata`](crate::ErrorKind::BadMetadata) or [`NoMemory`](crate::ErrorKind::NoMemory) if it
/// cannot be read.
pub fn stored_text<'f>(source: &ModelSource<'f>, path: &str) -> Result<Option<Cow<'f, str>>> {
    match path {
        TOKENIZER => tokenizer_settings(source).map(|settings| Some(settings.into())),
        path => metadata::text(source, path),
    }
}

/// The tokenizer of a model in `source`, with its settings among `texts`.
fn pipeline(
    source: &ModelSource<'_>,
    model: &FolderModel,
    texts: Texts<'_, '_>,
) -> FolderResult<Pipeline> {
    let settings = texts(TOKENIZER).map_err(tokenizer_error)?.unwrap_or_default();
    let parts = PipelineParts::from_source(source).map_err(tokenizer_error)?;
    let PipelineParts { tokens, scores, merges, .. } = parts;
    let opened = match model.is_table() {
        true => Pipeline::from_parts_alone(&settings, &tokens, scores.as_deref(), &merges),
        false => Pipeline::from_parts(&settings, &tokens, scores.as_deref(), &merges),
    };
    let pipeline = opened.map_err(|fault| FolderFault::new(TOKENIZER, fault))?;
    model.check_late_tokens(&pipeline)?;
    Ok(pipeline)
}

fn tokenizer_error(error: Error) -> FolderFault {
    FolderFault::new(TOKENIZER, Fault::from_error(error))
}
