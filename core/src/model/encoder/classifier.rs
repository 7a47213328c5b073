//! The tensors of a head that classifies.

use super::head_tensors::{Filling, HeadTensor, LayerTensors, Room};
use crate::error::Result;
use crate::model::family::encoders::ClassifierModel;
use crate::model::head::classifier::ClassifierPlaces;
use crate::model::head::dense::DenseActivation;
use crate::model::run::Run;
use crate::model::weights::{Name, Weights};

/// The layers of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassifierTensors {
    model: ClassifierModel,
    hidden: LayerTensors,
    norm: Option<LayerTensors>,
    output: LayerTensors,
}

impl ClassifierTensors {
    /// The head of a model as wide as `width`, whose tensors are `among` the model's or `beside`
    /// them.
    pub(super) fn find(
        model: &ClassifierModel,
        width: usize,
        among: &dyn Weights,
        beside: &dyn Weights,
    ) -> Result<Self> {
        let layer = |name: &str, has_bias, outputs| {
            let name = Name::new(name);
            let is_among = HeadTensor::find(among, &name, ".weight")?.is_some();
            let weights = if is_among { among } else { beside };
            LayerTensors::linear(weights, &name, has_bias, [width, outputs])
        };
        let hidden = layer(model.hidden, model.hidden_bias, width)?;
        let output = layer(model.output, true, model.labels)?;
        let norm = |name| LayerTensors::norm(beside, &Name::new(name), model.norm_bias, width);
        let norm = model.norm.map(norm).transpose()?;
        Ok(Self { model: *model, hidden, norm, output })
    }

    /// The memory that the weights take in a model as wide as `width`.
    pub(super) fn room(&self, width: usize) -> Result<Room> {
        let mut room = Room::default();
        self.hidden.add(width, &mut room)?;
        self.norm.map_or(Ok(()), |norm| norm.add(width, &mut room))?;
        self.output.add(self.model.labels, &mut room)?;
        Ok(room)
    }

    /// Reads the head into floats.
    pub(super) fn read<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        epsilon: f32,
        memory: &mut Filling<'_>,
    ) -> Result<ClassifierPlaces> {
        let Self { model, hidden, norm, output } = self;
        Ok(ClassifierPlaces {
            pooling: model.pooling,
            hidden: memory.linear(run, hidden, model.activation)?,
            norm: norm.map(|norm| memory.norm(run, &norm, epsilon)).transpose()?,
            output: memory.linear(run, output, DenseActivation::Identity)?,
        })
    }
}
