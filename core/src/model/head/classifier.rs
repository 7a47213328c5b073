//! Classification of a text or of a pair of texts, such as the relevance of a passage to a
//! question.
//!
//! All heads have the same form: one pooled vector, optionally a layer with an activation and a norm,
//! and a layer that computes logits.

use super::dense::{Dense, DensePlace, part};
use super::pooling::PoolingMode;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::kernel::finite::check_finite;

/// A classification head.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Classifier<'a> {
    /// The pooling of the tokens' vectors.
    pub pooling: PoolingMode,
    /// The first layer, as wide as the model, if there is one.
    pub hidden: Option<Dense<'a>>,
    /// The norm after it.
    pub norm: Option<HeadNorm<'a>>,
    /// The layer that computes logits.
    pub output: Dense<'a>,
}

/// A layer norm of a head.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HeadNorm<'a> {
    /// Factors of normed elements.
    pub weight: &'a [f32],
    /// Added to them.
    pub bias: &'a [f32],
    /// Added to the variance.
    pub epsilon: f32,
}

/// The place of a layer norm in a slice of floats: factors, then as many summands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormPlace {
    /// Index of the first factor.
    pub start: usize,
    /// Elements of a vector.
    pub elements: usize,
    /// Added to the variance.
    pub epsilon: f32,
}

impl NormPlace {
    /// The norm over these floats.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if they end before the norm does.
    pub fn over<'a>(&self, floats: &'a [f32]) -> Result<HeadNorm<'a>> {
        let Self { start, elements, epsilon } = *self;
        let bias = start.saturating_add(elements);
        let weight = part(floats, start..bias)?;
        let bias = part(floats, bias..bias.saturating_add(elements))?;
        Ok(HeadNorm { weight, bias, epsilon })
    }
}

/// The places of a classifier's layers in a slice of floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassifierPlaces {
    /// See [`Classifier::pooling`].
    pub pooling: PoolingMode,
    /// See [`Classifier::hidden`].
    pub hidden: Option<DensePlace>,
    /// See [`Classifier::norm`].
    pub norm: Option<NormPlace>,
    /// See [`Classifier::output`].
    pub output: DensePlace,
}

impl ClassifierPlaces {
    /// The classifier over these floats.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if they end before it does.
    pub fn over<'a>(&self, floats: &'a [f32]) -> Result<Classifier<'a>> {
        let Self { pooling, hidden, norm, output } = self;
        Ok(Classifier {
            pooling: *pooling,
            hidden: hidden.map(|hidden| hidden.over(floats)).transpose()?,
            norm: norm.map(|norm| norm.over(floats)).transpose()?,
            output: output.over(floats)?,
        })
    }
}

impl Classifier<'_> {
    /// Writes the logits of a text, given the states of its tokens (`[tokens, width]`), to `out`,
    /// one per class; `scratch` has room for twice the width.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`], [`ErrorKind::InvalidArgument`] if sizes do not fit;
    /// [`ErrorKind::NotFinite`].
    pub fn logits(
        &self,
        kernels: &Kernels,
        states: &[f32],
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let width = self.output.inputs();
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let (pooled, rest) = scratch.split_at_mut_checked(width).ok_or(too_small)?;
        let rest = rest.get_mut(..width).ok_or(too_small)?;
        self.pooling.pool(states, 0, pooled);
        let hidden = match &self.hidden {
            Some(layer) => {
                layer.apply(kernels, pooled, rest)?;
                rest
            }
            None => pooled,
        };
        if let Some(HeadNorm { weight, bias, epsilon }) = self.norm {
            (kernels.add_layer_norm)(hidden, &[], weight, bias, epsilon);
        }
        self.output.apply(kernels, hidden, out)?;
        check_finite(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::DenseActivation;
    use super::*;

    #[test]
    fn logits_are_pooled_changed_normed_and_weighed() {
        let hidden = Dense {
            weight: &[1.0, 0.0, 0.0, 2.0],
            bias: &[0.0, 1.0],
            activation: DenseActivation::Relu,
        };
        let output =
            Dense { weight: &[1.0, -1.0], bias: &[0.5], activation: DenseActivation::Identity };
        let norm = HeadNorm { weight: &[1.0; 2], bias: &[0.0, 3.0], epsilon: 0.0 };
        let hidden = Some(hidden);
        let plain = Classifier { pooling: PoolingMode::First, hidden, norm: None, output };
        let normed = Classifier { pooling: PoolingMode::Mean, norm: Some(norm), ..plain };
        let states = [2.0, 1.0, 4.0, 3.0];
        let logit = |head: &Classifier<'_>| {
            let mut out = [f32::NAN];
            head.logits(&Kernels::portable(), &states, &mut [0.0; 4], &mut out).unwrap();
            out[0]
        };
        let alone = Classifier { pooling: PoolingMode::Last, hidden: None, ..plain };
        assert!((logit(&alone) - 1.5).abs() < 1e-6);
        // For the first token (2, 3): 2 − 3 + ½. For the mean (3, 5), normed (−1, 1 + 3).
        assert!((logit(&plain) - -0.5).abs() < 1e-6);
        assert!((logit(&normed) - -4.5).abs() < 1e-5);
        let result = plain.logits(&Kernels::portable(), &states, &mut [0.0; 3], &mut [0.0]);
        assert_eq!(result.map_err(|it| it.kind()), Err(ErrorKind::BufferTooSmall));
    }
}
