//! Tables of positions for queries, keys and scores, prepared once per pass.

use super::Transformer;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::pieces::pieces_mut;
use crate::model::block::alibi;
use crate::model::block::norm::NormMemory;
use crate::model::config::{Config, FAMILIES, Relative};
use crate::model::linear::Staging;
use crate::model::run::Run;
use crate::model::weights::Weights;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// Cosines and sines for the positions of the longest text, `[positions, size]`: those of layers
/// without a window, and those of layers with one, whose heads may have another size.
pub(super) struct Angles<'a> {
    global: &'a [f32],
    local: &'a [f32],
}

impl<'a> Angles<'a> {
    pub(super) fn new(config: &Config, memory: &'a mut [f32], longest: usize) -> Result<Self> {
        let rotary = config.rotary.as_ref().filter(|_| FAMILIES);
        let Some(rotary) = rotary else { return Ok(Self { global: &[], local: &[] }) };
        let [size, local_size] = [false, true].map(|has_window| config.heads_of(has_window).size);
        let (global, rest) = memory.split_at_mut_checked(longest * size).ok_or(TOO_SMALL)?;
        rotary.global.angles(0, &[], (global, size));
        let is_same = rotary.local == rotary.global && local_size == size;
        if config.attention.window.is_none() || is_same {
            return Ok(Self { global, local: global });
        }
        let local = rest.get_mut(..longest * local_size).ok_or(TOO_SMALL)?;
        rotary.local.angles(0, &[], (local, local_size));
        Ok(Self { global, local })
    }

    pub(super) const fn for_layer(&self, has_window: bool) -> &'a [f32] {
        if has_window { self.local } else { self.global }
    }
}

/// The relative biases on the scores of each head by the offset of key and query, `[heads, size]`;
/// the middle element is for keys at the query's position.
pub(super) struct Biases<'a> {
    all: &'a [f32],
    size: usize,
}

impl<'a> Biases<'a> {
    pub(super) fn for_head(&self, head: usize) -> &'a [f32] {
        if FAMILIES {
            let start = head * self.size;
            self.all.get(start..start + self.size).unwrap_or_default()
        } else {
            &[]
        }
    }
}

/// Writes the vectors that the offsets of a text as long as `by_offset` needs have to `vectors`, and
/// the number of each offset's vector to `by_offset`, from the lowest offset on. Returns the number
/// of vectors.
pub(super) fn position_vectors<L, W: Weights + ?Sized, P: ?Sized>(
    model: &Transformer<L>,
    run: &Run<'_, W, P>,
    by_offset: &mut [f32],
    vectors: &mut [f32],
    staging: &mut Staging<'_>,
) -> Result<usize> {
    let config = &model.config;
    let Some(disentangled) = config.disentangled() else { return Ok(0) };
    let width = config.hidden;
    let farthest = (by_offset.len() / 2).cast_signed();
    let (mut count, mut last) = (0, None);
    let mut rows = pieces_mut(&mut *vectors, width);
    for (place, number) in by_offset.iter_mut().enumerate() {
        let row = disentangled.row(place.cast_signed() - farthest);
        if last != Some(row) {
            run.read_row(&model.relative, row, rows.next().ok_or(TOO_SMALL)?, staging.tile)?;
            (count, last) = (count + 1, Some(row));
        }
        #[allow(clippy::cast_precision_loss)] // tables have up to 2²⁴ rows
        let found = (count - 1) as f32;
        *number = found;
    }
    drop(rows);
    let vectors = vectors.get_mut(..count * width).ok_or(TOO_SMALL)?;
    match model.relative_norm.first() {
        Some(norm) if disentangled.norm => {
            let memory = NormMemory { vector: &mut *staging.vector, tile: &mut *staging.tile };
            run.norm(norm, config, vectors, &[], memory)?;
        }
        _ => {
            let finite = check_finite(vectors);
            finite.map_err(|error| Error::new(model.relative.offset, error.kind()))?;
        }
    }
    Ok(count)
}

/// The relative biases for offsets in texts of up to `longest` tokens.
pub(super) fn relative_biases<'a, L, W: Weights + ?Sized, P: ?Sized>(
    model: &Transformer<L>,
    run: &Run<'_, W, P>,
    longest: usize,
    memory: &'a mut [f32],
    staging: &mut Staging<'_>,
) -> Result<Biases<'a>> {
    let config = &model.config;
    let Some(relative) = config.relative() else { return Ok(Biases { all: &[], size: 0 }) };
    if let Relative::Disentangled(_) = relative {
        return Ok(Biases { all: &[], size: 0 });
    }
    let (heads, size) = (config.heads.query, 2 * longest);
    let all = memory.get_mut(..heads * size).ok_or(TOO_SMALL)?;
    for place in 0..size {
        let row = staging.converted.get_mut(..heads).ok_or(TOO_SMALL)?;
        let offset = place.cast_signed() - longest.cast_signed();
        match relative {
            Relative::Buckets(buckets) => {
                run.read_row(&model.relative, buckets.bucket(offset), row, staging.tile)?;
                check_finite(row)
                    .map_err(|error| Error::new(model.relative.offset, error.kind()))?;
            }
            Relative::Alibi => alibi::biases(offset.unsigned_abs(), row),
            // Returned above: it adds products, not biases.
            Relative::Disentangled(_) => {}
        }
        for (own, bias) in pieces_mut(all, size).zip(row) {
            if let Some(to) = own.get_mut(place) {
                *to = *bias;
            }
        }
    }
    Ok(Biases { all, size })
}
