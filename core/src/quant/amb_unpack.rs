//! Unpacks rows of AMB's scaled codes to unsigned codes, and a scale and a minimum for each group,
//! as products with quantised activations take them, see [`groups`](super::groups).
//!
//! Full-precision blocks become 7-bit codes with a scale for each group: eight times as fine as the
//! 4-bit codes next to them, and narrow enough for the fastest products.

pub use super::amb_codes::unpack;
use super::amb_codes::{lowest, nearest};
use super::amb_read::{Bytes, ScaledTensor, each_part, each_run, each_scale, read_halves};
use super::block::reciprocal;
use super::groups::Unpacked;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{CodeBits, ScaledCodes};

/// Columns of a group.
pub const GROUP_COLS: usize = 32;

/// Unpacks `out.len()` codes, stored from the lowest bit on, to unsigned codes: the magnitude of
/// the lowest code is added to each, 8 for 4 bits.
pub type UnpackCodes = fn(CodeBits, &[u8], &mut [u8]);

/// The offset added to the codes of halves.
const HALVES_OFFSET: f32 = 64.0;

/// Returns true if rows of `cols` elements can be unpacked: each block is a whole number of groups,
/// each row a whole number of blocks.
#[must_use]
pub const fn has_groups(codes: &ScaledCodes, cols: usize) -> bool {
    let block = codes.block as usize;
    block > 0 && block.is_multiple_of(GROUP_COLS) && cols.is_multiple_of(block)
}

/// Unpacks rows of `cols` elements from the element `first` on, where a row begins, as many as
/// `out` has codes for.
///
/// # Errors
///
/// As [`amb_block::dequantize`](super::amb_block::dequantize); [`ErrorKind::InvalidArgument`] if
/// the rows do not [have groups](has_groups), or `out` has room for fewer factors than codes.
pub fn unpack_rows(
    tensor: &ScaledTensor,
    (first, cols): (u64, usize),
    out: &mut Unpacked<'_>,
    data: &mut impl Bytes,
    unpack: UnpackCodes,
) -> Result<()> {
    let ScaledCodes { bits, scales: scale_type, .. } = tensor.codes;
    let Unpacked { codes, scales, minima, stride } = out;
    let end = (cols / GROUP_COLS).saturating_mul(*stride);
    let rows = codes.len().checked_div(cols).unwrap_or(0);
    let has_room = rows <= *stride && scales.len() >= end && minima.len() >= end;
    if !has_groups(&tensor.codes, cols) || !has_room {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    let code_bytes = tensor.codes.code_bytes(tensor.elements);
    let block = usize::from(tensor.codes.block);
    let mut factors = Factors { scales, minima, stride: *stride, end, row: 0, lane: 0 };
    each_run(tensor, (first, codes.len()), data, |data, run| {
        let Some(scale) = run.whole.scale else {
            return run.pieces().try_for_each(|piece| {
                let codes = codes.get_mut(piece.range).unwrap_or_default();
                round_halves(data, piece.place, codes, &mut factors)
            });
        };
        run.adjoining(code_bytes).try_for_each(|piece| {
            let codes = codes.get_mut(piece.range).unwrap_or_default();
            each_part(data, piece.place, bits, codes, |bytes, codes| unpack(bits, bytes, codes))
        })?;
        let blocks = run.whole.range.len().checked_div(block).unwrap_or(0);
        each_scale(data, scale_type, (scale, run.scale_step, blocks), |scale| {
            for _ in 0..block / GROUP_COLS {
                factors.put(scale, lowest(bits));
            }
        })
    })
}

/// The factors of groups, row after row.
struct Factors<'a> {
    scales: &'a mut [f32],
    minima: &'a mut [f32],
    /// Elements from one group to the next of the same row.
    stride: usize,
    /// The end of the groups.
    end: usize,
    row: usize,
    /// The index of the next group.
    lane: usize,
}

impl Factors<'_> {
    /// Writes the factors of the next group, whose codes have `offset` added.
    fn put(&mut self, scale: f32, offset: f32) {
        if let (Some(s), Some(m)) = (self.scales.get_mut(self.lane), self.minima.get_mut(self.lane))
        {
            (*s, *m) = (scale, -offset * scale);
        }
        self.lane = self.lane.saturating_add(self.stride);
        if self.lane >= self.end {
            self.row += 1;
            self.lane = self.row;
        }
    }
}

/// Quantises a block of halves.
fn round_halves(
    data: &mut impl Bytes,
    mut place: u64,
    codes: &mut [u8],
    factors: &mut Factors<'_>,
) -> Result<()> {
    for codes in codes.as_chunks_mut().0 {
        let mut values = [0.0; GROUP_COLS];
        read_halves(data, place, 0, &mut values)?;
        factors.put(round(&values, codes), HALVES_OFFSET);
        place = place.saturating_add(2 * GROUP_COLS as u64);
    }
    Ok(())
}

/// Rounds values to 7-bit codes scaled to the largest; returns the scale.
fn round(values: &[f32; GROUP_COLS], codes: &mut [u8; GROUP_COLS]) -> f32 {
    let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let scale = most / (HALVES_OFFSET - 1.0);
    let inverse = reciprocal(scale);
    for (code, value) in codes.iter_mut().zip(values) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within 0 … 127
        let unsigned = (nearest(value * inverse, HALVES_OFFSET) + HALVES_OFFSET) as u8;
        *code = unsigned;
    }
    scale
}
