//! The first hidden states: rows of the tables of words, positions and token types.

use super::state::{Pass, TOO_SMALL};
use crate::error::Result;
use crate::kernel::{self, Strides};
use crate::model::block::layer::Layer;
use crate::model::config::FAMILIES;
use crate::model::linear::{Input, Linear, Output, Staging};
use crate::model::parallel::Parallel;
use crate::model::run::Run;
use crate::model::weights::Weights;

/// Returns true if a token is padding, in models whose positions start after that of padding:
/// padding tokens all have that position, and later tokens are counted without them.
const fn is_padding(first: usize, id: u32) -> bool {
    first > 0 && id as usize == first - 1
}

impl<L, W, P> Pass<'_, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Writes the first hidden states of the tokens of all texts.
    pub(super) fn first_states(
        &self,
        (ids, types): (&[u32], &[u8]),
        hidden: &mut [f32],
        context: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let model = self.model;
        let projection = model.config.projected().zip(model.projection.first());
        let Some((width, projection)) = projection else {
            return self.embeddings(ids, types, hidden, staging);
        };
        let rows = context.get_mut(..self.tokens * width).ok_or(TOO_SMALL)?;
        self.embeddings(ids, types, rows, staging)?;
        self.project(projection, rows, hidden, staging)
    }

    /// Word + position + token type, then a norm, as far as the model has them.
    fn embeddings(
        &self,
        ids: &[u32],
        types: &[u8],
        sums: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Self { model, run, .. } = self;
        let (width, embedding) = (model.config.table_width(), &model.config.embedding);
        let positions = if FAMILIES { embedding.positions } else { Some(0) };
        let token_types = !FAMILIES || embedding.token_types;
        let mut rows = sums.chunks_exact_mut(width.max(1));
        let (mut ids, mut types) = (ids.iter(), types.iter());
        for text in self.texts() {
            let mut padded = 0;
            let is_shared = FAMILIES && self.shared.own_rows() == Some(text);
            let before = ids.clone();
            ids.by_ref().take(text.elsewhere()).for_each(drop);
            let own = ids.by_ref().zip(rows.by_ref()).take(text.own());
            for (position, (&id, row)) in (text.elsewhere()..).zip(own) {
                let other = staging.converted.get_mut(..width).ok_or(TOO_SMALL)?;
                let word = embedding.placeholders.row(id);
                run.read_row(&model.word, word as usize, row, staging.tile)?;
                if FAMILIES && embedding.scale != 1.0 {
                    kernel::scale(row, embedding.scale);
                }
                if let Some(first) = positions {
                    let place = if FAMILIES && is_padding(first, id) {
                        padded += 1;
                        first - 1
                    } else {
                        first + position - padded
                    };
                    run.read_row(&model.position, place, other, staging.tile)?;
                    kernel::add(row, other);
                }
                if token_types {
                    let kind = if FAMILIES { types.next().copied().unwrap_or(0) } else { 0 };
                    run.read_row(&model.token_type, kind.into(), other, staging.tile)?;
                    kernel::add(row, other);
                }
            }
            if is_shared {
                // They are the first ids of the first text, too.
                ids = before;
            }
        }
        if FAMILIES && !embedding.norm {
            return Ok(());
        }
        self.norm(&model.norm, sums, &[], staging)
    }

    /// Maps rows of the tables to hidden states, in f32: the layer is small. With quantised
    /// activations results are the same on every machine, which only portable products are.
    fn project(
        &self,
        projection: &Linear,
        rows: &[f32],
        hidden: &mut [f32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.model.config.hidden;
        let strides = Strides { token: width, row: 1 };
        let output = Output { first: 0, rows: width, out: hidden, strides };
        let portable = self.run.kernels.with_portable_floats();
        let kernels = if self.layout.quantized { &portable } else { self.run.kernels };
        let run = Run { kernels, ..*self.run };
        run.linear(projection, Input::Floats(rows), output, staging)
    }
}
