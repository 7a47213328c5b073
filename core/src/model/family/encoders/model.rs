//! What a `config.json` says of an encoder.

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::config::Config;
use crate::model::family::planning;
use crate::model::family::tensors::{Names, Tensor};
use crate::model::head::dense::DenseActivation;
use crate::model::head::ways::Way;
use crate::model::plan::Plan;
use crate::model::weights::{Weights, as_said};

/// An encoder as its `config.json` describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FamilyModel {
    /// Its family, by the name of `model_type`.
    pub family: &'static str,
    /// What its transformer is.
    pub config: Config,
    /// What its tensors are called, behind a prefix that the file decides.
    pub names: &'static Names,
    /// Which of its parts have biases; others have none.
    pub biases: Biases,
    /// The head on top of it, if it classifies.
    pub classifier: Option<ClassifierModel>,
}

/// All norms.
const NORMS: &[Tensor] = &[
    Tensor::EmbeddingNorm,
    Tensor::AttentionNorm,
    Tensor::QueryNorm,
    Tensor::KeyNorm,
    Tensor::AttentionEndNorm,
    Tensor::FeedForwardNorm,
    Tensor::FeedForwardEndNorm,
    Tensor::Norm,
];

/// Which parts of a model have biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Biases {
    /// Queries, keys and values.
    pub attention: bool,
    /// What follows the heads.
    pub output: bool,
    /// The first layer of the feed-forward part.
    pub up: bool,
    /// The second.
    pub down: bool,
    /// Norms.
    pub norms: bool,
}

impl Biases {
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
    const fn parts(self) -> [(bool, &'static [Tensor]); 5] {
        let Self { attention, output, up, down, norms } = self;
        [
            (attention, &[Tensor::Query, Tensor::Key, Tensor::Value, Tensor::QueryKeyValue]),
            (output, &[Tensor::AttentionOutput]),
            (up, &[Tensor::Up, Tensor::Gate, Tensor::UpGate, Tensor::GateUp]),
            (down, &[Tensor::Down]),
            (norms, NORMS),
        ]
    }
}

impl FamilyModel {
    /// What [`Transformer::plan`](crate::model::Transformer::plan) says of the model whose tensors `weights`
    /// has under the names of its family, before there is memory for its layers.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`](crate::model::Transformer::from_family).
    pub fn plan(&self, weights: &(impl Weights + ?Sized), tokens: usize) -> Result<Plan> {
        let locate = |layer: &mut _, index| self.names.locate(layer, weights, &self.config, index);
        planning::plan(self.config.layers, locate, tokens)
    }

    /// What [`Transformer::summaries`](crate::model::Transformer::summaries) says of it.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn summaries(&self, weights: &(impl Weights + ?Sized), kernels: &Kernels) -> Result<usize> {
        let locate = |layer: &mut _, index| self.names.locate(layer, weights, &self.config, index);
        planning::summaries(self.config.layers, locate, kernels)
    }

    /// Looks whether those biases are there that the model has, and no others: models that have
    /// none would not use them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`](crate::ErrorKind::MissingTensor) and
    /// [`ErrorKind::UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting), with the bias asked
    /// for last; what [`Weights::matrix`] answers.
    pub fn check_biases(&self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        for layer in 0..self.config.layers {
            for (has_bias, tensors) in self.biases.parts() {
                for tensor in tensors {
                    let find = |kind| self.names.find(weights, (*tensor, kind), layer);
                    if find(".weight")?.is_some() {
                        as_said(find(".bias")?, has_bias)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Classes of a model whose settings do not say how many it tells apart, as transformers has it.
pub(super) const USUAL_LABELS: usize = 2;

/// A head that classifies, and what its layers are called.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClassifierModel {
    /// What of the tokens' vectors it takes.
    pub pooling: Way,
    /// The first layer: `.weight` or `.bias` follows.
    pub hidden: &'static str,
    /// Whether that has a bias; the layer that makes logits always has one.
    pub hidden_bias: bool,
    /// What that does to its output.
    pub activation: DenseActivation,
    /// The norm behind it.
    pub norm: Option<&'static str>,
    /// Whether that has a bias.
    pub norm_bias: bool,
    /// The layer that makes logits.
    pub output: &'static str,
    /// How many classes its settings say it tells apart.
    pub labels: usize,
    /// What a cross-encoder makes of a logit, if its file says so; otherwise a sigmoid where there
    /// is one class.
    pub on_logits: Option<DenseActivation>,
}

impl ClassifierModel {
    /// What becomes of the logits of a model with so many classes.
    #[must_use]
    pub const fn on_logits_of(&self, labels: usize) -> DenseActivation {
        on_logits_of(self.on_logits, labels)
    }

    /// That of BERT: the first token's vector through the pooler.
    pub(super) const BERT: Self = Self {
        pooling: Way::First,
        hidden: "pooler.dense",
        hidden_bias: true,
        activation: DenseActivation::Tanh,
        norm: None,
        norm_bias: true,
        output: "classifier",
        labels: USUAL_LABELS,
        on_logits: None,
    };
    /// That of RoBERTa under the names of GGUF files.
    #[cfg(feature = "gguf")]
    pub(crate) const GGUF: Self = Self { hidden: "cls", output: "cls.output", ..Self::BERT };
    /// That of RoBERTa.
    pub(super) const ROBERTA: Self =
        Self { hidden: "classifier.dense", output: "classifier.out_proj", ..Self::BERT };
}

/// What becomes of the logits of a model with so many classes, where `said` is what its files say.
#[must_use]
pub const fn on_logits_of(said: Option<DenseActivation>, labels: usize) -> DenseActivation {
    match (said, labels) {
        (Some(said), _) => said,
        (None, 1) => DenseActivation::Sigmoid,
        (None, _) => DenseActivation::Identity,
    }
}
