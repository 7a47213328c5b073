//! Models that embed texts or compare two, whatever their files are.
//!
//! | file | role |
//! |---|---|
//! | `open` | models out of files and folders |
//! | `source` | what files say of a model, all but its weights |
//! | `fault` | what keeps a model from being opened |
//! | `tokens` | texts become tokens |
//! | `run` | tokens become vectors and logits |
//! | `classes` | what a cross-encoder tells apart |

mod classes;
mod fault;
mod open;
mod run;
mod source;
mod tokens;

pub use self::classes::Classes;
pub use self::fault::ModelFault;
pub use self::source::TextSource;

use super::folder::{FolderModel, Labels, Prompts};
use super::tokenized::MOST_TOKENS;
use super::{Embedder, FileWeights, TextModel};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Boxed;
use crate::model::Weights;

/// A model of any kind that embeds texts or compares two: BERT with WordPiece out of a file `B`, or
/// a model of any family, transformer or table, over the weights `W`.
///
/// Immutable: threads share one, each with a [`Session`](super::Session) and a
/// [`PipelineSession`](super::PipelineSession) of its own.
///
/// ```
/// use nanoembed_core::model::InOrder;
/// use nanoembed_core::owned::folder::Prefix;
/// use nanoembed_core::owned::{AnyEncoder, PipelineSession};
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let model = AnyEncoder::open(std::fs::read(path)?)?;
/// let prompt = model.prompts().choose(&Prefix::Usual).unwrap_or_default();
/// let mut tokens = PipelineSession::default();
/// let prompt = model.prompt(prompt, &mut tokens)?;
/// let text = prompt.before("How do I reset my password?")?;
/// let ids = model.encode(&text, model.usual_tokens(), &mut tokens)?.ids;
/// let mut vector = vec![0.0; model.dimensions()];
/// let mut session = model.session_for(model.plan(ids.len()))?;
/// model.embed(&mut session, &InOrder, &ids, &[ids.len()], prompt.skipped, &mut vector)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyEncoder<B, W = FileWeights<B>> {
    kind: Kind<B, W>,
    prompts: Prompts,
    compares: bool,
    classes: Option<Classes>,
}

#[derive(Clone, Debug)]
enum Kind<B, W> {
    /// BERT with WordPiece.
    Bert(Boxed<Embedder<B>>),
    /// Any family.
    Text(TextModel<W>),
}

impl<B: AsRef<[u8]> + Sync, W: Weights + Sync> AnyEncoder<B, W> {
    /// BERT with WordPiece, and the prompts that its file has.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn from_bert(bert: Embedder<B>, prompts: Prompts) -> Result<Self> {
        let kind = Kind::Bert(Boxed::new(bert)?);
        Ok(Self { kind, prompts, compares: false, classes: None })
    }

    /// A model that `described` describes; `labels` are the names of its classes, as far as they
    /// have any, by their numbers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn from_text(
        model: TextModel<W>,
        described: &FolderModel,
        prompts: Prompts,
        labels: Labels,
    ) -> Result<Self> {
        let classes = Classes::of(described, &model, &labels)?;
        Ok(Self { kind: Kind::Text(model), prompts, compares: described.compares(), classes })
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().hidden,
            Kind::Text(model) => model.dimensions(),
        }
    }

    /// How many tokens of a text the model was made for.
    #[must_use]
    pub fn usual_tokens(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().max_tokens,
            Kind::Text(model) => model.tokenizer().max_tokens().unwrap_or(self.positions()),
        }
    }

    /// The most tokens of a text that it can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().positions,
            Kind::Text(model) => model.tokenizer().positions().unwrap_or(MOST_TOKENS),
        }
    }

    /// The fewest tokens that a text may be cut to: models with positions have tokens around every
    /// text.
    #[must_use]
    pub const fn least_tokens(&self) -> usize {
        if self.is_table() { 1 } else { 2 }
    }

    /// Whether it is a table with a vector for each token. Its sessions need no memory, and texts
    /// gain nothing from being taken together.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Text(TextModel::Static(_)))
    }

    /// Whether it compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// What it tells apart, if it classifies.
    #[must_use]
    pub const fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// The prompts that the model has.
    #[must_use]
    pub const fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// Requantises weights to bytes: see [`Embedder::requantize`].
    ///
    /// # Errors
    ///
    /// As [`Embedder::requantize`]; [`ErrorKind::UnsupportedSetting`] for models of other layouts.
    pub fn requantize(&mut self) -> Result<()> {
        match &mut self.kind {
            Kind::Bert(model) => model.requantize(),
            Kind::Text(_) => Err(Error::without_offset(ErrorKind::UnsupportedSetting)),
        }
    }
}
