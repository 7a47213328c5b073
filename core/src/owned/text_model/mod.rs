//! Models of texts: what a folder's texts describe, over weights that lie anywhere, with their
//! tokenizer.

mod asked;
mod table;
mod tokenizer;
mod transformer;

use alloc::string::String;
use alloc::vec::Vec;

use asked::Asked;
pub use asked::TensorFault;
pub use table::StaticModel;
pub use tokenizer::TextTokenizer;
pub use transformer::TransformerModel;

use super::folder::{Described, FolderModel};
use super::{Pipeline, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Boxed;
use crate::model::{Batch, Parallel, Plan, Weights};

/// A model that embeds texts, or compares them.
///
/// The weights have the names of Hugging Face; those of a Dense module stand behind its folder's
/// path, such as `2_Dense/linear.weight`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextModel<W> {
    /// A transformer, and what follows it.
    Transformer(Boxed<TransformerModel<W>>),
    /// A table with a vector for each token.
    Static(Boxed<StaticModel<W>>),
}

impl<W: Weights + Sync> TextModel<W> {
    /// The model that the texts of a folder describe.
    ///
    /// # Errors
    ///
    /// What is wrong with the weights, as [`TextEncoder::open`](super::TextEncoder::open) and
    /// [`TokenTable::open`](crate::model::TokenTable::open) say it, and the tensor at fault.
    pub fn open(
        model: &FolderModel,
        weights: W,
        tokenizer: Pipeline,
    ) -> core::result::Result<Self, TensorFault> {
        Self::open_listing(model, weights, tokenizer).map(|(model, _)| model)
    }

    /// As [`open`](Self::open), and lists the tensors that the model is made of, by what `weights`
    /// calls them, in the order in which it asks for them; some may be there more than once.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_listing(
        model: &FolderModel,
        weights: W,
        tokenizer: Pipeline,
    ) -> core::result::Result<(Self, Vec<String>), TensorFault> {
        let asked = Asked::of(&weights);
        let tokenizer = TextTokenizer::new(model, tokenizer);
        let tokenizer = tokenizer.map_err(|error| asked.fault(error))?;
        match &model.described {
            Described::Transformer(family) => {
                let encoder = transformer::open(model, family, &asked);
                let encoder = encoder.map_err(|error| asked.fault(error))?;
                let found = asked.into_found()?;
                let model = TransformerModel::of(weights, encoder, tokenizer);
                Ok((Self::Transformer(Boxed::new(model)?), found))
            }
            Described::Table(settings) => {
                let table = table::open(model, &asked, tokenizer.pipeline().count());
                let table = table.map_err(|error| asked.fault(error))?;
                let found = asked.into_found()?;
                let model = StaticModel::of(weights, table, tokenizer, settings.normalize);
                Ok((Self::Static(Boxed::new(model)?), found))
            }
        }
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Transformer(model) => model.encoder().dimensions(),
            Self::Static(model) => model.dimensions(),
        }
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &TextTokenizer {
        match self {
            Self::Transformer(model) => model.tokenizer(),
            Self::Static(model) => model.tokenizer(),
        }
    }

    /// How the model was made to run: see [`TextEncoder::plan`](super::TextEncoder::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        match self {
            Self::Transformer(model) => model.plan(tokens),
            Self::Static(_) => Plan::new(tokens),
        }
    }

    /// The bytes that [`session_for`](Self::session_for) takes.
    ///
    /// # Errors
    ///
    /// As [`TransformerModel::session_bytes`].
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        match self {
            Self::Transformer(model) => model.session_bytes(plan),
            Self::Static(_) => Ok(0),
        }
    }

    /// The scratch memory of one thread, of which a table needs none.
    ///
    /// # Errors
    ///
    /// As [`TransformerModel::session_for`].
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        match self {
            Self::Transformer(model) => model.session_for(plan),
            Self::Static(_) => Ok(Session::empty(plan)),
        }
    }

    /// The embeddings of tokenised texts, all of which have tokens, one behind the other. The first
    /// `skipped` tokens of each do not count in pooling.
    ///
    /// # Errors
    ///
    /// As [`TransformerModel::embed`] and [`StaticModel::embed`];
    /// [`ErrorKind::UnsupportedSetting`] if a table is to leave out tokens.
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        match self {
            Self::Transformer(model) => {
                let texts = Batch::new(ids, lengths);
                model.embed(session, parallel, &texts, skipped, out)
            }
            Self::Static(_) if skipped > 0 => {
                Err(Error::without_offset(ErrorKind::UnsupportedSetting))
            }
            Self::Static(table) => table.embed(ids, lengths, out),
        }
    }
}
