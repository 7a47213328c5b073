//! The modules after the transformer, found and read.

use super::head_tensors::{Filling, LayerTensors, Room};
use crate::error::{Error, ErrorKind, Result};
use crate::model::head::embedding::HeadLayer;
use crate::model::head::module::{DenseModule, HeadModule, LayerNormModule};
use crate::model::run::Run;
use crate::model::weights::{Name, Weights};

/// The epsilon of PyTorch's layer norms, which LayerNorm modules do not change.
pub(crate) const LAYER_NORM_EPSILON: f32 = 1e-5;

const WRONG_SHAPE: Error = Error::without_offset(ErrorKind::WrongShape);

/// Adds the memory that modules take which are applied to vectors of `width` elements.
pub(super) fn add_modules<S: AsRef<str>>(
    weights: &dyn Weights,
    modules: &[HeadModule<S>],
    mut width: usize,
    room: &mut Room,
) -> Result<()> {
    for module in modules {
        width = module.outputs(width).ok_or(WRONG_SHAPE)?;
        if let Some(tensors) = find_module(weights, module)? {
            tensors.add(width, room)?;
        }
    }
    Ok(())
}

/// Reads the weights of modules, and puts their layers into `slots`.
pub(super) fn fill_modules<S: AsRef<str>, W: Weights + ?Sized>(
    run: &Run<'_, W>,
    named: &dyn Weights,
    modules: &[HeadModule<S>],
    slots: &mut [HeadLayer],
    filling: &mut Filling<'_>,
) -> Result<()> {
    for (slot, module) in slots.iter_mut().zip(modules) {
        *slot = match (module, find_module(named, module)?) {
            (HeadModule::Dense(DenseModule { settings, .. }), Some(tensors)) => {
                HeadLayer::Dense(filling.linear(run, &tensors, settings.activation)?)
            }
            (HeadModule::LayerNorm(_), Some(tensors)) => {
                HeadLayer::Norm(filling.norm(run, &tensors, LAYER_NORM_EPSILON)?)
            }
            (HeadModule::First(kept), _) => HeadLayer::First(*kept),
            _ => HeadLayer::Normalize,
        };
    }
    Ok(())
}

/// The weights of a module, if it has any.
fn find_module<S: AsRef<str>>(
    weights: &dyn Weights,
    module: &HeadModule<S>,
) -> Result<Option<LayerTensors>> {
    let tensors = match module {
        HeadModule::Dense(DenseModule { folder, settings }) => {
            let name = in_folder(folder.as_ref(), "linear");
            let sizes = [settings.inputs, settings.outputs];
            LayerTensors::linear(weights, &name, settings.bias, sizes)?
        }
        HeadModule::LayerNorm(LayerNormModule { folder, elements }) => {
            let name = in_folder(folder.as_ref(), "norm");
            LayerTensors::norm(weights, &name, true, *elements)?
        }
        HeadModule::Normalize | HeadModule::First(_) => return Ok(None),
    };
    Ok(Some(tensors))
}

/// The name of a layer of the module in `folder`.
fn in_folder(folder: &str, layer: &str) -> Name {
    let mut name = Name::new(folder);
    name.push(if folder.is_empty() { "" } else { "/" });
    name.push(layer);
    name
}
