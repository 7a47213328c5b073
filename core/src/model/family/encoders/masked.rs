//! The heads of masked language models, whose scores of all tokens SPLADE makes sparse vectors of.

use super::model::FamilyModel;
use crate::model::config::{Activation, FeedForward};
use crate::model::head::dense::DenseActivation;
use crate::text::json::{Object, Read, Value};

/// The head of a masked language model, and the names of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaskedModel {
    /// The first layer, without `.weight` or `.bias`.
    pub transform: &'static str,
    /// The norm after it.
    pub norm: &'static str,
    /// The layer that computes scores, if it is not the table of embeddings; its bias is
    /// [`bias`](Self::bias).
    pub decoder: &'static str,
    /// The biases of scores, without `.bias`.
    pub bias: &'static str,
    /// The activation of the first layer.
    pub activation: DenseActivation,
    /// True if the layer that computes scores is the table of embeddings.
    pub is_tied: bool,
}

const BERT: MaskedModel = MaskedModel {
    transform: "cls.predictions.transform.dense",
    norm: "cls.predictions.transform.LayerNorm",
    decoder: "cls.predictions.decoder",
    bias: "cls.predictions",
    activation: DenseActivation::Gelu,
    is_tied: true,
};

const DISTILBERT: MaskedModel = MaskedModel {
    transform: "vocab_transform",
    norm: "vocab_layer_norm",
    decoder: "vocab_projector",
    bias: "vocab_projector",
    ..BERT
};

/// RoBERTa's activation here is GELU whatever the settings say.
const ROBERTA: MaskedModel = MaskedModel {
    transform: "lm_head.dense",
    norm: "lm_head.layer_norm",
    decoder: "lm_head.decoder",
    bias: "lm_head",
    ..BERT
};

impl MaskedModel {
    /// Reads the head of the masked language model of a `config.json`, which describes `family`.
    ///
    /// # Errors
    ///
    /// [`UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting) at `model_type` for families
    /// whose head is not known, and at `hidden_act` for an activation that is not done in heads.
    pub fn read<'t>(config: Value<'t>, family: &FamilyModel) -> Read<'t, Self> {
        let object = Object::new(config)?;
        let is_tied = object.truth("tie_word_embeddings")?.unwrap_or(true);
        let known = match family.family {
            "bert" => BERT,
            "distilbert" => DISTILBERT,
            "roberta" | "xlm-roberta" | "camembert" => return Ok(Self { is_tied, ..ROBERTA }),
            _ => {
                let only = "sparse vectors are made with the heads of BERT, DistilBERT and RoBERTa";
                return Err(object.unsupported("model_type", only));
            }
        };
        let activation = match family.config.feed_forward {
            FeedForward::Plain(Activation::Gelu) => DenseActivation::Gelu,
            FeedForward::Plain(Activation::Relu) => DenseActivation::Relu,
            _ => {
                let only = "before scores of the vocabulary only gelu and relu are done";
                return Err(object.unsupported("hidden_act", only));
            }
        };
        Ok(Self { activation, is_tied, ..known })
    }
}
