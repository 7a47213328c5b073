//! The state of a pass, and what both halves of a layer need of it.

use super::Transformer;
use super::layout::Layout;
use super::pack::Shared;
use super::positions::{Angles, Biases};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel;
use crate::model::block::attention::TextRows;
use crate::model::block::disentangled::Positions;
use crate::model::block::layer::Layer;
use crate::model::block::norm::{Norm, NormMemory};
use crate::model::block::observation::Observer;
use crate::model::config::FAMILIES;
use crate::model::linear::Staging;
use crate::model::parallel::Parallel;
use crate::model::run::Run;
use crate::model::weights::Weights;

/// The state of a pass over a pack of texts.
pub(super) struct Pass<'a, L, W: ?Sized, P: ?Sized> {
    pub(super) model: &'a Transformer<L>,
    pub(super) run: &'a Run<'a, W, P>,
    pub(super) observe: &'a Observer<'a>,
    pub(super) layout: &'a Layout,
    pub(super) shared: Shared,
    pub(super) lengths: &'a [usize],
    /// See [`Batch::attended`].
    pub(super) attended: &'a [usize],
    pub(super) tokens: usize,
    pub(super) angles: Angles<'a>,
    pub(super) relative: Biases<'a>,
    pub(super) positions: Positions<'a>,
}

pub(super) const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

impl<L, W, P> Pass<'_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Tokens of one job.
    pub(super) fn share(&self) -> usize {
        self.tokens.div_ceil(self.layout.jobs.max(1))
    }

    /// The rows of the shared tokens, if there are any, and of each text.
    pub(super) fn texts(&self) -> impl Iterator<Item = TextRows> {
        self.shared.own_rows().into_iter().chain(self.shared.rows(self.lengths))
    }

    /// Rows of the attention's input: tokens, and vectors of positions.
    pub(super) const fn inputs(&self) -> usize {
        if FAMILIES { self.tokens + self.positions.count } else { self.tokens }
    }

    /// The norm of every row of `hidden + other`, in place; an empty `other` adds nothing. A norm
    /// without a weight only adds.
    pub(super) fn norm(
        &self,
        norm: &Norm,
        hidden: &mut [f32],
        other: &[f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        if FAMILIES && norm.weight.cols == 0 {
            kernel::add(hidden, other);
            return Ok(());
        }
        let memory = NormMemory { vector: &mut *staging.vector, tile: &mut *staging.tile };
        self.run.norm(norm, &self.model.config, hidden, other, memory)
    }
}
