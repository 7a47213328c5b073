//! Summaries of rows of 8-bit weights for kernels, computed once per model.
//!
//! Without summaries, kernels compute them for every product, which with 8 tokens takes a quarter
//! of its time.

use super::{Linear, TOO_SMALL};
use crate::error::Result;
use crate::kernel::{Kernels, RowSummary};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// The index of a linear layer's first summary in those of the model. Zero-sized on targets whose
/// tables need none: layers are copied, and the code for that takes flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct FirstSummary([usize; RowSummary::WANTED as usize]);

impl FirstSummary {
    pub(in crate::model) const NONE: Self = Self([usize::MAX; RowSummary::WANTED as usize]);

    fn get(self) -> Option<usize> {
        self.0.first().copied().filter(|&first| first != usize::MAX)
    }
}

pub(in crate::model) const fn are_wanted(kernels: &Kernels) -> bool {
    RowSummary::WANTED && kernels.summarize_row.is_some()
}

/// One summary for each group of columns of each row, group by group.
fn count(matrix: &Matrix) -> usize {
    matrix.rows.saturating_mul(matrix.groups)
}

/// The number of summaries of some linear layers.
pub(in crate::model) fn count_of<'l>(linear: impl IntoIterator<Item = &'l Linear>) -> usize {
    let linear = linear.into_iter().filter(|linear| linear.takes_codes());
    linear.fold(0, |sum, linear| sum.saturating_add(count(&linear.weight)))
}

/// Numbers the summaries of a linear layer from `next` on; returns the number after them.
pub(in crate::model) fn number(linear: &mut Linear, next: usize) -> usize {
    if !RowSummary::WANTED || !linear.takes_codes() {
        return next;
    }
    linear.summaries.0.fill(next);
    next.saturating_add(count(&linear.weight))
}

/// Writes the summaries of linear layers to their indices, reading the weights of each once.
///
/// # Errors
///
/// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is not enough room; any error of
/// reading the weights.
pub(in crate::model) fn summarize<'l>(
    linear: impl IntoIterator<Item = &'l Linear>,
    weights: &(impl Weights + ?Sized),
    kernels: &Kernels,
    tile: &mut [u8],
    summaries: &mut [RowSummary],
) -> Result<()> {
    let Some(summarize_row) = kernels.summarize_row.filter(|_| RowSummary::WANTED) else {
        return Ok(());
    };
    for linear in linear {
        let (Some(start), matrix) = (linear.summaries.get(), &linear.weight) else { continue };
        let width = matrix.cols.checked_div(matrix.groups).unwrap_or(0).max(1);
        let summaries = summaries.get_mut(start..).ok_or(TOO_SMALL)?;
        let mut offset = matrix.offset;
        for row in 0..matrix.rows {
            let codes = weights.bytes(offset, matrix.cols, tile)?;
            for (group, codes) in codes.chunks_exact(width).enumerate() {
                let place = summaries.get_mut(group * matrix.rows + row);
                *place.ok_or(TOO_SMALL)? = summarize_row(codes);
            }
            offset = offset.saturating_add(matrix.cols as u64);
        }
    }
    Ok(())
}

impl<W: ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The summaries of `rows` rows from `first` on, in one group of columns; empty if the run has
    /// none.
    pub(in crate::model) fn summaries_of(
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
