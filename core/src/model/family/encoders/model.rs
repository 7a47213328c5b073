//! An encoder as described by its `config.json`.

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::config::Config;
use crate::model::family::planning;
use crate::model::family::tensors::{Names, Tensor};
use crate::model::head::dense::DenseActivation;
use crate::model::head::pooling::PoolingMode;
use crate::model::plan::Plan;
use crate::model::weights::{Weights, check_presence};

/// An encoder as described by its `config.json`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FamilyModel {
    /// Its family, as spelled in `model_type`.
    pub family: &'static str,
    /// The configuration of its transformer.
    pub config: Config,
    /// The names of its tensors, which may follow a prefix that depends on the file.
    pub names: &'static Names,
    /// The parts that have biases; the others have none.
    pub biases: FamilyBiases,
    /// The head, if the model is a classifier.
    pub classifier: Option<ClassifierModel>,
}

/// All norms.
const NORMS: &[Tensor] = &[
    Tensor::EmbeddingNorm,
    Tensor::RelativeNorm,
    Tensor::AttentionNorm,
    Tensor::QueryNorm,
    Tensor::KeyNorm,
    Tensor::AttentionEndNorm,
    Tensor::FeedForwardNorm,
    Tensor::FeedForwardEndNorm,
    Tensor::PerLayerInputNorm,
    Tensor::PerLayerNorm,
    Tensor::Norm,
];

/// The linear layers that never have biases: those of a layer's further input, and of experts.
const UNBIASED: &[Tensor] = &[
    Tensor::PerLayerInput,
    Tensor::PerLayerGate,
    Tensor::PerLayerProjection,
    Tensor::Router,
    Tensor::ExpertsUp,
    Tensor::ExpertsDown,
];

/// The parts of a model that have biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyBiases {
    /// Queries, keys and values.
    pub attention: bool,
    /// The attention's output layer.
    pub output: bool,
    /// The first layer of the feed-forward part.
    pub up: bool,
    /// The second layer of the feed-forward part.
    pub down: bool,
    /// Norms.
    pub norms: bool,
}

impl FamilyBiases {
    /// Everywhere.
    pub const ALL: Self = Self { attention: true, output: true, up: true, down: true, norms: true };
    /// Nowhere.
    pub const NONE: Self =
        Self { attention: false, output: false, up: false, down: false, norms: false };

    /// Returns true if such tensors have biases.
    #[must_use]
    pub fn has(self, tensor: Tensor) -> bool {
        let mut parts = self.parts().into_iter();
        parts.any(|(has_bias, tensors)| has_bias && tensors.contains(&tensor))
    }

    /// The tensors of each part, and whether they have biases.
    const fn parts(self) -> [(bool, &'static [Tensor]); 6] {
        let Self { attention, output, up, down, norms } = self;
        [
            (attention, &[Tensor::Query, Tensor::Key, Tensor::Value, Tensor::QueryKeyValue]),
            (output, &[Tensor::AttentionOutput]),
            (up, &[Tensor::Up, Tensor::Gate, Tensor::UpGate, Tensor::GateUp]),
            (down, &[Tensor::Down]),
            (norms, NORMS),
            (false, UNBIASED),
        ]
    }
}

impl FamilyModel {
    /// [`Transformer::plan`](crate::model::Transformer::plan) for the model whose tensors are in
    /// `weights` under the names of its family, before there is memory for its layers.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`](crate::model::Transformer::from_family).
    pub fn plan(&self, weights: &(impl Weights + ?Sized), tokens: usize) -> Result<Plan> {
        let locate = |layer: &mut _, index| self.names.locate(layer, weights, &self.config, index);
        planning::plan(self.located(), locate, tokens)
    }

    /// [`Transformer::summaries`](crate::model::Transformer::summaries) for the same model.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn summaries(&self, weights: &(impl Weights + ?Sized), kernels: &Kernels) -> Result<usize> {
        let locate = |layer: &mut _, index| self.names.locate(layer, weights, &self.config, index);
        planning::summaries(self.located(), locate, kernels)
    }

    /// The number of layers with weights of their own.
    fn located(&self) -> usize {
        let layers = self.config.layers;
        if self.names.shares_layers() { layers.min(1) } else { layers }
    }

    /// Checks that exactly the biases of the model exist: further ones would be ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`](crate::ErrorKind::MissingTensor) and
    /// [`ErrorKind::UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting); the bias at fault
    /// is the last one requested from `weights`. Any error from [`Weights::matrix`].
    pub fn check_biases(&self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        for layer in 0..self.located() {
            for (has_bias, tensors) in self.biases.parts() {
                for tensor in tensors {
                    let find = |kind| self.names.find(weights, (*tensor, kind), layer);
                    if find(".weight")?.is_some() {
                        check_presence(find(".bias")?, has_bias)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The default number of classes, as in transformers.
pub(super) const USUAL_LABELS: usize = 2;

/// A classification head, and the names of its layers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClassifierModel {
    /// The pooling of the tokens' vectors.
    pub pooling: PoolingMode,
    /// The first layer, without `.weight` or `.bias`; `None` if the pooled vector goes straight to
    /// the layer that computes logits.
    pub hidden: Option<&'static str>,
    /// True if it has a bias.
    pub hidden_bias: bool,
    /// The activation of its output.
    pub activation: DenseActivation,
    /// The norm after it.
    pub norm: Option<&'static str>,
    /// True if the norm has a bias.
    pub norm_bias: bool,
    /// The layer that computes logits.
    pub output: &'static str,
    /// True if that layer has a bias.
    pub output_bias: bool,
    /// The rows of that layer that make the only logit, if it has one for each token.
    pub token_score: Option<TokenScore>,
    /// True if that layer may be the table of embeddings, where it is not stored.
    pub is_tied: bool,
    /// The padding token, if the last token is pooled that is another one.
    pub padding: Option<u32>,
    /// The number of classes in the settings.
    pub labels: usize,
    /// The activation that a cross-encoder applies to a logit, if its file states one; the default
    /// is a sigmoid for a single class.
    pub on_logits: Option<DenseActivation>,
}

/// The tokens whose logits are a score: that of `yes`, less that of `no`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenScore {
    /// The token of texts that answer.
    pub yes: u32,
    /// The token of texts that do not; `None` if the logit of `yes` is the score.
    pub no: Option<u32>,
    /// The number of rows of the layer, whose numbers `yes` and `no` are then; `None` for one for
    /// each token of the vocabulary.
    pub rows: Option<usize>,
}

impl ClassifierModel {
    /// That of causal models under the names of GGUF files, which have the rows of two tokens.
    pub(crate) const GGUF_CAUSAL: Self = Self {
        output: "cls.output",
        token_score: Some(TokenScore { yes: 0, no: Some(1), rows: Some(2) }),
        labels: 1,
        ..Self::CAUSAL
    };

    /// The activation of logits for a model with `labels` classes.
    #[must_use]
    pub const fn on_logits_of(&self, labels: usize) -> DenseActivation {
        on_logits_of(self.on_logits, labels)
    }

    /// That of BERT: the first token's vector through the pooler.
    pub(super) const BERT: Self = Self {
        pooling: PoolingMode::First,
        hidden: Some("pooler.dense"),
        hidden_bias: true,
        activation: DenseActivation::Tanh,
        norm: None,
        norm_bias: true,
        output: "classifier",
        output_bias: true,
        token_score: None,
        is_tied: false,
        padding: None,
        labels: USUAL_LABELS,
        on_logits: None,
    };
    /// RoBERTa's head under the names of GGUF files.
    pub(crate) const GGUF: Self = Self { hidden: Some("cls"), output: "cls.output", ..Self::BERT };
    /// RoBERTa's head.
    pub(super) const ROBERTA: Self =
        Self { hidden: Some("classifier.dense"), output: "classifier.out_proj", ..Self::BERT };
    /// That of causal models: the last token's vector.
    pub(super) const CAUSAL: Self = Self {
        pooling: PoolingMode::Last,
        hidden: None,
        output: "score",
        output_bias: false,
        ..Self::BERT
    };
}

/// The activation of logits for a model with `labels` classes; `said` is the one that its files
/// state.
#[must_use]
pub const fn on_logits_of(said: Option<DenseActivation>, labels: usize) -> DenseActivation {
    match (said, labels) {
        (Some(said), _) => said,
        (None, 1) => DenseActivation::Sigmoid,
        (None, _) => DenseActivation::Identity,
    }
}
