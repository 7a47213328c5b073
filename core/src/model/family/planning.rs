//! What is known of a model's layers before there is memory for them.

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::linear::summaries;
use crate::model::plan::Plan;

/// What [`Transformer::plan`](crate::model::Transformer::plan) says of `layers` layers, which `locate` finds
/// by their numbers.
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

/// What [`Transformer::summaries`](crate::model::Transformer::summaries) says of them.
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
