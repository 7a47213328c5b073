//! Tokens to sparse vectors: by the head of a masked language model, or by a layer that gives each
//! token of a text its weight.

use alloc::vec::Vec;

use super::Encoder;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel;
use crate::limit::{collected, filled, push};
use crate::model::{Batch, Parallel, Run, SparseHead, SparseKind, SparseSpec, Weights};
use crate::owned::folder::{Described, FolderModel, SPARSE_LAYER};
use crate::owned::pipeline::Pipeline;
use crate::owned::{Session, SparseVector};

/// The tokens of BGE-M3 that have no weight.
const WITHOUT_WEIGHT: [&str; 4] = ["<s>", "<pad>", "</s>", "<unk>"];

/// A head that makes sparse vectors.
#[derive(Clone, Debug)]
pub(super) struct SparsePart {
    head: SparseHead,
    floats: Vec<f32>,
    /// Tokens that have no weight.
    without: Vec<u32>,
}

impl SparsePart {
    /// The head of the model that `described` describes; `None` if it has none.
    pub(super) fn open(
        described: &FolderModel,
        weights: &impl Weights,
        pipeline: &Pipeline,
    ) -> Result<Option<Self>> {
        let Described::Transformer(family) = &described.described else { return Ok(None) };
        let modules = described.modules.as_ref();
        let splade = modules.and_then(|modules| modules.splade);
        let mut without = Vec::new();
        let kind = match (&described.masked, splade) {
            (Some(masked), Some(splade)) => SparseKind::Vocabulary(masked, splade),
            _ if !has_layer(described, weights)? => return Ok(None),
            _ => {
                let ids = WITHOUT_WEIGHT.iter().filter_map(|token| pipeline.id(token));
                without = collected(ids)?;
                SparseKind::Tokens("sparse_linear/linear")
            }
        };
        let spec = SparseSpec { family, kind };
        let needs = spec.needs(weights)?;
        let (mut floats, mut tile) = (filled(needs.floats, 0.0)?, filled(needs.tile, 0)?);
        let head = spec.open(weights, weights, &kernel::detect(), &mut floats, &mut tile)?;
        Ok(Some(Self { head, floats, without }))
    }

    /// The vector of a text with these tokens and their hidden states.
    fn vector<W: Weights + Sync>(
        &self,
        run: &Run<'_, W>,
        (ids, states): (&[u32], &[f32]),
        (scratch, tile): (&mut [f32], &mut [u8]),
    ) -> Result<SparseVector> {
        let mut pairs = Vec::new();
        let mut put = |id, weight| match self.without.contains(&id) {
            true => Ok(()),
            false => push(&mut pairs, (id, weight)),
        };
        self.head.write(run, &self.floats, (ids, states), scratch, tile, &mut put)?;
        SparseVector::from_pairs(pairs)
    }
}

/// Returns true if the model has a layer that gives each token its weight.
fn has_layer(described: &FolderModel, weights: &impl Weights) -> Result<bool> {
    let may_have = described.layers_beside().contains(&SPARSE_LAYER);
    Ok(may_have && weights.matrix("sparse_linear/linear.weight")?.is_some())
}

impl<W: Weights + Sync> Encoder<W> {
    /// Returns true if the model makes sparse vectors.
    #[must_use]
    pub const fn makes_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// The sparse vectors of tokenised texts. The vector of a text without tokens has no weights.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model [makes none](Self::makes_sparse); as
    /// [`TokenEncoder::states`](crate::owned::TokenEncoder::states).
    pub fn embed_sparse<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
    ) -> Result<Vec<SparseVector>> {
        let other = Error::without_offset(ErrorKind::OtherModel);
        let part = self.sparse.as_ref().ok_or(other)?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut scratch = filled(part.head.scratch(longest), 0.0)?;
        let weights = self.requantizing.over(&self.weights);
        let tile = if weights.borrows() { 0 } else { part.head.tile() };
        let mut tile = filled(tile, 0)?;
        let run = Run::new(&weights, self.network.kernels());
        let mut vectors = filled(lengths.len(), SparseVector::default())?;
        let is_there = |length: &usize| *length > 0;
        let some = collected(lengths.iter().copied().filter(is_there))?;
        let mut rest = ids;
        let mut slots = vectors.iter_mut().zip(lengths).filter(|(_, length)| is_there(length));
        let mut each = |_, states: &[f32]| {
            let invalid = Error::without_offset(ErrorKind::InvalidArgument);
            let (slot, length) = slots.next().ok_or(invalid)?;
            let own = rest.split_off(..*length).ok_or(invalid)?;
            *slot = part.vector(&run, (own, states), (&mut scratch, &mut tile))?;
            Ok(())
        };
        if !some.is_empty() {
            let texts = Batch::new(ids, &some);
            self.network.states(&weights, session, parallel, &texts, &mut each, &|_| {})?;
        }
        Ok(vectors)
    }
}
