//! Row summaries of a model's 8-bit weights: their number, and their computation.

use super::Transformer;
use crate::error::Result;
use crate::kernel::{Kernels, RowSummary};
use crate::model::block::layer::Layer;
use crate::model::linear::summaries;
use crate::model::weights::Weights;

impl<L: AsRef<[Layer]>> Transformer<L> {
    /// The layers with weights of their own.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        let layers = self.layers.as_ref();
        let layers = layers.get(..self.config.layers).unwrap_or(layers);
        Layer::with_own_weights(layers).iter()
    }

    /// The number of summaries for a table of kernels; 0 if it needs none, or the weights do not
    /// have 8 bits.
    #[must_use]
    pub fn summaries(&self, kernels: &Kernels) -> usize {
        let layers = self.layers().filter(|_| summaries::are_wanted(kernels));
        layers.fold(0, |sum, layer| sum.saturating_add(summaries::count_of(layer.linear_layers())))
    }

    /// Writes the [`summaries`](Self::summaries) for
    /// [`Run::summaries`](crate::model::Run::summaries), reading the weights of all linear layers
    /// once, through `tile`, which holds a row, if `weights` cannot be borrowed.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is not enough room; any error
    /// of reading the weights.
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
