//! Models of texts: what a folder's texts describe, over weights that lie anywhere, with their
//! tokenizer.

mod asked;
mod table;
mod tokenizer;
mod transformer;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use asked::TensorFault;
pub use table::StaticModel;
pub use tokenizer::TextTokenizer;
pub use transformer::TransformerModel;

use super::folder::{Described, FolderModel};
use super::{Pipeline, PipelineSession};
use crate::error::Result;
use crate::limit::filled;
use crate::model::{Batch, InOrder, Weights};

/// A model that embeds texts, or compares them.
///
/// The weights have the names of Hugging Face; those of a Dense module stand behind its folder's
/// path, such as `2_Dense/linear.weight`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextModel<W> {
    /// A transformer, and what follows it.
    Transformer(Box<TransformerModel<W>>),
    /// A table with a vector for each token.
    Static(Box<StaticModel<W>>),
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
        let tokenizer = TextTokenizer::new(model, tokenizer);
        match &model.described {
            Described::Transformer(family) => {
                let opened = TransformerModel::open(model, family, weights, tokenizer);
                opened.map(|model| Self::Transformer(Box::new(model)))
            }
            Described::Table(settings) => {
                let opened = StaticModel::open(model, *settings, weights, tokenizer);
                opened.map(|model| Self::Static(Box::new(model)))
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

    /// The embedding of one text, as much of it as the model was made for. It allocates what it
    /// needs; a [`TransformerModel`] embeds many in a session.
    ///
    /// # Errors
    ///
    /// As [`TextTokenizer::encode`] and [`TransformerModel::embed`].
    pub fn embed_text(&self, text: &str) -> Result<Vec<f32>> {
        let limit = self.tokenizer().max_tokens().unwrap_or(usize::MAX);
        let ids = self.tokenizer().encode(text, limit, &mut PipelineSession::default())?.ids;
        let mut vector = filled(self.dimensions(), 0.0)?;
        match self {
            Self::Static(model) => model.embed(&ids, &mut vector)?,
            // A text without tokens is similar to nothing.
            Self::Transformer(_) if ids.is_empty() => {}
            Self::Transformer(model) => {
                let mut session = model.encoder().session(ids.len(), 1)?;
                let texts = Batch { ids: &ids, types: &[], lengths: &[ids.len()] };
                model.embed(&mut session, &InOrder, &texts, 0, &mut vector)?;
            }
        }
        Ok(vector)
    }
}
