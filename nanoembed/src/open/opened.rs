//! What is in a model's file: told once, read once, whatever is then made of it.

use std::sync::Arc;

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::model::{
    BertConfig, amb_config_value, embd_is_decoder, gguf_architecture, gguf_model,
};
use nanoembed_core::owned::{Embedder, ModelView};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::prompts::Prompts;
use super::source::{Content, Source};
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
    Amb(&'f Bytes, Box<Amb<'f>>),
    Embd(&'f Bytes, Box<Embd<'f>>),
    Gguf(&'f Bytes, Box<Gguf<'f>>),
    Bundle(&'f Bundle),
    /// No model, as far as its first bytes tell.
    Other(&'f Bytes, Option<Format>),
}

impl Opened {
    /// Looks into a model's files.
    pub(crate) fn of(source: Source) -> Result<Self> {
        let source = Arc::new(source);
        // SAFETY: the source lies on the heap and does not move as long as the `Arc` lives, which
        // stays beside all that borrows from it: in this type until it is taken apart, and then in
        // `Causal` and `Tokenizer`, which hand out nothing that outlives them.
        let borrowed: &'static Source = unsafe { &*Arc::as_ptr(&source) };
        let parsed = Parsed::of(borrowed.content()).map_err(|error| source.failure(error))?;
        Ok(Self { parsed, source })
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Whether this is a model that continues texts.
    pub(crate) fn is_causal(&self) -> bool {
        match &self.parsed {
            Parsed::Amb(_, amb) => amb_is_causal(amb),
            Parsed::Embd(_, embd) => embd_is_decoder(embd),
            Parsed::Gguf(_, gguf) => gguf_architecture(gguf).is_some_and(|name| name != "bert"),
            Parsed::Bundle(_) => true,
            Parsed::Other(..) => false,
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
            Parsed::Amb(_, amb) => Prompts::of_amb(amb),
            Parsed::Embd(_, embd) => Prompts::of_embd(embd),
            Parsed::Gguf(_, gguf) => Prompts::of_gguf(gguf),
            Parsed::Bundle(bundle) => return bundle.prompts(),
            Parsed::Other(..) => Prompts::default(),
        })
    }

    /// The encoder. Says which key of the metadata is at fault.
    pub(crate) fn embedder(&self) -> Result<Embedder<Bytes>> {
        let opened = match &self.parsed {
            Parsed::Amb(bytes, amb) => Embedder::open_view((*bytes).clone(), &ModelView::Amb(amb)),
            Parsed::Embd(bytes, it) => Embedder::open_view((*bytes).clone(), &ModelView::Embd(it)),
            Parsed::Gguf(bytes, it) => Embedder::open_view((*bytes).clone(), &ModelView::Gguf(it)),
            Parsed::Other(bytes, _) => Embedder::open((*bytes).clone()),
            Parsed::Bundle(_) => Err(CoreError::new(0, ErrorKind::OtherModel)),
        };
        opened.map_err(|error| {
            let failure = self.source.failure(error);
            if !matches!(error.kind(), ErrorKind::MissingMetadata | ErrorKind::BadMetadata) {
                return failure;
            }
            let key = match &self.parsed {
                Parsed::Amb(_, amb) => BertConfig::key_at_fault(|key| amb_config_value(amb, key)),
                Parsed::Embd(_, embd) => BertConfig::key_at_fault(|key| embd.metadata_value(key)),
                _ => None,
            };
            match key {
                Some((key, _)) => failure.at(format_args!("`{key}`")),
                None => failure,
            }
        })
    }

    /// The model that continues texts.
    pub(crate) fn causal(self) -> Result<Causal> {
        let failed = |error| self.source.failure(error);
        let found = match &self.parsed {
            Parsed::Amb(bytes, amb) if self.is_causal() => Found::in_amb(bytes, amb),
            Parsed::Embd(bytes, embd) if self.is_causal() => Found::in_embd(bytes, embd),
            Parsed::Gguf(bytes, gguf) if self.is_causal() => Found::in_gguf(bytes, gguf),
            Parsed::Bundle(bundle) => Ok(bundle.found()?),
            Parsed::Gguf(_, gguf) => {
                gguf_model(gguf).map_err(failed)?;
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
            Parsed::Amb(bytes, amb) => Tokenizer::of_amb(bytes, amb),
            Parsed::Embd(bytes, embd) => Tokenizer::of_embd(bytes, embd),
            Parsed::Gguf(bytes, gguf) => Tokenizer::of_gguf(bytes, gguf),
            Parsed::Bundle(bundle) => return bundle.tokenizer(),
            Parsed::Other(..) => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
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

/// Whether the model of an `.amb` file continues texts: it says another architecture than an
/// encoder's.
pub(crate) fn amb_is_causal(amb: &Amb<'_>) -> bool {
    !matches!(amb_config_value(amb, "architecture"), None | Some("custom" | "bert"))
}

impl<'f> Parsed<'f> {
    fn of(content: &'f Content) -> Result<Self, CoreError> {
        let bytes = match content {
            Content::Bundle(bundle) => return Ok(Self::Bundle(bundle)),
            Content::Whole(bytes) => bytes,
        };
        Ok(match sniff(bytes) {
            Some(Format::Amb) => Self::Amb(bytes, Box::new(Amb::parse(bytes, Mode::Lenient)?)),
            Some(Format::Embd) => Self::Embd(bytes, Box::new(Embd::parse(bytes, Mode::Lenient)?)),
            Some(Format::Gguf) => Self::Gguf(bytes, Box::new(Gguf::parse(bytes, Mode::Lenient)?)),
            other => Self::Other(bytes, other),
        })
    }
}
