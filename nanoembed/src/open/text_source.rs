//! A model of texts, wherever its texts and its weights lie: in a folder or in one file.

use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::{ModelSource, gguf_architecture};
use nanoembed_core::owned::folder::{FolderFault, FolderModel};
use nanoembed_core::owned::{GgufEncoder, GgufFault, TextFile, TextModel, TextTokenizer};

use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::open::folder::asked;
use crate::open::folder::files::EncoderFolder;
use crate::open::folder::texts::explained;
use crate::open::prompts::Prompts;
use crate::stored::explained::{failure as stored_failure, refusal_message};

/// A model of texts in a folder or a file that it borrows from.
pub(crate) enum TextSource<'f> {
    Folder(&'f EncoderFolder),
    File(Box<NamedFile<'f>>),
    Gguf(Box<NamedGguf<'f>>),
}

/// A GGUF file with an encoder, and what messages call it.
pub(crate) struct NamedGguf<'f> {
    name: String,
    bytes: &'f [u8],
    file: Gguf<'f>,
    encoder: GgufEncoder,
}

/// A file with a model of texts, and what messages call it.
pub(crate) struct NamedFile<'f> {
    name: String,
    bytes: &'f [u8],
    file: TextFile<'f>,
}

impl<'f> TextSource<'f> {
    /// The model in the file called `name`; `None` if the file keeps no texts of a folder and is no
    /// GGUF file with an encoder.
    pub(crate) fn of_file(
        name: &str,
        bytes: &'f [u8],
        source: ModelSource<'f>,
    ) -> Result<Option<Self>> {
        if let ModelSource::Gguf(file) = source
            && GgufEncoder::is_in(&file)
        {
            let encoder = gguf_encoder(name, bytes, &file)?;
            let name = name.to_owned();
            return Ok(Some(Self::Gguf(Box::new(NamedGguf { name, bytes, file, encoder }))));
        }
        let read = TextFile::read(source).map_err(|fault| {
            let text = match source {
                ModelSource::Embd(embd) => embd.metadata_value(&fault.file).map(str::to_owned),
                _ => None,
            };
            explained(&fault, &text.unwrap_or_default(), &format!("{name}: {}", fault.file))
        })?;
        let file = |file| Self::File(Box::new(NamedFile { name: name.to_owned(), bytes, file }));
        Ok(read.map(file))
    }

    /// The name that messages give to the model.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder.name(),
            Self::File(file) => file.name.clone(),
            Self::Gguf(file) => file.name.clone(),
        }
    }

    /// Whether it is a folder.
    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// What the texts say of the model.
    pub(crate) fn model(&self) -> &FolderModel {
        match self {
            Self::Folder(folder) => folder.model(),
            Self::File(file) => file.file.model(),
            Self::Gguf(file) => &file.encoder.model,
        }
    }

    /// The prompts that the model has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        match self {
            Self::Folder(folder) => folder.prompts(),
            Self::File(file) => {
                file.file.prompts().map(Prompts::of).map_err(|fault| file.failure(&fault))
            }
            Self::Gguf(file) => Ok(Prompts::of_gguf(&file.file)),
        }
    }

    /// The tokenizer, with the limits of the model.
    pub(crate) fn tokenizer(&self) -> Result<TextTokenizer> {
        match self {
            Self::Folder(folder) => folder.tokenizer(),
            Self::File(file) => {
                let pipeline = file.file.pipeline().map_err(|fault| file.failure(&fault))?;
                Ok(TextTokenizer::new(file.file.model(), pipeline))
            }
            Self::Gguf(file) => {
                let GgufEncoder { model, tokenizer, .. } = &file.encoder;
                Ok(TextTokenizer::new(model, tokenizer.clone()))
            }
        }
    }

    /// Names of so many classes, by their numbers.
    pub(crate) fn labels(&self, count: usize) -> Result<Vec<String>> {
        match self {
            Self::Folder(folder) => folder.labels(count),
            Self::File(file) => file.file.labels(count).map_err(|fault| file.failure(&fault)),
            // Only models that compare texts have classes.
            Self::Gguf(_) => Ok(Vec::new()),
        }
    }

    /// The model, ready to run.
    pub(crate) fn open_model(&self) -> Result<TextModel<ModelWeights<'f>>> {
        match self {
            Self::Folder(folder) => folder.open_model(),
            Self::File(file) => file.open_model(),
            Self::Gguf(file) => file.open_model(),
        }
    }
}

impl<'f> NamedFile<'f> {
    fn open_model(&self) -> Result<TextModel<ModelWeights<'f>>> {
        let weights = match self.file.source() {
            ModelSource::Embd(embd) => ModelWeights::of_file(self.bytes, embd.tensors()),
            ModelSource::Amb(amb) => ModelWeights::of_file(self.bytes, amb.tensors()),
            _ => ModelWeights::default(),
        };
        let pipeline = self.file.pipeline().map_err(|fault| self.failure(&fault))?;
        let opened = TextModel::open(self.file.model(), weights, pipeline);
        opened.map_err(|fault| asked::failure(&self.name, &fault))
    }

    /// What is wrong with a text, in words.
    fn failure(&self, fault: &FolderFault) -> Error {
        let text = self.file.text(&fault.file).ok().flatten().unwrap_or_default();
        explained(fault, &text, &format!("{}: {}", self.name, fault.file))
    }
}

impl<'f> NamedGguf<'f> {
    fn open_model(&self) -> Result<TextModel<ModelWeights<'f>>> {
        let mut weights = ModelWeights::default();
        let start = weights.add_file(self.bytes);
        for tensor in self.file.tensors() {
            let header = tensor.header();
            weights.add(GgufEncoder::tensor_name(header.name), start, header);
        }
        let GgufEncoder { model, tokenizer, .. } = &self.encoder;
        let opened = TextModel::open(model, weights, tokenizer.clone());
        let architecture = gguf_architecture(&self.file).unwrap_or_default();
        let name = format!("{} ({architecture})", self.name);
        opened.map_err(|fault| asked::failure(&name, &fault))
    }
}

/// The encoder in a GGUF file, without its weights.
fn gguf_encoder(name: &str, bytes: &[u8], file: &Gguf<'_>) -> Result<GgufEncoder> {
    GgufEncoder::read(file).map_err(|fault| match fault {
        GgufFault::Error(error) => stored_failure(name, bytes, error),
        GgufFault::Refusal(refusal) => {
            let message = refusal_message(file, &refusal);
            Error::input(refusal.error().kind(), message).at(name)
        }
    })
}
