//! The `config.json` of a module with a linear layer, and of one with a layer norm.

use super::module::{INPUT, OUTPUT, TOKENS};
use crate::limit::Limit;
use crate::model::{DenseActivation, DenseSettings};
use crate::text::json::{Object, Read};

/// Rejects an input or output other than the text's vector.
fn only_embedding<'t>(config: &Object<'t>, name: &'static str) -> Read<'t, ()> {
    let only = "only \"sentence_embedding\" is done";
    config.neutral(name, only, |value| value.is_text("sentence_embedding"))
}

/// Reads the `config.json` of a layer norm; returns its number of elements.
pub(super) fn layer_norm<'t>(config: &Object<'t>) -> Read<'t, usize> {
    let elements = size(config, "dimension")?;
    config.finish(&[])?;
    Ok(elements)
}

/// A size within the limit for models.
fn size<'t>(config: &Object<'t>, name: &'static str) -> Read<'t, usize> {
    let size = config.integer(name)?;
    let size = config.needed(name, size)?;
    let within = Limit::SIZE.check(size).ok().filter(|size| *size > 0);
    within.ok_or_else(|| config.bad(name, "a size that models have is needed"))
}

impl DenseSettings {
    /// Reads the settings of a layer that is applied to each token's vector.
    pub(super) fn read_of_tokens<'t>(config: &Object<'t>) -> Read<'t, Self> {
        const ONLY: &str = "only \"token_embeddings\" is done";
        for name in [INPUT, OUTPUT] {
            config.neutral(name, ONLY, |value| value.is_text(TOKENS))?;
        }
        config.neutral("use_residual", "only false is done", |value| {
            value.as_bool() == Some(false)
        })?;
        let read = Self::read_layer(config)?;
        config.finish(&[])?;
        Ok(read)
    }

    /// Reads the layer itself.
    fn read_layer<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let (inputs, outputs) = (size(config, "in_features")?, size(config, "out_features")?);
        let name = config.text("activation_function")?.unwrap_or("Tanh");
        let activation = DenseActivation::from_torch_class(name).ok_or_else(|| {
            let only = "Identity, Tanh, ReLU, GELU, SiLU and Sigmoid are known";
            config.unsupported("activation_function", only)
        })?;
        let bias = config.truth("bias")?.unwrap_or(true);
        Ok(Self { inputs, outputs, bias, activation, gives_scores: false })
    }

    pub(in crate::describe) fn read<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let read = Self::read_layer(config)?;
        only_embedding(config, INPUT)?;
        let gives_scores = config.get(OUTPUT).is_some_and(|name| name.is_text("scores"));
        if !gives_scores {
            only_embedding(config, OUTPUT)?;
        }
        config.finish(&[])?;
        Ok(Self { gives_scores, ..read })
    }
}
