//! The configuration of a transformer as data: a family produces it once, and passes run on it.
//!
//! | | BERT | ModernBERT | Gemma 3 | Llama |
//! |---|---|---|---|---|
//! | positions | absolute | rotary, two bases | rotary, two bases | rotary |
//! | norms | layer, post | layer, pre | RMS (1 + w), sandwich | RMS, pre |
//! | feed-forward | plain GELU | gated GELU | gated tanh GELU | gated SiLU |
//! | attention | full | full, windows between | windows between, norms of queries and keys | causal |
//!
//! Settings are queried once per layer or call, never inside a kernel. A build without the feature
//! `families` supports only BERT's: the queries of passes are constants there.

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
    /// The attention heads; if `global_heads` are others, only those of layers with a window.
    pub heads: Heads,
    /// The attention heads of layers without a window, if they differ.
    pub global_heads: Option<Heads>,
    /// Elements of a token's vector.
    pub hidden: usize,
    /// Elements of the feed-forward layer.
    pub intermediate: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// The number of positions.
    pub positions: usize,
    /// The composition of a token's first vector.
    pub embedding: Embedding,
    /// The rotary positions, if any.
    pub rotary: Option<Rotary>,
    /// The biases on scores by the distance of key and query, if any.
    pub relative: Option<Relative>,
    /// The attention mask, windows and score scale.
    pub attention: Attention,
    /// The position of norms in a layer.
    pub order: Order,
    /// The kind of norm.
    pub norm: NormKind,
    /// Added to the variance, or to the mean square, in norms.
    pub epsilon: f32,
    /// The feed-forward layer.
    pub feed_forward: FeedForward,
    /// Elements of the further input of each layer, if there is one: a projection of the token's
    /// first vector. Each layer then has a factor on its output, too.
    pub per_layer: Option<usize>,
    /// True if the first layer has a norm before its attention like all others; false for
    /// ModernBERT, whose first layer takes the embeddings unnormed.
    pub first_norm: bool,
    /// True if a norm follows the last layer.
    pub final_norm: bool,
    /// Elements of the output of the linear layer after the final norm, if there is one. As it is
    /// linear, it is applied to the pooled vector.
    pub final_projection: Option<usize>,
}

/// The heads of an attention.
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

    /// The number of query heads for each key and value head.
    pub(in crate::model) const fn sharing(&self) -> usize {
        match self.query.checked_div(self.key_value) {
            Some(sharing) if FAMILIES => sharing,
            _ => 1,
        }
    }
}

/// The terms that add up to a token's first vector.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Embedding {
    /// The row of the position table for a text's first token, if there is a table. If it is not 0,
    /// the row before it has the number of the padding token and is used for such tokens anywhere
    /// in a text; they do not count as positions.
    pub positions: Option<usize>,
    /// True if there is a table of token types.
    pub token_types: bool,
    /// The factor on a token's row.
    pub scale: f32,
    /// True if the sum is normed.
    pub norm: bool,
    /// Elements of a row of the tables, at most `hidden`, if a linear layer maps the sum to the
    /// size of hidden states.
    pub projected: Option<usize>,
    /// The tokens that stand for other kinds of input.
    pub placeholders: Placeholders,
}

/// Tokens that stand for an image, a sound or a video, and have no vector of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Placeholders {
    /// Their ids; ids of no token where there are fewer.
    pub ids: [u32; 3],
    /// The padding token, whose vector they have.
    pub padding: u32,
}

impl Placeholders {
    /// No tokens.
    pub const NONE: Self = Self { ids: [u32::MAX; 3], padding: 0 };

    /// These tokens, with the vector of `padding`.
    #[must_use]
    pub const fn new(ids: [u32; 3], padding: u32) -> Self {
        Self { ids, padding }
    }

    /// The token whose vector token `id` has.
    pub(in crate::model) fn row(&self, id: u32) -> u32 {
        if FAMILIES && self.ids.contains(&id) { self.padding } else { id }
    }
}

/// The rotary positions of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// In layers that attend to all tokens.
    pub global: Rope,
    /// In layers with a [`Window`].
    pub local: Rope,
}

/// The biases on scores by the distance of key and query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relative {
    /// From a table.
    Buckets(RelativeBuckets),
    /// ALiBi: the distance times a negative slope of each head.
    Alibi,
    /// Products of queries and keys with vectors from a table.
    Disentangled(Disentangled),
}

/// A table of vectors for offsets of queries from keys, shared by all layers, each of which makes
/// queries and keys from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Disentangled {
    /// Rows for keys on one side of a query, if far keys share rows; 0 if each distance has one.
    pub buckets: usize,
    /// The distance from which on all keys share a row.
    pub distance: usize,
    /// True if the rows are normed.
    pub norm: bool,
}

impl Disentangled {
    /// `None` if there are no rows, or no bucket is left for far keys: half of the buckets are for
    /// one distance each.
    #[must_use]
    pub const fn new(buckets: usize, distance: usize, norm: bool) -> Option<Self> {
        let is_possible = match buckets {
            0 => distance > 0,
            _ => buckets > 1 && distance > buckets / 2 + 1,
        };
        if is_possible { Some(Self { buckets, distance, norm }) } else { None }
    }

    /// Rows for keys on one side of a query.
    pub(in crate::model) const fn span(&self) -> usize {
        if self.buckets > 0 { self.buckets } else { self.distance }
    }

    /// Rows of the table.
    pub(in crate::model) const fn rows(&self) -> usize {
        self.span().saturating_mul(2)
    }
}

/// A table of biases on scores by the distance of key and query, shared by all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelativeBuckets {
    /// Rows of the table, half of them for keys after queries.
    pub buckets: usize,
    /// The distance from which on all keys share a bucket.
    pub distance: usize,
}

impl RelativeBuckets {
    /// `None` if no bucket is left for far keys: a quarter of the buckets are for one distance
    /// each.
    #[must_use]
    pub const fn new(buckets: usize, distance: usize) -> Option<Self> {
        let is_possible = buckets >= 4 && distance > buckets / 4;
        if is_possible { Some(Self { buckets, distance }) } else { None }
    }
}

/// The attention mask, windows and score scale.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// The attention mask.
    pub mask: Mask,
    /// The window of some layers.
    pub window: Option<Window>,
    /// The norms of queries and keys before they are rotated, if any.
    pub query_key_norm: Option<QueryKeyNorm>,
    /// True if each head's values are divided by the root of their mean square.
    pub value_norm: bool,
    /// The factor on scores, if it is not 1 / √size.
    pub scale: Option<f32>,
}

/// The vectors of which norms of queries and keys take mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueryKeyNorm {
    /// Each head.
    Head,
    /// All heads together, which are not wider than a token's vector.
    Vector,
}

/// The attention mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mask {
    /// Tokens attend to their whole text.
    Full,
    /// Tokens attend to themselves and earlier tokens.
    Causal,
}

/// The position of norms in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// After each residual sum.
    Post,
    /// As `Post`, and the attention's input is added to its normed sum once more, with a second
    /// norm.
    PostTwice,
    /// Before attention and feed-forward layer.
    Pre,
    /// As `Pre`, and outputs are normed before they are added.
    Sandwich,
}

/// The kind of norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormKind {
    /// `(x − mean) / √(variance + ε) · weight + bias`; the bias may be missing.
    Layer,
    /// `x / √(mean(x²) + ε) · weight`.
    Rms {
        /// True if 1 is added to weights.
        one_plus: bool,
    },
}

/// The activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activation {
    /// x · Φ(x).
    Gelu,
    /// The tanh approximation of GELU.
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
    /// As `Plain`, but in some layers a mixture of experts.
    Mixed(Mixture),
}

impl FeedForward {
    /// The activation.
    #[must_use]
    pub const fn activation(self) -> Activation {
        match self {
            Self::Plain(activation) | Self::Gated(activation) => activation,
            Self::Mixed(mixture) => mixture.activation,
        }
    }
}

/// A mixture of experts: several plain feed-forward layers in place of one. A router chooses some of
/// them for each token, and their outputs, times the router's probabilities, are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mixture {
    /// The activation of each expert, and of layers without experts.
    pub activation: Activation,
    /// The number of experts.
    pub experts: usize,
    /// The number of experts chosen for each token, from 1 to `experts`.
    pub used: usize,
    /// The second of every so many layers has experts.
    pub every: usize,
}

impl Mixture {
    /// Returns true if layer `layer` has experts.
    pub(in crate::model) const fn is_in(&self, layer: usize) -> bool {
        matches!(layer.checked_rem(self.every), Some(1))
    }
}

const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

impl Config {
    /// The settings of BERT, without sizes.
    pub const BERT: Self = Self {
        layers: 0,
        heads: Heads { query: 0, key_value: 0, size: 0 },
        global_heads: None,
        hidden: 0,
        intermediate: 0,
        vocabulary: 0,
        positions: 0,
        embedding: Embedding {
            positions: Some(0),
            token_types: true,
            scale: 1.0,
            norm: true,
            projected: None,
            placeholders: Placeholders::NONE,
        },
        rotary: None,
        relative: None,
        attention: Attention {
            mask: Mask::Full,
            window: None,
            query_key_norm: None,
            value_norm: false,
            scale: None,
        },
        order: Order::Post,
        norm: NormKind::Layer,
        epsilon: 1e-12,
        feed_forward: FeedForward::Plain(Activation::Gelu),
        per_layer: None,
        first_norm: true,
        final_norm: false,
        final_projection: None,
    };

    /// The settings of Llama, without sizes.
    pub const LLAMA: Self = Self {
        embedding: Embedding {
            positions: None,
            token_types: false,
            norm: false,
            ..Self::BERT.embedding
        },
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

    /// The attention heads of layers with a window, or else of those without one.
    #[must_use]
    pub const fn heads_of(&self, has_window: bool) -> &Heads {
        match &self.global_heads {
            Some(heads) if FAMILIES && !has_window => heads,
            _ => &self.heads,
        }
    }

    /// The attention heads of layer `layer`.
    pub(in crate::model) const fn heads_in(&self, layer: usize) -> &Heads {
        self.heads_of(self.has_window(layer))
    }

    /// The largest number of elements of all queries of a token.
    pub(in crate::model) const fn widest_heads(&self) -> usize {
        larger(self.heads_of(true).width(), self.heads_of(false).width())
    }

    /// The largest number of elements in an input or output row of a linear layer.
    #[must_use]
    pub const fn widest(&self) -> usize {
        let widest = larger(self.hidden, self.intermediate);
        if FAMILIES {
            larger(larger(widest, self.widest_heads()), self.per_layer_elements())
        } else {
            widest
        }
    }

    /// Elements of a token's context, whose memory first holds rows of tables that are projected.
    pub(in crate::model) const fn context_width(&self) -> usize {
        match self.projected() {
            _ if !FAMILIES => self.hidden,
            Some(width) => larger(width, self.widest_heads()),
            None => self.widest_heads(),
        }
    }

    /// Returns true if the build can run the model.
    pub(in crate::model) fn is_built_in(&self) -> bool {
        let fits = !self.has_vector_norm() || self.widest_heads() <= self.hidden;
        let mixes = self.mixture().is_none() || !self.norms_first();
        let is_plain = !self.norms_first() && !self.changes_heads();
        let positions_fit = self.disentangled().is_none() || is_plain;
        FAMILIES && fits && mixes && positions_fit || self.is_bert()
    }

    /// Returns true if the settings are BERT's.
    pub(in crate::model) fn is_bert(&self) -> bool {
        let Self { layers, heads, hidden, intermediate, vocabulary, positions, epsilon, .. } =
            *self;
        let sizes =
            Self { layers, hidden, intermediate, vocabulary, positions, epsilon, ..Self::BERT };
        let is_whole = heads.query == heads.key_value && heads.width() == hidden;
        is_whole && Self { heads, ..sizes } == *self
    }

    /// Elements of the further input of each layer; 0 without one.
    pub(in crate::model) const fn per_layer_elements(&self) -> usize {
        match self.per_layer {
            Some(elements) if FAMILIES => elements,
            _ => 0,
        }
    }

    /// Elements of the output of the layer after the final norm, if there is one.
    pub(in crate::model) const fn final_projection(&self) -> Option<usize> {
        if FAMILIES { self.final_projection } else { None }
    }

    pub(in crate::model) const fn order(&self) -> Order {
        if FAMILIES { self.order } else { Order::Post }
    }

    /// Returns true if norms precede attention and feed-forward layer.
    pub(in crate::model) const fn norms_first(&self) -> bool {
        matches!(self.order(), Order::Pre | Order::Sandwich)
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

    /// The mixture of experts, if some layers have one.
    pub(in crate::model) const fn mixture(&self) -> Option<&Mixture> {
        match &self.feed_forward {
            FeedForward::Mixed(mixture) if FAMILIES => Some(mixture),
            _ => None,
        }
    }

    /// The mixture of experts of layer `layer`.
    pub(in crate::model) fn mixture_in(&self, layer: usize) -> Option<&Mixture> {
        self.mixture().filter(|mixture| mixture.is_in(layer))
    }

    /// The biases on scores by the distance of key and query, if any.
    pub(in crate::model) const fn relative(&self) -> Option<&Relative> {
        if FAMILIES { self.relative.as_ref() } else { None }
    }

    /// The relative position buckets, if any.
    #[must_use]
    pub const fn buckets(&self) -> Option<&RelativeBuckets> {
        match &self.relative {
            Some(Relative::Buckets(buckets)) => Some(buckets),
            _ => None,
        }
    }

    /// The vectors of offsets, if there are any.
    pub(in crate::model) const fn disentangled(&self) -> Option<&Disentangled> {
        match &self.relative {
            Some(Relative::Disentangled(disentangled)) if FAMILIES => Some(disentangled),
            _ => None,
        }
    }

    /// Returns true if tokens attend to none after them.
    pub(crate) const fn is_causal(&self) -> bool {
        FAMILIES && matches!(self.attention.mask, Mask::Causal)
    }

    /// Tokens of the longest text among `tokens`.
    pub(in crate::model) const fn longest(&self, tokens: usize) -> usize {
        if tokens < self.positions { tokens } else { self.positions }
    }

    /// The largest number of vectors of offsets in texts of `tokens` tokens.
    pub(in crate::model) const fn position_rows(&self, tokens: usize) -> usize {
        match self.disentangled() {
            Some(disentangled) => {
                let rows = disentangled.rows();
                let offsets = self.longest(tokens).saturating_mul(2).saturating_sub(1);
                if rows < offsets { rows } else { offsets }
            }
            None => 0,
        }
    }

    /// See [`Embedding::projected`].
    pub(in crate::model) const fn projected(&self) -> Option<usize> {
        if FAMILIES { self.embedding.projected } else { None }
    }

    /// Elements of a row of the tables.
    pub(in crate::model) const fn table_width(&self) -> usize {
        match self.projected() {
            Some(width) => width,
            None => self.hidden,
        }
    }

    /// The rotary positions of layer `layer`.
    pub(in crate::model) const fn rope(&self, layer: usize) -> Option<&Rope> {
        match &self.rotary {
            Some(rotary) if FAMILIES => {
                Some(if self.has_window(layer) { &rotary.local } else { &rotary.global })
            }
            _ => None,
        }
    }

    /// Returns true if layer `layer` has a window.
    pub(in crate::model) const fn has_window(&self, layer: usize) -> bool {
        match &self.attention.window {
            Some(window) if FAMILIES => window.is_in(layer),
            _ => false,
        }
    }

    pub(in crate::model) const fn has_query_key_norm(&self) -> bool {
        FAMILIES && self.attention.query_key_norm.is_some()
    }

    pub(in crate::model) const fn has_value_norm(&self) -> bool {
        FAMILIES && self.attention.value_norm
    }

    /// Returns true if queries and keys are normed, all heads together.
    pub(in crate::model) const fn has_vector_norm(&self) -> bool {
        FAMILIES && matches!(self.attention.query_key_norm, Some(QueryKeyNorm::Vector))
    }

    /// Elements of a token that are normed before the attention: its vector, and queries and keys
    /// of all heads if they are normed together.
    pub(in crate::model) const fn normed_elements(&self) -> usize {
        let states = if self.norms_first() { self.hidden } else { 0 };
        match self.has_vector_norm() {
            true => {
                states.saturating_add(self.heads.width()).saturating_add(self.heads.key_width())
            }
            false => states,
        }
    }

    /// Returns true if queries and keys are normed or rotated.
    pub(in crate::model) const fn changes_heads(&self) -> bool {
        FAMILIES && (self.rotary.is_some() || self.attention.query_key_norm.is_some())
    }

    /// The factor on scores of these heads.
    pub(crate) fn score_scale(&self, heads: &Heads) -> f32 {
        #[allow(clippy::cast_precision_loss)] // heads are small
        let usual = || 1.0 / root::sqrt_f32(heads.size as f32);
        match self.attention.scale {
            Some(scale) if FAMILIES => scale,
            _ => usual(),
        }
    }
}
