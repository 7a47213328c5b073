//! What kernels want to know of rows of 8-bit weights before they multiply them, found out once for
//! a model.
//!
//! Without summaries kernels find it out for every product anew, with 8 tokens in a quarter of its
//! time.

use super::bert::{Bert, Layer, Run};
use super::config::BertConfig;
use super::linear::Linear;
use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernels, RowSummary};

/// Which summary of a model is the first of a linear layer. It takes no room where no table wants
/// any: [`Layer`]s are copied, and the code for that is flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstSummary([usize; RowSummary::WANTED as usize]);

impl FirstSummary {
    pub(super) const NONE: Self = Self([usize::MAX; RowSummary::WANTED as usize]);

    fn get(self) -> Option<usize> {
        self.0.first().copied().filter(|&first| first != usize::MAX)
    }
}

const fn are_wanted(kernels: &Kernels) -> bool {
    RowSummary::WANTED && kernels.summarize_row.is_some()
}

/// One summary for each group of columns of each row, all rows of a group one after the other.
fn count(matrix: &Matrix) -> usize {
    matrix.rows.saturating_mul(matrix.groups)
}

/// Summaries of a transformer layer.
fn of_layer(layer: &Layer) -> usize {
    let linear = layer.linear_layers().into_iter().filter(|linear| linear.takes_codes());
    linear.fold(0, |sum, linear| sum.saturating_add(count(&linear.weight)))
}

/// Numbers the summaries of layers, those of each linear layer after those of the one before.
pub(super) fn number(layers: &mut [Layer]) {
    if !RowSummary::WANTED {
        return;
    }
    let mut next = 0_usize;
    for linear in layers.iter_mut().flat_map(Layer::linear_layers_mut) {
        if linear.takes_codes() {
            linear.summaries.0.fill(next);
            next = next.saturating_add(count(&linear.weight));
        }
    }
}

/// What [`Bert::summaries`] says of a model of these sizes, before there is memory for its layers.
///
/// # Errors
///
/// As [`Bert::open`].
pub fn summaries(
    weights: &(impl Weights + ?Sized),
    config: &BertConfig,
    kernels: &Kernels,
) -> Result<usize> {
    let mut sum = 0_usize;
    if are_wanted(kernels) {
        for index in 0..config.layers {
            sum = sum.saturating_add(of_layer(&Layer::locate(weights, config, index)?));
        }
    }
    Ok(sum)
}

impl<L: AsRef<[Layer]>> Bert<L> {
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.as_ref().iter().take(self.config.layers)
    }

    /// How many summaries there are for a table of kernels; 0 if it wants none, or the weights are
    /// not of 8 bits.
    #[must_use]
    pub fn summaries(&self, kernels: &Kernels) -> usize {
        let layers = self.layers().filter(|_| are_wanted(kernels));
        layers.fold(0, |sum, layer| sum.saturating_add(of_layer(layer)))
    }

    /// Writes [as many](Self::summaries) summaries, for [`Run::summaries`], reading the weights of
    /// all linear layers once: by way of `tile`, of a row, if `weights` do not lie in memory.
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
        let Some(summarize_row) = kernels.summarize_row.filter(|_| RowSummary::WANTED) else {
            return Ok(());
        };
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        for linear in self.layers().flat_map(Layer::linear_layers) {
            let (Some(start), matrix) = (linear.summaries.get(), &linear.weight) else { continue };
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
    /// The summaries of `rows` rows from `first` on, of one group of columns; none if the run has
    /// none.
    pub(super) fn summaries_of(
        &self,
        linear: &Linear,
        group: usize,
        first: usize,
        rows: usize,
    ) -> &[RowSummary] {
        let Some(start) = linear.summaries.get() else { return &[] };
        let start = start.saturating_add(group * linear.weight.rows).saturating_add(first);
        self.summaries.get(start..start.saturating_add(rows)).unwrap_or_default()
    }
}
