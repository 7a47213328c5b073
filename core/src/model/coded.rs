//! Matrices of scaled codes as rows of f32, from bytes in memory or read in pieces to a tile.

use super::weights::{Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::quant::amb_block::{self, Bytes, Tensor};
use crate::tensor::ScaledCodes;

/// Dequantises the rows from row `first` on, as many as `values` holds.
pub(super) fn read_rows(
    weights: &(impl Weights + ?Sized),
    matrix: &Matrix,
    codes: ScaledCodes,
    first: usize,
    values: &mut [f32],
    tile: &mut [u8],
) -> Result<()> {
    let overflow = Error::new(matrix.offset, ErrorKind::SizeOverflow);
    let elements = matrix.rows.checked_mul(matrix.cols).ok_or(overflow)? as u64;
    let first = first.checked_mul(matrix.cols).ok_or(overflow)? as u64;
    let tensor = Tensor { codes, elements, bytes: matrix.bytes };
    let Matrix { offset, bytes, .. } = *matrix;
    let share = bytes.checked_mul(values.len() as u64).and_then(|all| all.checked_div(elements));
    let ahead = usize::try_from(share.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut data = Data { weights, offset, bytes, ahead, clock: 0, windows: windows(tile) };
    amb_block::dequantize(&tensor, first, values, &mut data)
}

/// Mask, scales and codes may lie apart, and each is read onwards from where it was read last.
const STREAMS: usize = 3;

/// The data of one tensor.
struct Data<'a, W: ?Sized> {
    weights: &'a W,
    offset: u64,
    bytes: u64,
    /// How many bytes are read at a time: those of the elements that are wanted.
    ahead: usize,
    /// Counts what was asked for.
    clock: u64,
    windows: [Window<'a>; STREAMS],
}

/// What was read last of one part of the data.
struct Window<'a> {
    room: &'a mut [u8],
    start: u64,
    length: usize,
    /// When it was asked for.
    used: u64,
}

fn windows(tile: &mut [u8]) -> [Window<'_>; STREAMS] {
    let room = tile.len().checked_div(STREAMS).unwrap_or(0);
    let mut rest = tile;
    [(); STREAMS].map(|()| {
        let whole = core::mem::take(&mut rest);
        let (room, behind) = whole.split_at_mut_checked(room).unwrap_or_default();
        rest = behind;
        Window { room, start: 0, length: 0, used: 0 }
    })
}

impl Window<'_> {
    fn get(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.room.get(..self.length)?.get(at..at.checked_add(length)?)
    }
}

impl<W: Weights + ?Sized> Bytes for Data<'_, W> {
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        let Self { weights, bytes, ahead, clock, windows, .. } = self;
        let overflow = Error::new(self.offset, ErrorKind::SizeOverflow);
        let place = self.offset.checked_add(offset).ok_or(overflow)?;
        if weights.borrows() {
            return weights.bytes(place, length, &mut []);
        }
        *clock = clock.saturating_add(1);
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let known = windows.iter().position(|window| window.get(offset, length).is_some());
        let longest_unused = || (0..STREAMS).min_by_key(|at| windows.get(*at).map(|it| it.used));
        let at = known.or_else(longest_unused).ok_or(small)?;
        let window = windows.get_mut(at).ok_or(small)?;
        window.used = *clock;
        if known.is_none() {
            let left = usize::try_from(bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
            let wanted = (*ahead).min(left).min(window.room.len()).max(length);
            // Whatever becomes of the reading, what was there is lost.
            (window.start, window.length) = (offset, 0);
            weights.bytes(place, wanted, window.room)?;
            window.length = wanted;
        }
        window.get(offset, length).ok_or(small)
    }

    fn most(&self) -> usize {
        match self.weights.borrows() {
            true => usize::MAX,
            false => self.windows.first().map_or(0, |window| window.room.len()).max(8),
        }
    }
}
