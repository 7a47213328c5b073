//! The content of a model's file: detected once and parsed once, whatever is then made of it.

use std::sync::Arc;

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::sniff;
use nanoembed_core::owned;
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::causal::Causal;
use super::described_model::DescribedModel;
use super::source::{Content, Source};
use crate::bytes::Bytes;
use crate::causal::bundle::Bundle;
use crate::causal::generation_settings::GenerationSettings;
use crate::causal::model::Found;
use crate::causal::tokenizer::Tokenizer;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::folder::prompts::Prompts;
use crate::limits::Limits;

/// A model's files and their contents.
pub(crate) struct LoadedModel<'f> {
    parsed: Parsed<'f>,
    source: &'f Arc<Source>,
}

/// The structure of a model's files.
enum Parsed<'f> {
    Model(&'f Bytes, Box<ModelSource<'f>>),
    Bundle(&'f Bundle),
    /// An encoder that texts or keys describe.
    Described(DescribedModel<'f>),
    /// No model, as far as its first bytes tell.
    Other(&'f Bytes, Option<Format>),
}

impl<'f> LoadedModel<'f> {
    /// Reads the structure of a model's files, if they are not larger than `limits` allow.
    pub(crate) fn within(source: &'f Arc<Source>, limits: &Limits) -> Result<Self> {
        limits.check_file_bytes(source.bytes(), source.name())?;
        Self::new(source)
    }

    /// Reads the structure of a model's files.
    pub(crate) fn new(source: &'f Arc<Source>) -> Result<Self> {
        let parsed =
            Parsed::from_content(source.content()).map_err(|error| source.failure(error))?;
        let parsed = match parsed {
            Parsed::Model(bytes, model) => {
                match DescribedModel::from_file(source.name(), bytes, *model, source.allowed())? {
                    Some(model) => Parsed::Described(model),
                    None => Parsed::Model(bytes, model),
                }
            }
            parsed => parsed,
        };
        Ok(Self { parsed, source })
    }

    pub(crate) const fn source(&self) -> &'f Arc<Source> {
        self.source
    }

    /// True for a model that continues texts.
    pub(crate) fn is_causal(&self) -> bool {
        match &self.parsed {
            Parsed::Model(_, model) => model.is_causal(),
            Parsed::Bundle(_) => true,
            Parsed::Described(_) | Parsed::Other(..) => false,
        }
    }

    /// The file's bytes if they are of no format that is known.
    pub(crate) fn unknown_bytes(&self) -> Option<&'f [u8]> {
        match &self.parsed {
            Parsed::Other(bytes, None) => Some(bytes),
            _ => None,
        }
    }

    /// The prompts that the model has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        Ok(match &self.parsed {
            Parsed::Model(_, model) => {
                let prompts = Prompts::from_source(model);
                prompts.map_err(|error| self.source.failure(error))?
            }
            Parsed::Bundle(bundle) => return bundle.prompts(),
            Parsed::Described(model) => return model.prompts(),
            Parsed::Other(..) => Prompts::default(),
        })
    }

    /// The encoder, if its folder or file describes it by texts or keys.
    pub(crate) const fn described(&self) -> Option<&DescribedModel<'f>> {
        match &self.parsed {
            Parsed::Described(model) => Some(model),
            _ => None,
        }
    }

    /// The encoder of any kind.
    pub(crate) fn encoder(&self) -> Result<owned::Encoder<ModelWeights>> {
        match &self.parsed {
            Parsed::Described(model) => model.open(),
            _ => self.bert(),
        }
    }

    /// The BERT encoder. Errors name the key of the metadata at fault.
    fn bert(&self) -> Result<owned::Encoder<ModelWeights>> {
        let opened = match &self.parsed {
            Parsed::Model(bytes, model) => {
                let mut weights = ModelWeights::default();
                let added = weights.add_file(bytes);
                added.and_then(|_| owned::Encoder::from_bert(bytes, model, weights))
            }
            // It may have been meant as a model of this project's own format.
            Parsed::Other(bytes, _) => {
                let error = Embd::parse(bytes, Mode::Lenient).err();
                Err(error.unwrap_or(CoreError::new(0, ErrorKind::UnknownFormat)))
            }
            Parsed::Bundle(_) | Parsed::Described(_) => {
                Err(CoreError::new(0, ErrorKind::OtherModel))
            }
        };
        opened.map_err(|error| {
            let failure = self.source.failure(error);
            if !matches!(error.kind(), ErrorKind::MissingMetadata | ErrorKind::BadMetadata) {
                return failure;
            }
            let key = match &self.parsed {
                Parsed::Model(_, model) => model.encoder_key_at_fault(),
                _ => None,
            };
            match key {
                Some(key) => failure.at(format_args!("`{key}`")),
                None => failure,
            }
        })
    }

    /// The model that continues texts, to embed by it.
    pub(crate) fn causal_to_embed(&self) -> Result<Causal> {
        if let Parsed::Bundle(bundle) = &self.parsed {
            bundle.check_embeds()?;
        }
        self.causal()
    }

    /// The model that continues texts, to continue them.
    pub(crate) fn causal_to_generate(&self) -> Result<Causal> {
        let causal = self.causal()?;
        let generation = match &self.parsed {
            Parsed::Bundle(bundle) => {
                bundle.check_output(causal.model())?;
                bundle.generation_settings()?
            }
            Parsed::Model(_, model) => match &**model {
                ModelSource::Gguf(gguf) => GenerationSettings::from_gguf(gguf)
                    .map_err(|error| error.at(self.source.name()))?,
                _ => GenerationSettings::default(),
            },
            _ => GenerationSettings::default(),
        };
        Ok(causal.with_generation(generation))
    }

    /// The model that continues texts.
    pub(crate) fn causal(&self) -> Result<Causal> {
        let failed = |error| self.source.failure(error);
        let found = match &self.parsed {
            Parsed::Model(bytes, model) if self.is_causal() => Found::in_model(bytes, model),
            Parsed::Bundle(bundle) => Ok(bundle.found()?),
            Parsed::Model(_, model) => {
                model.check_architecture().map_err(failed)?;
                return Err(self.no_causal_model());
            }
            Parsed::Other(_, None) => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
            _ => return Err(self.no_causal_model()),
        };
        let found = found.map_err(failed)?;
        let model = found.open().map_err(|error| match (error.kind(), &self.parsed) {
            (ErrorKind::MissingTensor, Parsed::Bundle(bundle)) => {
                failed(error).with_hint(bundle.where_from())
            }
            _ => failed(error),
        })?;
        Ok(Causal::new(model, Arc::clone(self.source)))
    }

    /// The tokenizer of a model that continues texts.
    pub(crate) fn causal_tokenizer(&self) -> Result<Tokenizer<'static>> {
        match &self.parsed {
            Parsed::Model(bytes, model) => {
                Tokenizer::from_source(bytes, model).and_then(Tokenizer::detached)
            }
            Parsed::Bundle(bundle) => return bundle.tokenizer(),
            Parsed::Described(_) | Parsed::Other(..) => {
                Err(CoreError::new(0, ErrorKind::UnknownFormat))
            }
        }
        .map_err(|error| self.source.failure(error))
    }

    fn no_causal_model(&self) -> Error {
        let message = "this is no model that continues texts";
        Error::input(ErrorKind::UnknownFormat, message)
            .at(self.source.name())
            .with_hint("`nanoembed inspect FILE` says what it is; `nanoembed embed` runs encoders")
    }
}

impl<'f> Parsed<'f> {
    fn from_content(content: &'f Content) -> Result<Self, CoreError> {
        let bytes = match content {
            Content::Bundle(bundle) => return Ok(Self::Bundle(bundle)),
            Content::Folder(folder) => return Ok(Self::Described(DescribedModel::Folder(folder))),
            Content::Whole(bytes) => bytes,
        };
        Ok(match sniff(bytes) {
            Some(Format::Amb | Format::Embd | Format::Gguf) => {
                Self::Model(bytes, Box::new(ModelSource::parse(bytes)?))
            }
            other => Self::Other(bytes, other),
        })
    }
}
