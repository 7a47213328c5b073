//! Encoders in folders and files, described by texts such as `config.json` or by GGUF keys.

use std::cell::Cell;

use nanoembed_core::describe::gguf::gguf_architecture;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::limit::Boxed;
use nanoembed_core::model::{SliceWeights, Weights};
use nanoembed_core::owned::folder::{FolderFault, FolderModel, Labels};
use nanoembed_core::owned::{
    DescribedFile, Encoder, ModelFault, Pipeline, TextKinds, Tokenizer, stored_text,
};
use nanoembed_core::source::ModelSource;
use nanoembed_core::tensor::{TensorHeader, TensorView};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::bytes::Bytes;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::folder::prompts::Prompts;
use crate::folder::texts::{Allowed, explained};
use crate::open::folder::files::EncoderFolder;
use crate::open::folder::tensor_fault;
use crate::stored::diagnosis::{failure as stored_failure, refusal_message};
use crate::stored::{Stored, Values};

/// An encoder described by a folder's texts, by texts kept in a file, or by a file's keys.
pub(crate) enum DescribedModel<'f> {
    Folder(&'f EncoderFolder),
    File(Boxed<NamedFile<'f>>, &'f Bytes),
}

/// A file that describes its model, and the name that messages give to it.
pub(crate) struct NamedFile<'f> {
    name: String,
    bytes: &'f [u8],
    file: DescribedFile<'f>,
    /// The tokenizer, if it was read with the description, until it is taken.
    pipeline: Cell<Option<Pipeline>>,
}

impl<'f> DescribedModel<'f> {
    /// The model in the file called `name`, without the unknown settings that are `allowed`; `None`
    /// if the file keeps no texts of a folder and is no GGUF file with an encoder.
    pub(crate) fn from_file(
        name: &str,
        bytes: &'f Bytes,
        source: ModelSource<'f>,
        allowed: &Allowed,
    ) -> Result<Option<Self>> {
        let file = NamedFile::read(name, bytes, source, allowed)?.map(Boxed::new);
        let file = file.transpose().map_err(|error| Error::in_file(name, error))?;
        Ok(file.map(|file| Self::File(file, bytes)))
    }

    /// The name that messages give to the model.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder.name(),
            Self::File(file, _) => file.name.clone(),
        }
    }

    /// True if it is a folder.
    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// The model as its texts describe it.
    pub(crate) fn model(&self) -> &FolderModel {
        match self {
            Self::Folder(folder) => folder.model(),
            Self::File(file, _) => file.file.model(),
        }
    }

    /// The prompts that the model has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        match self {
            Self::Folder(folder) => folder.prompts(),
            Self::File(file, _) => {
                let NamedFile { name, bytes, file, .. } = &**file;
                let prompts = file.prompts().map(Prompts::from_core);
                prompts.map_err(|fault| refusal(name, bytes, file.source(), &fault))
            }
        }
    }

    /// The tokenizer, with the limits of the model.
    pub(crate) fn tokenizer(&self) -> Result<Tokenizer<'static, TextKinds>> {
        Tokenizer::from_folder(self.model(), self.pipeline()?)
            .map_err(|error| Error::in_file("tokenizer.json", error))
    }

    /// The tokenizer without the limits of the model.
    pub(crate) fn pipeline(&self) -> Result<Pipeline> {
        match self {
            Self::Folder(folder) => folder.pipeline(),
            Self::File(file, _) => file.pipeline(),
        }
    }

    /// All weights, under the names that the model knows.
    pub(crate) fn weights(&self) -> Result<ModelWeights> {
        match self {
            Self::Folder(folder) => folder.weights(),
            Self::File(file, bytes) => file.weights(bytes),
        }
    }

    /// Calls `take` with every tensor.
    pub(crate) fn each_tensor(
        &self,
        take: &mut dyn FnMut(&str, &Stored<'f>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Folder(folder) => folder.each_tensor(take),
            Self::File(file, _) => file.each_tensor(take),
        }
    }

    /// The names of classes.
    pub(crate) fn labels(&self) -> Result<Labels> {
        match self {
            Self::Folder(folder) => folder.labels(),
            Self::File(file, _) => file.file.labels().map_err(|fault| file.failure(&fault)),
        }
    }

    /// The model, ready to run.
    pub(crate) fn open(&self) -> Result<Encoder<ModelWeights>> {
        let (prompts, labels) = (self.prompts()?.into_core(), self.labels()?);
        let model = self.open_model()?.with_prompts(prompts);
        model.with_labels(&labels).map_err(|error| Error::in_file(self.name(), error))
    }

    /// The model without its prompts and the names of its classes.
    pub(crate) fn open_model(&self) -> Result<Encoder<ModelWeights>> {
        match self {
            Self::Folder(folder) => folder.open_model(),
            Self::File(file, bytes) => file.open_model(bytes),
        }
    }
}

impl<'f> NamedFile<'f> {
    /// The model in the file called `name`, without the unknown settings that are `allowed`; `None`
    /// if the file keeps no texts of a folder and is no GGUF file with an encoder.
    pub(crate) fn read(
        name: &str,
        bytes: &'f [u8],
        source: ModelSource<'f>,
        allowed: &Allowed,
    ) -> Result<Option<Self>> {
        let read = DescribedFile::read_allowing(source, allowed.names());
        let read = read.map_err(|fault| refusal(name, bytes, &source, &fault))?;
        Ok(read.map(|mut file| {
            file.absent().faults().iter().for_each(|fault| allowed.pass(fault));
            let pipeline = Cell::new(file.take_pipeline());
            Self { name: name.into(), bytes, file, pipeline }
        }))
    }

    fn pipeline(&self) -> Result<Pipeline> {
        match self.pipeline.take() {
            Some(read) => Ok(read),
            None => self.file.pipeline().map_err(|fault| self.failure(&fault)),
        }
    }

    /// All weights, read from `bytes`, the contents of the file.
    fn weights(&self, bytes: &Bytes) -> Result<ModelWeights> {
        let mut weights = ModelWeights::default();
        let failed = |error| Error::in_file(&self.name, error);
        let start = weights.add_file(bytes).map_err(failed)?;
        self.each_header(&mut |name, header| weights.add(name, start, header).map_err(failed))?;
        Ok(weights)
    }

    fn each_tensor(&self, take: &mut dyn FnMut(&str, &Stored<'f>) -> Result<()>) -> Result<()> {
        self.each_header(&mut |name, header| take(name, &self.stored(name, header)?))
    }

    /// Calls `take` with each tensor, until one is refused.
    fn each_header(
        &self,
        take: &mut dyn FnMut(&str, &TensorHeader<'f>) -> Result<()>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        self.file.each_tensor(&mut |name, header| {
            if outcome.is_ok() {
                outcome = take(name, header);
            }
        });
        outcome
    }

    fn stored(&self, name: &str, header: &TensorHeader<'f>) -> Result<Stored<'f>> {
        let failed = |kind| Error::in_file(&self.name, CoreError::new(header.offset, kind));
        let place = usize::try_from(header.offset).ok().zip(usize::try_from(header.bytes).ok());
        let data = place.and_then(|(start, length)| self.bytes.get(start..)?.get(..length));
        let view = data.and_then(|data| TensorView::new(*header, data));
        let view = view.ok_or_else(|| failed(ErrorKind::OutOfBounds))?;
        let failed = |error| Error::in_file(&self.name, error);
        let values = Values::plain(&view).map_err(failed)?;
        let name = limit::copied(name).map_err(failed)?;
        Ok(Stored { name, values, offset: header.offset, file: 0 })
    }

    /// Checks that the model in a `.weights` or `.amb` file opens.
    pub(crate) fn check(&self) -> Result<()> {
        let source = self.file.source();
        self.opened(SliceWeights::new(self.bytes, |name: &str| source.tensor(name))).map(drop)
    }

    /// The model without its prompts and the names of its classes, over `bytes`, the contents of the
    /// file.
    fn open_model(&self, bytes: &Bytes) -> Result<Encoder<ModelWeights>> {
        self.opened(self.weights(bytes)?)
    }

    fn opened<W: Weights + Sync>(&self, weights: W) -> Result<Encoder<W>> {
        let opened = Encoder::new(self.file.model(), weights, self.pipeline()?);
        opened.map_err(|fault| match self.file.source() {
            ModelSource::Gguf(file) => {
                tensor_fault::failure(&with_architecture(&self.name, file), &fault)
            }
            _ => tensor_fault::failure(&self.name, &fault),
        })
    }

    /// A fault of a text, in words.
    fn failure(&self, fault: &FolderFault) -> Error {
        let text = self.file.text(&fault.file).ok().flatten().unwrap_or_default();
        explained(fault, &text, &format!("{}: {}", self.name, fault.file))
    }
}

/// The name of a GGUF file in errors, with the architecture of its model.
fn with_architecture(name: &str, file: &Gguf<'_>) -> String {
    format!("{name} ({})", gguf_architecture(file).unwrap_or_default())
}

/// The fault of a file's description, in words.
fn refusal(name: &str, bytes: &[u8], source: &ModelSource<'_>, fault: &ModelFault) -> Error {
    match (fault, source) {
        (ModelFault::Text(fault), source) => {
            let text = stored_text(source, &fault.file).ok().flatten().unwrap_or_default();
            explained(fault, &text, &format!("{name}: {}", fault.file))
        }
        (ModelFault::Key { error, key, reason }, ModelSource::Gguf(file)) => {
            let message = refusal_message(file, *error, key, reason);
            Error::input(error.kind(), message).at(with_architecture(name, file))
        }
        (fault, _) => stored_failure(name, bytes, fault.error()),
    }
}
