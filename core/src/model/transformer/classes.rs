//! The head of a model that compares texts, out of its file into memory.

use super::linear::{Linear, Norm};
use super::{TOO_LARGE, WRONG_SHAPE};
use crate::error::Result;
use crate::model::family::encoders::ClassifierModel;
use crate::model::head::classifier::Classifier;
use crate::model::head::dense::DenseActivation;
use crate::model::run::Run;
use crate::model::weights::{Matrix, Name, Weights};

/// Where the parts of a head lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    model: ClassifierModel,
    hidden: Linear,
    norm: Option<Norm>,
    output: Linear,
}

/// A head, and what becomes of its logits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes<'m> {
    pub(super) classifier: Classifier<'m>,
    pub(super) on_logits: DenseActivation,
}

impl Head {
    /// The head of a model as wide as `width`, whose tensors lie among the model's or beside them.
    pub(super) fn find(
        model: &ClassifierModel,
        width: usize,
        among: &(impl Weights + ?Sized),
        beside: &(impl Weights + ?Sized),
    ) -> Result<Self> {
        let layer = |name, has_bias| match matrix(among, name, ".weight")? {
            Some(_) => Linear::find(has_bias, |kind| matrix(among, name, kind)),
            None => Linear::find(has_bias, |kind| matrix(beside, name, kind)),
        };
        let (hidden, output) =
            (layer(model.hidden, model.hidden_bias)?, layer(model.output, true)?);
        let norm = |name| Norm::find(model.norm_bias, |kind| matrix(beside, name, kind));
        let norm = model.norm.map(norm).transpose()?;
        let fits = hidden.fits(width, width)
            && output.fits(output.weight.rows, width)
            && norm.is_none_or(|norm| norm.fits(width));
        model.check_labels(output.weight.rows, output.weight.offset)?;
        if fits { Ok(Self { model: *model, hidden, norm, output }) } else { Err(WRONG_SHAPE) }
    }

    /// Classes that it tells apart.
    pub(super) const fn labels(&self) -> usize {
        self.output.weight.rows
    }

    /// Floats that it takes.
    pub(super) fn floats(&self) -> Result<usize> {
        let norm = self.norm.map_or(Some(0), |norm| norm.floats());
        let parts = [self.hidden.floats(), norm, self.output.floats()];
        let sum = parts.into_iter().try_fold(0_usize, |sum, part| sum.checked_add(part?));
        sum.ok_or(TOO_LARGE)
    }

    /// The head, whose weights become the first of `floats`.
    pub(super) fn read<'m, W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        epsilon: f32,
        floats: &mut &'m mut [f32],
    ) -> Result<Classes<'m>> {
        let Self { model, hidden, norm, output } = self;
        let hidden = hidden.read(run, model.activation, floats)?;
        let norm = norm.map(|norm| norm.read(run, epsilon, floats)).transpose()?;
        let output = output.read(run, DenseActivation::Identity, floats)?;
        let classifier = Classifier { pooling: model.pooling, hidden, norm, output };
        Ok(Classes { classifier, on_logits: model.on_logits_of(self.labels()) })
    }
}

/// A tensor by the two parts of its name.
fn matrix(weights: &(impl Weights + ?Sized), name: &str, kind: &str) -> Result<Option<Matrix>> {
    let mut whole = Name::new(name);
    whole.push(kind);
    weights.matrix(whole.as_str())
}
