//! The resources of a model run: weights, kernels and parallelism.

use super::parallel::InOrder;
use crate::kernel::{Kernels, RowSummary};

/// The resources of a model run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, W: ?Sized, P: ?Sized = InOrder> {
    /// The source of the weights with which the model was opened.
    pub weights: &'a W,
    /// The kernels, for example those of [`kernel::detect`](crate::kernel::detect).
    pub kernels: &'a Kernels,
    /// Row sums of the weights for these kernels, computed by
    /// [`Transformer::summarize`](super::Transformer::summarize) with the same kernels; if empty,
    /// they are recomputed in every product.
    pub summaries: &'a [RowSummary],
    /// The execution of the parts of the work.
    pub parallel: &'a P,
}

impl<'a, W: ?Sized> Run<'a, W> {
    /// On the calling thread.
    pub const fn new(weights: &'a W, kernels: &'a Kernels) -> Self {
        Self { weights, kernels, summaries: &[], parallel: &InOrder }
    }
}
