//! What kernels want to know of rows of 8-bit weights before they multiply them, found out once for a model.
//!
//! Without summaries kernels find it out for every product anew, which with few tokens takes as long as many a product.

use super::bert::{Bert, Layer, Run};
use super::linear::Linear;
use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, RowSummary};

/// Summaries of a layer: one for each group of columns of each row, all rows of a group one after the other.
fn count(matrix: &Matrix) -> usize {
    matrix.rows.saturating_mul(matrix.groups)
}

/// Numbers the summaries of layers, those of each linear layer after those of the one before.
pub(super) fn number(layers: &mut [Layer]) {
    let mut next = 0_usize;
    for linear in layers.iter_mut().flat_map(Layer::linear_layers_mut) {
        if linear.takes_codes() {
            linear.summaries = Some(next);
            next = next.saturating_add(count(&linear.weight));
        }
    }
}

impl<L: AsRef<[Layer]>> Bert<L> {
    fn summarized_layers(&self) -> impl Iterator<Item = (usize, &Matrix)> {
        let layers = self.layers.as_ref().iter().take(self.config.layers);
        let linear = layers.flat_map(Layer::linear_layers);
        linear.filter_map(|linear| Some((linear.summaries?, &linear.weight)))
    }

    /// How many summaries there are for a table of kernels; 0 if it wants none, or the weights are not of 8 bits.
    #[must_use]
    pub fn summaries(&self, kernels: &Kernels) -> usize {
        let last = self.summarized_layers().last().filter(|_| kernels.summarize_row.is_some());
        last.map_or(0, |(first, matrix)| first.saturating_add(count(matrix)))
    }

    /// Writes [as many](Self::summaries) summaries, for [`Run::summaries`], reading the weights of all linear layers once:
    /// by way of `tile`, of a row, if `weights` do not lie in memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less room; what reading the weights may fail with.
    pub fn summarize(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        tile: &mut [u8],
        summaries: &mut [RowSummary],
    ) -> Result<()> {
        let Some(summarize_row) = kernels.summarize_row else { return Ok(()) };
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        for (start, matrix) in self.summarized_layers() {
            let width = matrix.cols.checked_div(matrix.groups).unwrap_or(0).max(1);
            let summaries = summaries.get_mut(start..).ok_or(too_small)?;
            let mut offset = matrix.offset;
            for row in 0..matrix.rows {
                let codes = weights.bytes(offset, matrix.cols, tile)?;
                for (group, codes) in codes.chunks_exact(width).enumerate() {
                    let place = summaries.get_mut(group * matrix.rows + row);
                    *place.ok_or(too_small)? = summarize_row(codes);
                }
                offset = offset.saturating_add(matrix.cols as u64);
            }
        }
        Ok(())
    }
}

impl<W: ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The summaries of `rows` rows from `first` on, of one group of columns; none if the run has none.
    pub(super) fn summaries_of(
        &self,
        linear: &Linear,
        group: usize,
        first: usize,
        rows: usize,
    ) -> &[RowSummary] {
        let start = linear.summaries.unwrap_or(usize::MAX);
        let start = start.saturating_add(group * linear.weight.rows).saturating_add(first);
        self.summaries.get(start..start.saturating_add(rows)).unwrap_or_default()
    }
}
