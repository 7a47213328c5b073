//! Reads matrices of scaled codes as rows of f32 or unpacked, borrowed from memory or read in
//! pieces into a tile.

use crate::error::{Error, ErrorKind, Result};
use crate::model::weights::{Matrix, Weights};
use crate::quant::amb_block::{self, Bytes, ScaledTensor};
use crate::quant::amb_unpack::{UnpackCodes, unpack_rows};
use crate::quant::groups::Unpacked;
use crate::tensor::ScaledCodes;

/// Some rows of a matrix of scaled codes.
#[derive(Clone, Copy)]
pub(super) struct CodedRows<'a, W: ?Sized> {
    pub(super) weights: &'a W,
    pub(super) matrix: &'a Matrix,
    pub(super) codes: ScaledCodes,
    /// The first row.
    pub(super) first: usize,
}

impl<W: Weights + ?Sized> CodedRows<'_, W> {
    /// Dequantises as many rows as fit `values`.
    pub(super) fn read(&self, values: &mut [f32], tile: &mut [u8]) -> Result<()> {
        let (tensor, first) = self.tensor()?;
        let done = if self.weights.borrows() {
            amb_block::dequantize(&tensor, first, values, &mut self.whole()?)
        } else {
            amb_block::dequantize(&tensor, first, values, &mut self.data(values.len(), tile))
        };
        done.map_err(|error| self.placed(error))
    }

    /// Unpacks as many rows as `out` has codes for.
    pub(super) fn unpack(
        &self,
        out: &mut Unpacked<'_>,
        tile: &mut [u8],
        unpack: UnpackCodes,
    ) -> Result<()> {
        let (tensor, first) = self.tensor()?;
        let place = (first, self.matrix.cols);
        let done = if self.weights.borrows() {
            unpack_rows(&tensor, place, out, &mut self.whole()?, unpack)
        } else {
            unpack_rows(&tensor, place, out, &mut self.data(out.codes.len(), tile), unpack)
        };
        done.map_err(|error| self.placed(error))
    }

    /// The tensor and the first element of the first row.
    fn tensor(&self) -> Result<(ScaledTensor, u64)> {
        let Matrix { offset, rows, cols, bytes, .. } = *self.matrix;
        let overflow = Error::new(offset, ErrorKind::SizeOverflow);
        let elements = rows.checked_mul(cols).ok_or(overflow)? as u64;
        let first = self.first.checked_mul(cols).ok_or(overflow)? as u64;
        Ok((ScaledTensor { codes: self.codes, elements, bytes }, first))
    }

    /// All data, if it can be borrowed.
    fn whole(&self) -> Result<&[u8]> {
        let Matrix { offset, bytes, .. } = *self.matrix;
        let length = usize::try_from(bytes);
        let length = length.map_err(|_| Error::new(offset, ErrorKind::SizeOverflow))?;
        self.weights.bytes(offset, length, &mut [])
    }

    /// The data, if it has to be read; `count` elements are needed.
    fn data<'t>(&'t self, count: usize, tile: &'t mut [u8]) -> Data<'t, W> {
        let Self { weights, matrix: &Matrix { offset, rows, cols, bytes, .. }, .. } = *self;
        let elements = rows.saturating_mul(cols) as u64;
        let share = bytes.checked_mul(count as u64).and_then(|all| all.checked_div(elements));
        let ahead = usize::try_from(share.unwrap_or(0)).unwrap_or(usize::MAX);
        Data { weights, offset, bytes, ahead, clock: 0, windows: windows(tile) }
    }

    /// Converts an offset in the tensor, as errors about scales have, to one in the source.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::BadScale => error.shifted_by(self.matrix.offset),
            _ => error,
        }
    }
}

/// Mask, scales and codes may be in separate places, and each is read sequentially.
const STREAMS: usize = 3;

/// The data of one tensor, read in pieces.
struct Data<'a, W: ?Sized> {
    weights: &'a W,
    offset: u64,
    bytes: u64,
    /// Bytes read at a time: those of the needed elements.
    ahead: usize,
    /// Counts accesses.
    clock: u64,
    windows: [Window<'a>; STREAMS],
}

/// The most recently read bytes of one part of the data.
struct Window<'a> {
    room: &'a mut [u8],
    start: u64,
    length: usize,
    /// The time of the last access.
    used: u64,
}

fn windows(tile: &mut [u8]) -> [Window<'_>; STREAMS] {
    let room = tile.len().checked_div(STREAMS).unwrap_or(0);
    let mut rest = tile;
    [(); STREAMS].map(|()| {
        let whole = core::mem::take(&mut rest);
        let (room, after) = whole.split_at_mut_checked(room).unwrap_or_default();
        rest = after;
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
            // The previous contents are lost, whether or not reading succeeds.
            (window.start, window.length) = (offset, 0);
            weights.bytes(place, wanted, window.room)?;
            window.length = wanted;
        }
        window.get(offset, length).ok_or(small)
    }

    fn most(&self) -> usize {
        self.windows.first().map_or(0, |window| window.room.len()).max(8)
    }
}
