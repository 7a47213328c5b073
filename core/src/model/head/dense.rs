//! Linear layers after a model, with f32 weights in memory.

use core::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::{FloatOperand, Kernels, Product, Strides};

/// The activation of a head's layer, named as in torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DenseActivation {
    /// The identity.
    Identity,
    /// tanh(x).
    Tanh,
    /// max(x, 0).
    Relu,
    /// x · Φ(x).
    Gelu,
    /// 1 / (1 + exp(−x)).
    Sigmoid,
    /// x · sigmoid(x).
    Silu,
}

/// The torch class names of activations.
const TORCH_CLASSES: [(&str, DenseActivation); 6] = [
    ("Identity", DenseActivation::Identity),
    ("Tanh", DenseActivation::Tanh),
    ("ReLU", DenseActivation::Relu),
    ("GELU", DenseActivation::Gelu),
    ("Sigmoid", DenseActivation::Sigmoid),
    ("SiLU", DenseActivation::Silu),
];

impl DenseActivation {
    /// The activation with this torch class name, of which only the last component matters.
    #[must_use]
    pub fn from_torch_class(class: &str) -> Option<Self> {
        // Searches bytes: the compiler cannot rule out that `rsplit` panics.
        let dot = class.bytes().rposition(|byte| byte == b'.');
        let name = class.get(dot.map_or(0, |dot| dot.saturating_add(1))..)?;
        TORCH_CLASSES.iter().find(|(known, _)| *known == name).map(|(_, activation)| *activation)
    }

    /// The last component of its torch class name.
    #[must_use]
    pub fn torch_class(self) -> &'static str {
        TORCH_CLASSES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Applies it in place.
    pub fn apply(self, kernels: &Kernels, x: &mut [f32]) {
        match self {
            Self::Identity => {}
            Self::Tanh => x.iter_mut().for_each(|x| *x = libm::tanhf(*x)),
            Self::Relu => x.iter_mut().for_each(|x| *x = x.max(0.0)),
            Self::Gelu => (kernels.gelu)(x),
            Self::Sigmoid => x.iter_mut().for_each(|x| *x = sigmoid(*x)),
            Self::Silu => x.iter_mut().for_each(|x| *x *= sigmoid(*x)),
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

/// A linear layer with an activation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Dense<'a> {
    /// `[out, in]`, row-major.
    pub weight: &'a [f32],
    /// `[out]`, zeros if the layer has none.
    pub bias: &'a [f32],
    /// The activation of the output.
    pub activation: DenseActivation,
}

/// The place of a linear layer in a slice of floats: `[out, in]` weights, then `[out]` biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DensePlace {
    /// Index of the first weight.
    pub start: usize,
    /// Elements of its input.
    pub inputs: usize,
    /// Elements of its output.
    pub outputs: usize,
    /// The function applied to the output.
    pub activation: DenseActivation,
}

impl DensePlace {
    /// The layer over these floats.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](ErrorKind::BufferTooSmall) if they end before the layer does.
    pub fn over<'a>(&self, floats: &'a [f32]) -> Result<Dense<'a>> {
        let Self { start, inputs, outputs, activation } = *self;
        let bias = start.saturating_add(inputs.saturating_mul(outputs));
        let weight = part(floats, start..bias)?;
        let bias = part(floats, bias..bias.saturating_add(outputs))?;
        Ok(Dense { weight, bias, activation })
    }
}

/// A part of a slice of floats.
pub(super) fn part(floats: &[f32], range: Range<usize>) -> Result<&[f32]> {
    floats.get(range).ok_or(Error::without_offset(ErrorKind::BufferTooSmall))
}

impl Dense<'_> {
    /// Elements of the input.
    pub(super) fn inputs(&self) -> usize {
        self.weight.len().checked_div(self.bias.len()).unwrap_or(0)
    }

    /// `activation(weight · x + bias)` for each vector of `x` (`[vectors, in]`), into the first
    /// elements of `out` (`[vectors, out]`).
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the sizes do not fit;
    /// [`NotFinite`](crate::ErrorKind::NotFinite).
    pub fn apply(&self, kernels: &Kernels, x: &[f32], out: &mut [f32]) -> Result<()> {
        let Self { weight, bias, activation } = *self;
        let inputs = self.inputs();
        let strides = Strides { token: bias.len(), row: 1 };
        let weight = FloatOperand::Values(weight);
        (kernels.product_f32)(Product::new(x, weight, bias, inputs, out, strides)?);
        let elements = x.len().checked_div(inputs).unwrap_or(0) * bias.len();
        let out = out.get_mut(..elements).unwrap_or_default();
        check_finite(out)?;
        activation.apply(kernels, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_products_and_activations() {
        let kernels = Kernels::portable();
        let layer =
            |activation| Dense { weight: &[1.0, 2.0, 0.5, -1.0], bias: &[0.25, -1.0], activation };
        let apply = |activation| {
            let mut out = [f32::NAN; 2];
            layer(activation).apply(&kernels, &[1.0, 0.5], &mut out).unwrap();
            out.map(f64::from)
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let gelu = |x: f64| x * 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2);
        let near = |class: &str, function: &dyn Fn(f64) -> f64| {
            let found = apply(DenseActivation::from_torch_class(class).unwrap());
            for (found, x) in found.iter().zip([2.25, -1.0]) {
                assert!((found - function(x)).abs() < 1e-6, "{class} {x}");
            }
        };
        near("torch.nn.modules.linear.Identity", &|x| x);
        near("torch.nn.modules.activation.Tanh", &libm::tanh);
        near("Tanh", &libm::tanh);
        near("torch.nn.modules.activation.ReLU", &|x| x.max(0.0));
        near("torch.nn.modules.activation.GELU", &gelu);
        near("torch.nn.modules.activation.Sigmoid", &sigmoid);
        near("torch.nn.modules.activation.SiLU", &|x| x * sigmoid(x));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for class in ["torch.nn.modules.activation.Softmax", "builtins.eval", "torch.nn.", ""] {
            assert_eq!(DenseActivation::from_torch_class(class), None, "{class}");
        }
        let layer = Dense { weight: &[1.0; 4], bias: &[0.0; 2], activation: DenseActivation::Tanh };
        let kernels = Kernels::portable();
        assert!(layer.apply(&kernels, &[1.0; 3], &mut [0.0; 2]).is_err());
        assert!(layer.apply(&kernels, &[1.0; 2], &mut [0.0; 1]).is_err());
    }

    #[test]
    fn vectors_are_computed_one_like_the_other() {
        let weight = [1.0, 2.0, 0.5, -1.0, 0.25, 0.0];
        let layer =
            Dense { weight: &weight, bias: &[0.5, 0.0, -1.0], activation: DenseActivation::Tanh };
        let x = [1.0, 0.5, -2.0, 0.25];
        let (mut all, mut each) = ([0.0; 6], [0.0; 6]);
        let kernels = Kernels::portable();
        layer.apply(&kernels, &x, &mut all).unwrap();
        for (x, out) in x.chunks(2).zip(each.chunks_mut(3)) {
            layer.apply(&kernels, x, out).unwrap();
        }
        assert_eq!(all, each);
    }
}
