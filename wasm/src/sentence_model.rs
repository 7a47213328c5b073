//! What runs a sentence model, of the kinds that a module is built with.

#[cfg(feature = "embed")]
use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "embed")]
use nanoembed_core::Error;
#[cfg(all(feature = "static", any(not(feature = "embed"), feature = "shared")))]
use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
#[cfg(feature = "embed")]
use nanoembed_core::limit::joined;
#[cfg(feature = "embed")]
use nanoembed_core::model::{InOrder, ModelSource};
#[cfg(feature = "static")]
use nanoembed_core::owned::TableFile;
use nanoembed_core::owned::Tokenized;
#[cfg(feature = "embed")]
use nanoembed_core::owned::{Encoder, FileWeights, TextSession, usual_prompt};

use crate::failure::Result;
#[cfg(feature = "embed")]
use crate::held::{Held, held};
use crate::reader::Reader;
use crate::requantize;
#[cfg(feature = "embed")]
use crate::sessions::{Sessions, precise};
use crate::waiting::Waiting;

/// A sentence model.
#[allow(clippy::large_enum_variant, reason = "modules of the package are built with one of them")]
pub(crate) enum SentenceModel {
    #[cfg(feature = "embed")]
    Bert { bert: Held<Bert>, sessions: Sessions },
    /// A table with a vector for each token.
    #[cfg(feature = "static")]
    Table(TableFile<Vec<u8>>),
}

/// A BERT encoder, and the prompt before every text.
#[cfg(feature = "embed")]
pub(crate) struct Bert {
    encoder: Encoder<FileWeights<Vec<u8>>>,
    prompt: core::result::Result<String, Error>,
}

#[cfg(feature = "embed")]
impl Bert {
    fn open(file: Vec<u8>, requantize: Option<bool>) -> Result<Self> {
        let source = ModelSource::parse(&file)?;
        let prompt = usual_prompt(&source);
        let mut encoder = Encoder::open(file)?;
        let is_grouped = encoder.plan(1).grouped;
        requantize::if_wanted(requantize, is_grouped, || encoder.requantize())?;
        Ok(Self { encoder, prompt })
    }

    fn tokenize(&self, text: &str, limit: usize) -> core::result::Result<Tokenized, Error> {
        let prompt = self.prompt.as_deref().map_err(|error| *error)?;
        let mut session = TextSession::default();
        match prompt {
            "" => self.encoder.encode(text, limit, &mut session),
            prompt => self.encoder.encode(&joined(&[prompt, text])?, limit, &mut session),
        }
    }
}

impl SentenceModel {
    pub(crate) fn open(
        #[allow(unused_mut, reason = "of some kinds")] mut reader: Reader,
        requantize: Option<bool>,
    ) -> Result<Self> {
        #[cfg(feature = "static")]
        if let Some(table) = reader.take_table() {
            requantize::refuse_if_wanted(requantize)?;
            return Ok(Self::Table(table.with_file(reader.into_file(&[Format::Embd])?)));
        }
        #[cfg(feature = "embed")]
        {
            let file = reader.into_file(&[Format::Embd, Format::Amb])?;
            let bert = held(Bert::open(file, requantize)?);
            Ok(Self::Bert { bert, sessions: Sessions::default() })
        }
        #[cfg(not(feature = "embed"))]
        Err(ErrorKind::OtherModel.into())
    }

    /// What threads share.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has the model for itself.
    #[cfg(all(feature = "embed", feature = "shared"))]
    pub(crate) fn held(&self) -> Result<&Held<Bert>> {
        match self {
            Self::Bert { bert, .. } => Ok(bert),
            #[cfg(feature = "static")]
            Self::Table(_) => Err(ErrorKind::OtherModel.into()),
        }
    }

    pub(crate) fn dims(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { bert, .. } => bert.encoder.dimensions(),
            #[cfg(feature = "static")]
            Self::Table(table) => table.dimensions(),
        }
    }

    pub(crate) fn max_tokens(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { bert, .. } => bert.encoder.usual_tokens(),
            #[cfg(feature = "static")]
            Self::Table(table) => table.usual_tokens(),
        }
    }

    pub(crate) fn positions(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { bert, .. } => bert.encoder.positions(),
            #[cfg(feature = "static")]
            Self::Table(table) => table.positions(),
        }
    }

    pub(crate) fn tokenize(&self, text: &str, limit: usize) -> Result<Tokenized> {
        Ok(match self {
            #[cfg(feature = "embed")]
            Self::Bert { bert, .. } => bert.tokenize(text, limit)?,
            #[cfg(feature = "static")]
            Self::Table(table) => table.tokenize(text, limit)?,
        })
    }

    #[cfg_attr(
        not(feature = "embed"),
        allow(unused_variables, reason = "tables have no activations")
    )]
    pub(crate) fn embed(
        &mut self,
        texts: &Waiting,
        is_precise: bool,
        out: &mut [f32],
    ) -> Result<()> {
        let Waiting { ids, lengths } = texts;
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { bert, sessions } => sessions.with(
                precise(bert.encoder.plan(texts.tokens()), is_precise),
                |plan| bert.encoder.session_for(plan),
                |session| bert.encoder.embed(session, &InOrder, ids, lengths, 0, out),
            )?,
            #[cfg(feature = "static")]
            Self::Table(table) => table.embed(ids, lengths, out)?,
        }
        Ok(())
    }
}
