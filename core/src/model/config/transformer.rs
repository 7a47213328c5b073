//! What a transformer is, as data: a family says it once, and passes run on it.
//!
//! | | BERT | ModernBERT | Gemma 3 | Llama |
//! |---|---|---|---|---|
//! | positions | absolute | rotary, two bases | rotary, two bases | rotary |
//! | norms | layer, post | layer, pre | RMS (1 + w), sandwich | RMS, pre |
//! | feed-forward | plain GELU | gated GELU | gated tanh GELU | gated SiLU |
//! | attention | full | full, windows between | windows between, norms of queries and keys | causal |
//!
//! Settings are asked once for a layer or a call, never inside a kernel. A build without the
//! feature `families` knows BERT's alone: the questions that passes ask are constants there.

use super::families::FAMILIES;
use super::rope::Rope;
use super::window::Window;
use crate::kernel::root;

/// The sizes and settings of a transformer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Number of layers.
    pub layers: usize,
    /// The heads of its attention.
    pub heads: Heads,
    /// Elements of a token's vector.
    pub hidden: usize,
    /// Elements of the feed-forward layer.
    pub intermediate: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of positions the model knows.
    pub positions: usize,
    /// What a token is before the first layer.
    pub embedding: Embedding,
    /// How positions turn queries and keys, if they do.
    pub rotary: Option<Rotary>,
    /// How positions change scores, if they do.
    pub relative: Option<RelativeBuckets>,
    /// Which tokens see which, and how scores are made.
    pub attention: Attention,
    /// Where norms stand.
    pub order: Order,
    /// What norms are.
    pub norm: NormKind,
    /// Added to the variance, or to the mean square, in norms.
    pub epsilon: f32,
    /// The feed-forward layer.
    pub feed_forward: FeedForward,
    /// Whether the first layer has the norm before its attention, as all others: ModernBERT's takes
    /// the embeddings as they are.
    pub first_norm: bool,
    /// Whether a norm follows the last layer.
    pub final_norm: bool,
}

/// Heads of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Heads of queries.
    pub query: usize,
    /// Heads of keys and values; divides `query`.
    pub key_value: usize,
    /// Elements of a head.
    pub size: usize,
}

impl Heads {
    /// Elements of the queries of all heads.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.query.saturating_mul(self.size)
    }

    /// Elements of the keys of all heads.
    #[must_use]
    pub const fn key_width(&self) -> usize {
        self.key_value.saturating_mul(self.size)
    }
}

/// What is added up to a token's first vector.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Embedding {
    /// The row of the table of positions for a text's first token, if there is a table. Where it is
    /// not 0, the row before it has the number of the padding token, and is that of such tokens
    /// wherever they stand in a text: they do not count as positions.
    pub positions: Option<usize>,
    /// Whether there is a table of token types.
    pub token_types: bool,
    /// What a token's row is multiplied with.
    pub scale: f32,
    /// Whether the sum is normed.
    pub norm: bool,
}

/// How positions turn queries and keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// In layers that see all tokens.
    pub global: Rope,
    /// In layers with a [`Window`].
    pub local: Rope,
}

/// A table of what is added to scores, by how far key and query are apart: one for all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelativeBuckets {
    /// Rows of the table, half of them for keys behind queries.
    pub buckets: usize,
    /// The distance from which on all keys share a bucket.
    pub distance: usize,
}

/// Which tokens see which, and how scores are made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// Whether tokens see those after them.
    pub mask: Mask,
    /// The window of some layers.
    pub window: Option<Window>,
    /// Whether queries and keys are normed, head by head, before they are turned.
    pub query_key_norm: bool,
    /// The factor of scores, if it is not 1 / √size.
    pub scale: Option<f32>,
}

/// Whether tokens see those after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mask {
    /// They see all of their text.
    Full,
    /// They see themselves and those before.
    Causal,
}

/// Where norms stand in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Behind each residual sum.
    Post,
    /// Before attention and feed-forward layer.
    Pre,
    /// As `Pre`, and what comes out is normed before it is added.
    Sandwich,
}

/// What a norm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormKind {
    /// `(x − mean) / √(variance + ε) · weight + bias`; the bias may be missing.
    Layer,
    /// `x / √(mean(x²) + ε) · weight`.
    Rms {
        /// Whether 1 is added to weights.
        one_plus: bool,
    },
}

/// What makes a layer more than a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activation {
    /// x · Φ(x).
    Gelu,
    /// The same by its approximation with tanh.
    GeluTanh,
    /// x · sigmoid(x).
    Silu,
    /// max(x, 0).
    Relu,
}

/// The feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedForward {
    /// `down(activation(up(x)))`.
    Plain(Activation),
    /// `down(activation(gate(x)) · up(x))`.
    Gated(Activation),
}

impl Config {
    /// The settings of BERT, without sizes.
    pub const BERT: Self = Self {
        layers: 0,
        heads: Heads { query: 0, key_value: 0, size: 0 },
        hidden: 0,
        intermediate: 0,
        vocabulary: 0,
        positions: 0,
        embedding: Embedding { positions: Some(0), token_types: true, scale: 1.0, norm: true },
        rotary: None,
        relative: None,
        attention: Attention { mask: Mask::Full, window: None, query_key_norm: false, scale: None },
        order: Order::Post,
        norm: NormKind::Layer,
        epsilon: 1e-12,
        feed_forward: FeedForward::Plain(Activation::Gelu),
        first_norm: true,
        final_norm: false,
    };

    /// The settings of Llama, without sizes.
    pub const LLAMA: Self = Self {
        embedding: Embedding { positions: None, token_types: false, scale: 1.0, norm: false },
        attention: Attention { mask: Mask::Causal, ..Self::BERT.attention },
        order: Order::Pre,
        norm: NormKind::Rms { one_plus: false },
        epsilon: 1e-5,
        feed_forward: FeedForward::Gated(Activation::Silu),
        final_norm: true,
        ..Self::BERT
    };

    /// Elements of a head.
    #[must_use]
    pub const fn head(&self) -> usize {
        self.heads.size
    }

    /// The most elements of a row that a linear layer is applied to, or makes.
    #[must_use]
    pub const fn widest(&self) -> usize {
        let Self { hidden, intermediate, .. } = *self;
        let widest = if hidden > intermediate { hidden } else { intermediate };
        let heads = self.heads.width();
        if FAMILIES && heads > widest { heads } else { widest }
    }

    /// Whether a build can run the model.
    pub(in crate::model) fn is_built_in(&self) -> bool {
        FAMILIES || self.is_bert()
    }

    /// Whether the settings are BERT's.
    pub(in crate::model) fn is_bert(&self) -> bool {
        let Self { layers, heads, hidden, intermediate, vocabulary, positions, epsilon, .. } =
            *self;
        let sizes =
            Self { layers, hidden, intermediate, vocabulary, positions, epsilon, ..Self::BERT };
        let is_whole = heads.query == heads.key_value && heads.width() == hidden;
        is_whole && Self { heads, ..sizes } == *self
    }

    /// Heads of queries for each head of keys and values.
    pub(in crate::model) const fn sharing(&self) -> usize {
        match self.heads.query.checked_div(self.heads.key_value) {
            Some(sharing) if FAMILIES => sharing,
            _ => 1,
        }
    }

    pub(in crate::model) const fn order(&self) -> Order {
        if FAMILIES { self.order } else { Order::Post }
    }

    pub(in crate::model) const fn norm(&self) -> NormKind {
        if FAMILIES { self.norm } else { NormKind::Layer }
    }

    pub(in crate::model) const fn feed_forward(&self) -> FeedForward {
        if FAMILIES { self.feed_forward } else { FeedForward::Plain(Activation::Gelu) }
    }

    pub(in crate::model) const fn is_gated(&self) -> bool {
        matches!(self.feed_forward(), FeedForward::Gated(_))
    }

    /// How positions change scores.
    pub(in crate::model) const fn relative(&self) -> Option<&RelativeBuckets> {
        if FAMILIES { self.relative.as_ref() } else { None }
    }

    /// How positions turn queries and keys of layer `layer`.
    pub(in crate::model) const fn rope(&self, layer: usize) -> Option<&Rope> {
        match &self.rotary {
            Some(rotary) if FAMILIES => {
                Some(if self.has_window(layer) { &rotary.local } else { &rotary.global })
            }
            _ => None,
        }
    }

    /// Whether tokens of layer `layer` only see those that are near.
    pub(in crate::model) const fn has_window(&self, layer: usize) -> bool {
        match &self.attention.window {
            Some(window) if FAMILIES => window.is_in(layer),
            _ => false,
        }
    }

    pub(in crate::model) const fn has_query_key_norm(&self) -> bool {
        FAMILIES && self.attention.query_key_norm
    }

    /// Whether queries and keys are more than products.
    pub(in crate::model) const fn changes_heads(&self) -> bool {
        FAMILIES && (self.rotary.is_some() || self.attention.query_key_norm)
    }

    /// The factor of scores.
    pub(crate) fn score_scale(&self) -> f32 {
        #[allow(clippy::cast_precision_loss)] // heads are small
        let usual = || 1.0 / root::sqrt_f32(self.heads.size as f32);
        match self.attention.scale {
            Some(scale) if FAMILIES => scale,
            _ => usual(),
        }
    }
}
