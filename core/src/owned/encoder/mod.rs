//! Models that embed texts or compare two, whatever their files are.
//!
//! | file | role |
//! |---|---|
//! | `open` | models out of files, folders and descriptions |
//! | `tokens`, `pairs` | texts, and pairs of texts, to tokens |
//! | `run` | tokens to vectors and logits |
//! | `sparse`, `multi` | texts to sparse vectors, and to a vector for each token |
//! | `classes` | the classes of a cross-encoder |
//! | `requantize`, `requantized` | linear layers requantised to bytes on load |

mod classes;
mod multi;
mod open;
mod pairs;
mod requantize;
mod requantized;
mod run;
mod sparse;
mod tokens;

pub use self::classes::Classes;
pub use self::multi::{LateSide, MultiTokens};

use self::multi::MultiPart;
use self::pairs::Pairs;
use self::requantized::Requantizing;
use self::sparse::SparsePart;
use super::folder::Prompts;
use super::token_encoder::TokenEncoder;
use super::tokenized::MOST_TOKENS;
use super::tokenizer::{TextKinds, Tokenizer};
use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::Weights;

/// A model that embeds texts or compares two, over the weights `W`: a transformer of any family or
/// a table with a vector for each token, with its tokenizer and its prompts.
///
/// Immutable: threads share one, each with a [`Session`](super::Session) and a
/// [`TextSession`](super::TextSession).
///
/// ```
/// use nanoembed_core::model::InOrder;
/// use nanoembed_core::owned::{Encoder, TextSession};
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let model = Encoder::open(std::fs::read(path)?)?;
/// // One text:
/// let vector = model.embed_text("How do I reset my password?")?;
///
/// // Many texts: sessions that are used again, and several texts in a pass.
/// let (mut ids, mut lengths) = (Vec::new(), Vec::new());
/// let mut tokens = TextSession::default();
/// for text in ["How do I reset my password?", "Where is the invoice?"] {
///     let found = model.encode(text, model.usual_tokens(), &mut tokens)?;
///     lengths.push(found.ids.len());
///     ids.extend(found.ids);
/// }
/// let mut vectors = vec![0.0; lengths.len() * model.dimensions()];
/// let mut session = model.session(ids.len(), 1)?;
/// model.embed(&mut session, &InOrder, &ids, &lengths, 0, &mut vectors)?;
/// let cosine: f32 = vector.iter().zip(&vectors).map(|(a, b)| a * b).sum();
/// assert!(cosine > 0.999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder<W> {
    weights: W,
    network: TokenEncoder,
    tokenizer: Tokenizer<'static, TextKinds>,
    requantizing: Requantizing,
    prompts: Prompts,
    compares: bool,
    pairs: Pairs,
    classes: Option<Classes>,
    sparse: Option<SparsePart>,
    multi: Option<MultiPart>,
}

impl<W: Weights + Sync> Encoder<W> {
    /// The model without its tokenizer.
    #[must_use]
    pub const fn network(&self) -> &TokenEncoder {
        &self.network
    }

    /// The tokenizer.
    #[must_use]
    pub const fn tokenizer(&self) -> &Tokenizer<'static, TextKinds> {
        &self.tokenizer
    }

    /// The tokenizer, without the rest of the model.
    #[must_use]
    pub fn into_tokenizer(self) -> Tokenizer<'static, TextKinds> {
        self.tokenizer
    }

    /// The weights.
    #[must_use]
    pub const fn weights(&self) -> &W {
        &self.weights
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// Any error of reading the weights.
    pub fn with_kernels(mut self, kernels: Kernels) -> Result<Self> {
        let weights = self.requantizing.over(&self.weights);
        self.network = self.network.with_kernels(&weights, kernels)?;
        Ok(self)
    }

    /// Elements of an embedding; 0 for a cross-encoder, and for a model that makes other vectors
    /// alone.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.network.dimensions()
    }

    /// The number of tokens of a text that the model was made for.
    #[must_use]
    pub fn usual_tokens(&self) -> usize {
        self.tokenizer.max_tokens().unwrap_or(self.positions())
    }

    /// The most tokens of a text that it can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.tokenizer.positions().unwrap_or(MOST_TOKENS)
    }

    /// The fewest tokens that a text may be cut to: models with positions have tokens around every
    /// text.
    #[must_use]
    pub const fn least_tokens(&self) -> usize {
        if self.is_table() { 1 } else { 2 }
    }

    /// Returns true for a table with a vector for each token. Its sessions need no memory, and texts
    /// gain nothing from being taken together.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        self.network.is_table()
    }

    /// Returns true if the model compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// Returns true if it computes once the first tokens that several pairs share.
    #[must_use]
    pub fn shares_first_tokens(&self) -> bool {
        self.compares && self.network.shares_first_tokens()
    }

    /// The classes that it tells apart, if it classifies.
    #[must_use]
    pub const fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// The prompts that the model has.
    #[must_use]
    pub const fn prompts(&self) -> &Prompts {
        &self.prompts
    }
}
