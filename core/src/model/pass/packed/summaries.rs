//! What kernels want to know of a model's 8-bit weights: how much it is, and where it goes.

use super::Transformer;
use crate::error::Result;
use crate::kernel::{Kernels, RowSummary};
use crate::model::block::layer::Layer;
use crate::model::linear::summaries;
use crate::model::weights::Weights;

impl<L: AsRef<[Layer]>> Transformer<L> {
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.as_ref().iter().take(self.config.layers)
    }

    /// How many summaries there are for a table of kernels; 0 if it wants none, or the weights are
    /// not of 8 bits.
    #[must_use]
    pub fn summaries(&self, kernels: &Kernels) -> usize {
        let layers = self.layers().filter(|_| summaries::are_wanted(kernels));
        layers.fold(0, |sum, layer| sum.saturating_add(summaries::count_of(layer.linear_layers())))
    }

    /// Writes [as many](Self::summaries) summaries, for [`Run::summaries`](crate::model::Run::summaries), reading the weights of
    /// all linear layers once: by way of `tile`, of a row, if `weights` do not lie in memory.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is less room; what reading the weights may fail with.
    pub fn summarize(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        tile: &mut [u8],
        summaries: &mut [RowSummary],
    ) -> Result<()> {
        let linear = self.layers().flat_map(Layer::linear_layers);
        summaries::summarize(linear, weights, kernels, tile, summaries)
    }
}
