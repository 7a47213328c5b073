//! The tensors of a head that classifies.

use super::head_tensors::{Filling, HeadTensor, LayerTensors, MISSING, Room};
use crate::error::Result;
use crate::model::config::Config;
use crate::model::family::encoders::{ClassifierModel, TokenScore};
use crate::model::head::classifier::ClassifierPlaces;
use crate::model::head::dense::DenseActivation;
use crate::model::run::Run;
use crate::model::weights::{Name, Weights};

/// The layers of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassifierTensors {
    model: ClassifierModel,
    hidden: Option<LayerTensors>,
    norm: Option<LayerTensors>,
    output: Output,
}

/// The layer that computes logits.
#[derive(Clone, Copy, Debug)]
enum Output {
    /// A row for each class.
    Classes(LayerTensors),
    /// A row for each token, of which one or two make the only logit.
    Tokens(HeadTensor, TokenScore),
}

impl ClassifierTensors {
    /// The head of a model with this configuration, whose tensors are `among` the model's or
    /// `beside` them; `embeddings` is the name of its table.
    pub(super) fn find(
        model: &ClassifierModel,
        config: &Config,
        embeddings: Option<&str>,
        among: &dyn Weights,
        beside: &dyn Weights,
    ) -> Result<Self> {
        let width = config.hidden;
        let layer = |name: &str, has_bias, outputs| {
            let name = Name::new(name);
            let is_among = HeadTensor::find(among, &name, ".weight")?.is_some();
            let weights = if is_among { among } else { beside };
            LayerTensors::linear(weights, &name, has_bias, [width, outputs])
        };
        let hidden = model.hidden.map(|name| layer(name, model.hidden_bias, width)).transpose()?;
        let output = match model.token_score {
            Some(score) => {
                let find =
                    |weights, name: &str| HeadTensor::find(weights, &Name::new(name), ".weight");
                let tied = embeddings.filter(|_| model.is_tied);
                let rows = match find(beside, model.output)? {
                    Some(rows) => rows,
                    None => tied.map_or(Ok(None), |name| find(among, name))?.ok_or(MISSING)?,
                };
                rows.check((score.rows.unwrap_or(config.vocabulary), width))?;
                rows.check_row(score.no.map_or(score.yes, |no| no.max(score.yes)))?;
                Output::Tokens(rows, score)
            }
            None => Output::Classes(layer(model.output, model.output_bias, model.labels)?),
        };
        let norm = |name| LayerTensors::norm(beside, &Name::new(name), model.norm_bias, width);
        let norm = model.norm.map(norm).transpose()?;
        Ok(Self { model: *model, hidden, norm, output })
    }

    /// The memory that the weights take in a model as wide as `width`.
    pub(super) fn room(&self, width: usize) -> Result<Room> {
        let mut room = Room::default();
        self.hidden.map_or(Ok(()), |hidden| hidden.add(width, &mut room))?;
        self.norm.map_or(Ok(()), |norm| norm.add(width, &mut room))?;
        match &self.output {
            Output::Classes(layer) => layer.add(self.model.labels, &mut room)?,
            Output::Tokens(rows, _) => rows.add_difference(&mut room)?,
        }
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
            hidden: hidden
                .map(|hidden| memory.linear(run, &hidden, model.activation))
                .transpose()?,
            norm: norm.map(|norm| memory.norm(run, &norm, epsilon)).transpose()?,
            output: match output {
                Output::Classes(layer) => memory.linear(run, layer, DenseActivation::Identity)?,
                Output::Tokens(rows, TokenScore { yes, no, .. }) => {
                    memory.difference(run, rows, *yes, *no)?
                }
            },
        })
    }
}
