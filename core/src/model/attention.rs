//! Self-attention of one head over the texts of a pack.

use super::workspace::QUERY_BLOCK;
use crate::error::Result;
use crate::kernel::{Kernels, Multiply, Table};

/// One head's queries, keys and values for all tokens of a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    /// `[tokens, head]`.
    pub(super) queries: &'a [f32],
    /// `[head, tokens]`, rows `key_stride` apart: keys are stored transposed.
    pub(super) keys: &'a [f32],
    /// `[tokens, head]`.
    pub(super) values: &'a [f32],
    pub(super) key_stride: usize,
    /// Elements of a query, key or value.
    pub(super) size: usize,
}

/// softmax(Q · Kᵀ / √size) · V for the text of tokens `start..start + tokens`, into the same tokens of `out`.
///
/// Scores exist for a block of queries at a time: memory grows with the length of the text, not with its square.
pub(super) fn attend(
    kernels: &Kernels,
    head: &Head<'_>,
    (start, tokens): (usize, usize),
    scores: &mut [f32],
    out: &mut [f32],
) -> Result<()> {
    let Head { queries, keys, values, key_stride, size } = *head;
    #[allow(clippy::cast_precision_loss)] // heads are small
    let scale = 1.0 / libm::sqrtf(size as f32);
    let mut first = 0;
    while first < tokens {
        let block = QUERY_BLOCK.min(tokens - first);
        let rows = (start + first) * size;
        (kernels.multiply_f32)(Multiply::new(
            from(queries, rows, size),
            from(keys, start, key_stride),
            scores,
            key_stride,
            (block, tokens, size),
        )?);
        for row in scores.chunks_mut(key_stride).take(block) {
            if let Some(row) = row.get_mut(..tokens) {
                (kernels.softmax)(row, scale);
            }
        }
        (kernels.multiply_f32)(Multiply::new(
            from(scores, 0, key_stride),
            from(values, start * size, size),
            out.get_mut(rows..).unwrap_or_default(),
            size,
            (block, size, tokens),
        )?);
        first += block;
    }
    Ok(())
}

fn from(slice: &[f32], first: usize, stride: usize) -> Table<'_> {
    Table { data: slice.get(first..).unwrap_or_default(), stride }
}
