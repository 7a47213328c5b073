//! Reads AMB's scaled codes, from bytes in memory or any other [`Bytes`].
//!
//! Any range of elements can be read: blocks run over the flattened tensor, so that a row may begin
//! inside one.

use core::ops::Range;

use super::amb_codes::decode;
use super::float16::f16_to_f32;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Arrangement, CodeBits, ScaleType, ScaledCodes};

/// A tensor of scaled codes: its storage and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaledTensor {
    /// Its storage.
    pub codes: ScaledCodes,
    /// The number of elements.
    pub elements: u64,
    /// The size of the data in bytes.
    pub bytes: u64,
}

/// Access to the data: in memory, or read in pieces.
pub trait Bytes {
    /// The `length` bytes at `offset` from the start of the data; at most [`most`](Self::most).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfBounds`] beyond the end, or any error of reading.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]>;

    /// The largest number of bytes per call, at least 8.
    fn most(&self) -> usize;
}

impl Bytes for &[u8] {
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(length)?))
            .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn most(&self) -> usize {
        usize::MAX
    }
}

/// Dequantises `out.len()` elements from `first` on.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if there are fewer elements; [`ErrorKind::SizeMismatch`] if the
/// tensor's size does not match its elements; [`ErrorKind::BadScale`] for a scale that is not
/// finite; any error from `data`.
pub fn dequantize(
    tensor: &ScaledTensor,
    first: u64,
    out: &mut [f32],
    data: &mut impl Bytes,
) -> Result<()> {
    let ScaledCodes { bits, scales, .. } = tensor.codes;
    each_run(tensor, (first, out.len()), data, |data, run| {
        run.pieces().try_for_each(|Piece { place, scale, skipped, range }| {
            let values = out.get_mut(range).unwrap_or_default();
            match scale {
                None => read_halves(data, place, skipped, values),
                Some(at) => {
                    let scale = read_scale(data, at, scales)?;
                    read_codes(data, place, bits, (skipped, scale), values)
                }
            }
        })
    })
}

/// A block, or the requested part of it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The offset of its codes or halves.
    pub(super) place: u64,
    /// The offset of its scale; halves have none.
    pub(super) scale: Option<u64>,
    /// The number of its elements before the requested ones.
    pub(super) skipped: u64,
    /// The range of its elements among all requested ones.
    pub(super) range: Range<usize>,
}

/// Consecutive blocks that are all codes, or all halves.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// All requested elements, as if they were in one block.
    pub(super) whole: Piece,
    /// Elements of a block.
    size: u64,
    /// Bytes from one block to the next.
    step: u64,
    /// Bytes from one scale to the next.
    pub(super) scale_step: u64,
}

impl Run {
    /// Its blocks.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let Self { whole, size, step, scale_step } = self.clone();
        let end = whole.range.end;
        let mut next = whole;
        core::iter::from_fn(move || {
            let start = next.range.start;
            if start >= end {
                return None;
            }
            let left = usize::try_from(size.saturating_sub(next.skipped)).unwrap_or(usize::MAX);
            let stop = end.min(start.saturating_add(left));
            let piece = Piece { range: start..stop, ..next };
            next.place = next.place.saturating_add(step);
            next.scale = next.scale.map(|scale| scale.saturating_add(scale_step));
            (next.skipped, next.range.start) = (0, stop);
            Some(piece)
        })
    }

    /// As [`pieces`](Self::pieces), but all in one if blocks have `code_bytes` and are contiguous.
    pub(super) fn adjoining(&self, code_bytes: Option<u64>) -> impl Iterator<Item = Piece> + use<> {
        let size = if code_bytes == Some(self.step) { u64::MAX } else { self.size };
        Self { size, ..self.clone() }.pieces()
    }
}

/// Calls `each` for the runs of blocks that contain `count` elements from `first` on.
///
/// # Errors
///
/// As [`dequantize`] except for bad scales; any error from `each`.
pub(super) fn each_run<B: Bytes>(
    tensor: &ScaledTensor,
    (first, count): (u64, usize),
    data: &mut B,
    mut each: impl FnMut(&mut B, &Run) -> Result<()>,
) -> Result<()> {
    let ScaledTensor { codes, elements, bytes } = *tensor;
    let end = first.checked_add(count as u64);
    if end.is_none_or(|end| end > elements) {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    let mismatch = Error::without_offset(ErrorKind::SizeMismatch);
    let full = codes.full_blocks(elements, bytes);
    let places = full.and_then(|full| codes.places(elements, full)).ok_or(mismatch)?;
    let size = codes.block_elements(elements);
    let Some((mut block, mut skipped)) = first.checked_div(size).zip(first.checked_rem(size))
    else {
        return Ok(());
    };
    let adaptive = codes.arrangement == Arrangement::Adaptive;
    let mut halves = if adaptive { count_ones(data, block)? } else { 0 };
    let mut at = 0;
    while at < count {
        let left = skipped.saturating_add((count - at) as u64).div_ceil(size);
        let (full, blocks) = if adaptive { alike(data, block, left)? } else { (false, left) };
        let coded = block.checked_sub(halves).ok_or(mismatch)?;
        let reach = blocks.saturating_mul(size).saturating_sub(skipped);
        let next = count.min(at.saturating_add(usize::try_from(reach).unwrap_or(usize::MAX)));
        let place = places.block(coded, halves).ok_or(mismatch)?;
        let scale = if full { None } else { Some(places.scale(coded).ok_or(mismatch)?) };
        let whole = Piece { place, scale, skipped, range: at..next };
        let step = if full { places.full_step } else { places.code_step };
        each(data, &Run { whole, size, step, scale_step: places.scale_step })?;
        if full {
            halves = halves.saturating_add(blocks);
        }
        (at, block, skipped) = (next, block.saturating_add(blocks), 0);
    }
    Ok(())
}

/// Returns true if the block is in full precision, and the number of blocks from it on, at most
/// `most`, that are stored in the same way.
fn alike(data: &mut impl Bytes, block: u64, most: u64) -> Result<(bool, u64)> {
    let mut full = None;
    let mut count = 0;
    while count < most {
        let at = block.saturating_add(count);
        let byte = data.bytes(at / 8, 1)?.first().copied().unwrap_or(0);
        let bit = at % 8;
        let full = *full.get_or_insert(byte >> bit & 1 == 1);
        let others = if full { !byte } else { byte } >> bit;
        let same = u64::from(others.trailing_zeros()).min(8 - bit);
        count += same;
        if same < 8 - bit {
            break;
        }
    }
    Ok((full.unwrap_or(false), count.min(most)))
}

/// The number of ones in the first `blocks` bits of the mask.
fn count_ones(data: &mut impl Bytes, blocks: u64) -> Result<u64> {
    let most = data.most() as u64;
    let (mut at, end, mut ones) = (0, blocks / 8, 0_u64);
    while at < end {
        let piece = (end - at).min(most);
        let bytes = data.bytes(at, usize::try_from(piece).unwrap_or(usize::MAX))?;
        let (words, tail) = bytes.as_chunks::<8>();
        ones += words.iter().map(|w| u64::from(u64::from_le_bytes(*w).count_ones())).sum::<u64>();
        ones += tail.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        at += piece;
    }
    if !blocks.is_multiple_of(8) {
        let byte = data.bytes(end, 1)?.first().copied().unwrap_or(0);
        ones += u64::from((byte & !(0xFF << (blocks % 8))).count_ones());
    }
    Ok(ones)
}

/// Scales that are read at a time.
const SCALES: usize = 32;

/// Calls `each` for `count` scales from `offset` on, `step` bytes apart.
pub(super) fn each_scale(
    data: &mut impl Bytes,
    scales: ScaleType,
    (offset, step, count): (u64, u64, usize),
    mut each: impl FnMut(f32),
) -> Result<()> {
    let size = usize::try_from(scales.bytes()).unwrap_or(4);
    let together = if step == size as u64 { (data.most() / size).clamp(1, SCALES) } else { 1 };
    let (mut at, mut left) = (offset, count);
    while left > 0 {
        let wanted = left.min(together);
        let bytes = data.bytes(at, wanted * size)?;
        let mut values = [0.0; SCALES];
        to_f32(scales, bytes, &mut values);
        // All at once: bad scales are rare. Values after the last are 0.
        if !values.iter().all(|scale| scale.is_finite()) {
            let index = values.iter().position(|scale| !scale.is_finite()).unwrap_or(0);
            let place = at.saturating_add((index * size) as u64);
            return Err(Error::new(place, ErrorKind::BadScale));
        }
        values.iter().take(wanted).for_each(|scale| each(*scale));
        at = at.saturating_add(step.saturating_mul(wanted as u64));
        left -= wanted;
    }
    Ok(())
}

/// The scale at `offset`, a finite number.
fn read_scale(data: &mut impl Bytes, offset: u64, scales: ScaleType) -> Result<f32> {
    let size = usize::try_from(scales.bytes()).unwrap_or(4);
    let mut scale = [f32::NAN];
    to_f32(scales, data.bytes(offset, size)?, &mut scale);
    let [scale] = scale;
    if scale.is_finite() { Ok(scale) } else { Err(Error::new(offset, ErrorKind::BadScale)) }
}

/// Converts contiguous scales, as many as there are and `out` has room for.
#[inline(always)]
fn to_f32(scales: ScaleType, bytes: &[u8], out: &mut [f32]) {
    match scales {
        ScaleType::F16 => {
            let halves = bytes.as_chunks().0;
            out.iter_mut().zip(halves).for_each(|(to, half)| *to = f16_to_f32(*half));
        }
        ScaleType::F32 => {
            let floats = bytes.as_chunks().0;
            out.iter_mut().zip(floats).for_each(|(to, float)| *to = f32::from_le_bytes(*float));
        }
    }
}

/// Reads halves from the `skipped`-th on, counted from `offset`.
pub(super) fn read_halves(
    data: &mut impl Bytes,
    offset: u64,
    skipped: u64,
    out: &mut [f32],
) -> Result<()> {
    let overflow = Error::new(offset, ErrorKind::SizeOverflow);
    let mut at = skipped.checked_mul(2).and_then(|skipped| offset.checked_add(skipped));
    let most = (data.most() / 2).max(1);
    for values in out.chunks_mut(most) {
        let start = at.ok_or(overflow)?;
        let halves = data.bytes(start, values.len() * 2)?.as_chunks::<2>().0;
        for (value, half) in values.iter_mut().zip(halves) {
            *value = f16_to_f32(*half);
        }
        at = start.checked_add(values.len() as u64 * 2);
    }
    Ok(())
}

/// Reads codes from the `skipped`-th on, counted from `offset`.
fn read_codes(
    data: &mut impl Bytes,
    offset: u64,
    bits: CodeBits,
    (skipped, scale): (u64, f32),
    out: &mut [f32],
) -> Result<()> {
    let overflow = Error::new(offset, ErrorKind::SizeOverflow);
    let width = usize::from(bits.bits());
    // Eight codes fill whole bytes; before the first eight, some codes may have to be skipped.
    let pass = usize::try_from(skipped % 8).unwrap_or(0);
    let start = (skipped / 8).checked_mul(width as u64);
    let mut at = start.and_then(|start| offset.checked_add(start));
    let before = if pass == 0 { 0 } else { 8_usize.saturating_sub(pass).min(out.len()) };
    let (head, body) = out.split_at_mut_checked(before).ok_or(overflow)?;
    if !head.is_empty() {
        let place = at.ok_or(overflow)?;
        let mut codes = [0.0; 8];
        let wanted = pass + head.len();
        let bytes = data.bytes(place, (wanted * width).div_ceil(8))?;
        decode(bits, bytes, scale, codes.get_mut(..wanted).unwrap_or_default());
        for (value, code) in head.iter_mut().zip(codes.iter().skip(pass)) {
            *value = *code;
        }
        at = place.checked_add(width as u64);
    }
    let place = at.ok_or(overflow)?;
    each_part(data, place, bits, body, |bytes, values| decode(bits, bytes, scale, values))
}

/// Calls `with` for as many codes as fit one read, and the matching part of `out`, from a code on
/// that begins a byte.
pub(super) fn each_part<T>(
    data: &mut impl Bytes,
    offset: u64,
    bits: CodeBits,
    out: &mut [T],
    with: impl Fn(&[u8], &mut [T]),
) -> Result<()> {
    let width = usize::from(bits.bits());
    let eights = (data.most() / width).max(1);
    let mut at = Some(offset);
    for out in out.chunks_mut(eights.saturating_mul(8).max(8)) {
        let place = at.ok_or(Error::new(offset, ErrorKind::SizeOverflow))?;
        // The last eight codes may have only the bytes that they need.
        let length = (out.len() / 8 * width) + (out.len() % 8 * width).div_ceil(8);
        with(data.bytes(place, length)?, out);
        at = place.checked_add(length as u64);
    }
    Ok(())
}
