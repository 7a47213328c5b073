//! The `config.json` of a module with a linear layer.

use crate::limit::Limit;
use crate::model::DenseActivation;
use crate::text::json::{Object, Read};

/// A linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenseSettings {
    /// Elements of its input.
    pub inputs: usize,
    /// Elements of its output.
    pub outputs: usize,
    /// Whether it has a bias.
    pub bias: bool,
    /// What is applied to its output.
    pub activation: DenseActivation,
}

impl DenseSettings {
    pub(super) fn read<'t>(config: &Object<'t>) -> Read<'t, Self> {
        let size = |name: &'static str| {
            let size = config.integer(name)?;
            let size = config.needed(name, size)?;
            let within = Limit::SIZE.check(size).ok().filter(|size| *size > 0);
            within.ok_or_else(|| config.bad(name, "a size that models have is needed"))
        };
        let (inputs, outputs) = (size("in_features")?, size("out_features")?);
        let name = config.text("activation_function")?.unwrap_or("Tanh");
        let activation = DenseActivation::of_torch(name).ok_or_else(|| {
            let only = "Identity, Tanh, ReLU, GELU, SiLU and Sigmoid are known";
            config.unsupported("activation_function", only)
        })?;
        let bias = config.truth("bias")?.unwrap_or(true);
        for name in ["module_input_name", "module_output_name"] {
            config.neutral(name, "only \"sentence_embedding\" is done", |value| {
                value.is_text("sentence_embedding")
            })?;
        }
        config.finish(&[])?;
        Ok(Self { inputs, outputs, bias, activation })
    }
}
