//! Plans and summary counts of a model before there is memory for its layers.

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::linear::summaries;
use crate::model::plan::Plan;

/// [`Transformer::plan`](crate::model::Transformer::plan) for `layers` layers, which `locate` finds
/// by number.
pub(super) fn plan(
    layers: usize,
    locate: impl Fn(&mut Layer, usize) -> Result<()>,
    tokens: usize,
) -> Result<Plan> {
    let (mut calibrated, mut grouped) = (false, false);
    let mut layer = Layer::EMPTY;
    for index in 0..layers {
        locate(&mut layer, index)?;
        calibrated |= layer.is_calibrated();
        grouped |= layer.has_blocks();
    }
    Ok(Plan { quantized: grouped || calibrated, grouped, ..Plan::new(tokens) })
}

/// [`Transformer::summaries`](crate::model::Transformer::summaries) for these layers.
pub(super) fn summaries(
    layers: usize,
    locate: impl Fn(&mut Layer, usize) -> Result<()>,
    kernels: &Kernels,
) -> Result<usize> {
    let mut sum = 0_usize;
    if summaries::are_wanted(kernels) {
        let mut layer = Layer::EMPTY;
        for index in 0..layers {
            locate(&mut layer, index)?;
            sum = sum.saturating_add(summaries::count_of(layer.linear_layers()));
        }
    }
    Ok(sum)
}
