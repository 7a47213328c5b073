//! What a model runs with: weights, kernels, and the parts of the work.

use super::parallel::InOrder;
use crate::kernel::{Kernels, RowSummary};

/// What a model runs with.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, W: ?Sized, P: ?Sized = InOrder> {
    /// Where the weights come from: the source that the model was opened with.
    pub weights: &'a W,
    /// The kernels, for example those of [`kernel::detect`](crate::kernel::detect).
    pub kernels: &'a Kernels,
    /// Row sums of the weights for these kernels, by
    /// [`Transformer::summarize`](super::Transformer::summarize) with the same
    /// kernels; or nothing, and they find it out again and again.
    pub summaries: &'a [RowSummary],
    /// How the parts of the work are run.
    pub parallel: &'a P,
}

impl<'a, W: ?Sized> Run<'a, W> {
    /// On the calling thread.
    pub const fn new(weights: &'a W, kernels: &'a Kernels) -> Self {
        Self { weights, kernels, summaries: &[], parallel: &InOrder }
    }
}
