//! What is in a model's file: told once, read once, whatever is then made of it.

use std::sync::Arc;

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;
use nanoembed_core::model::ModelSource;
use nanoembed_core::owned::Embedder;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::limits::Limits;
use super::prompts::Prompts;
use super::source::{Content, Source};
use super::text_source::TextSource;
use crate::bytes::Bytes;
use crate::causal::bundle::Bundle;
use crate::causal::model::{Causal, Found};
use crate::causal::tokenizer::Tokenizer;
use crate::error::{Error, Result};

/// A model's files and what they hold. Whatever borrows from them stays beside [`Opened::source`].
pub(crate) struct Opened {
    // Declared before `source`, which it borrows from.
    parsed: Parsed<'static>,
    source: Arc<Source>,
}

/// The structure of a model's files.
enum Parsed<'f> {
    Model(&'f Bytes, Box<ModelSource<'f>>),
    Bundle(&'f Bundle),
    /// A model of texts.
    Text(TextSource<'f>),
    /// No model, as far as its first bytes tell.
    Other(&'f Bytes, Option<Format>),
}

impl Opened {
    /// Looks into a model's files, if they are not larger than `limits` allow.
    pub(crate) fn within(source: Source, limits: &Limits) -> Result<Self> {
        limits.check_files(&source)?;
        Self::of(source)
    }

    /// Looks into a model's files.
    pub(crate) fn of(source: Source) -> Result<Self> {
        let source = Arc::new(source);
        // SAFETY: the source lies on the heap and does not move as long as the `Arc` lives, which
        // stays beside all that borrows from it: in this type until it is taken apart, and then in
        // `Causal` and `Tokenizer`, which hand out nothing that outlives them.
        let borrowed: &'static Source = unsafe { &*Arc::as_ptr(&source) };
        let parsed = Parsed::of(borrowed.content()).map_err(|error| source.failure(error))?;
        let parsed = match parsed {
            Parsed::Model(bytes, model) => {
                match TextSource::of_file(source.name(), bytes, *model)? {
                    Some(text) => Parsed::Text(text),
                    None => Parsed::Model(bytes, model),
                }
            }
            parsed => parsed,
        };
        Ok(Self { parsed, source })
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Whether this is a model that continues texts.
    pub(crate) fn is_causal(&self) -> bool {
        match &self.parsed {
            Parsed::Model(_, model) => model.is_causal(),
            Parsed::Bundle(_) => true,
            Parsed::Text(_) | Parsed::Other(..) => false,
        }
    }

    /// The file's bytes if they are of no format that is known.
    pub(crate) fn unknown_bytes(&self) -> Option<&[u8]> {
        match &self.parsed {
            Parsed::Other(bytes, None) => Some(bytes),
            _ => None,
        }
    }

    /// The prompts that the model has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        Ok(match &self.parsed {
            Parsed::Model(_, model) => {
                Prompts::of_model(model).map_err(|error| self.source.failure(error))?
            }
            Parsed::Bundle(bundle) => return bundle.prompts(),
            Parsed::Text(text) => return text.prompts(),
            Parsed::Other(..) => Prompts::default(),
        })
    }

    /// The model of texts, if it is one.
    pub(crate) const fn text(&self) -> Option<&TextSource<'static>> {
        match &self.parsed {
            Parsed::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The encoder. Says which key of the metadata is at fault.
    pub(crate) fn embedder(&self) -> Result<Embedder<Bytes>> {
        let opened = match &self.parsed {
            Parsed::Model(bytes, model) => Embedder::from_source((*bytes).clone(), model),
            Parsed::Other(bytes, _) => Embedder::open((*bytes).clone()),
            Parsed::Bundle(_) | Parsed::Text(_) => Err(CoreError::new(0, ErrorKind::OtherModel)),
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
    pub(crate) fn causal_to_embed(self) -> Result<Causal> {
        if let Parsed::Bundle(bundle) = &self.parsed {
            bundle.check_embeds()?;
        }
        self.causal()
    }

    /// The model that continues texts, to continue them.
    pub(crate) fn causal_to_generate(self) -> Result<Causal> {
        let bundle = match self.parsed {
            Parsed::Bundle(bundle) => Some(bundle),
            _ => None,
        };
        let causal = self.causal()?;
        if let Some(bundle) = bundle {
            bundle.check_output(causal.model())?;
        }
        Ok(causal)
    }

    /// The model that continues texts.
    pub(crate) fn causal(self) -> Result<Causal> {
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
        Ok(Causal::kept(model, self.source))
    }

    /// The tokenizer of a model that continues texts.
    pub(crate) fn causal_tokenizer(&self) -> Result<Tokenizer<'static>> {
        match &self.parsed {
            Parsed::Model(bytes, model) => Tokenizer::from_source(bytes, model),
            Parsed::Bundle(bundle) => return bundle.tokenizer(),
            Parsed::Text(_) | Parsed::Other(..) => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
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
    fn of(content: &'f Content) -> Result<Self, CoreError> {
        let bytes = match content {
            Content::Bundle(bundle) => return Ok(Self::Bundle(bundle)),
            Content::Folder(folder) => return Ok(Self::Text(TextSource::Folder(folder))),
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
