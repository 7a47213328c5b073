//! What runs a sentence model, of the kinds that a module is built with.

use alloc::vec::Vec;

#[cfg(all(feature = "static", any(not(feature = "embed"), feature = "shared")))]
use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
#[cfg(feature = "embed")]
use nanoembed_core::model::InOrder;
#[cfg(feature = "embed")]
use nanoembed_core::owned::Embedder;
#[cfg(feature = "static")]
use nanoembed_core::owned::TableFile;
use nanoembed_core::owned::Tokenized;

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
    Bert { embedder: Held<Embedder<Vec<u8>>>, sessions: Sessions },
    /// A table with a vector for each token.
    #[cfg(feature = "static")]
    Table(TableFile<Vec<u8>>),
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
            let mut embedder = Embedder::open(reader.into_file(&[Format::Embd, Format::Amb])?)?;
            let is_grouped = embedder.plan(1).grouped;
            requantize::if_wanted(requantize, is_grouped, || embedder.requantize())?;
            Ok(Self::Bert { embedder: held(embedder), sessions: Sessions::default() })
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
    pub(crate) fn held(&self) -> Result<&Held<Embedder<Vec<u8>>>> {
        match self {
            Self::Bert { embedder, .. } => Ok(embedder),
            #[cfg(feature = "static")]
            Self::Table(_) => Err(ErrorKind::OtherModel.into()),
        }
    }

    pub(crate) fn dims(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { embedder, .. } => embedder.config().hidden,
            #[cfg(feature = "static")]
            Self::Table(table) => table.dimensions(),
        }
    }

    pub(crate) fn max_tokens(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { embedder, .. } => embedder.config().max_tokens,
            #[cfg(feature = "static")]
            Self::Table(table) => table.usual_tokens(),
        }
    }

    pub(crate) fn positions(&self) -> usize {
        match self {
            #[cfg(feature = "embed")]
            Self::Bert { embedder, .. } => embedder.config().positions,
            #[cfg(feature = "static")]
            Self::Table(table) => table.positions(),
        }
    }

    pub(crate) fn tokenize(&self, text: &str, limit: usize) -> Result<Tokenized> {
        Ok(match self {
            #[cfg(feature = "embed")]
            Self::Bert { embedder, .. } => embedder.tokenize(text, Some(limit))?,
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
            Self::Bert { embedder, sessions } => sessions.with(
                precise(embedder.plan(texts.tokens()), is_precise),
                |plan| embedder.session_for(plan),
                |session| embedder.embed(session, &InOrder, ids, lengths, out),
            )?,
            #[cfg(feature = "static")]
            Self::Table(table) => table.embed(ids, lengths, out)?,
        }
        Ok(())
    }
}
