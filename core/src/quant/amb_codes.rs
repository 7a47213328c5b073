//! Conversion of AMB's codes of 4, 5 or 8 bits, stored from the lowest bit on, to numbers and back.

use super::block::reciprocal;
use crate::tensor::CodeBits;

/// Codes that are decoded together, a multiple of eight, which fill whole bytes.
const PIECE: usize = 64;

/// Decodes `out.len()` codes from the first bit of `bytes` on: `code · scale`.
pub(super) fn decode(bits: CodeBits, bytes: &[u8], scale: f32, out: &mut [f32]) {
    pieces(bits, bytes, out, |code, sign| {
        f32::from((code ^ sign).wrapping_sub(sign).cast_signed()) * scale
    });
}

/// The reference implementation of [`UnpackCodes`](super::amb_unpack::UnpackCodes).
pub fn unpack(bits: CodeBits, bytes: &[u8], out: &mut [u8]) {
    pieces(bits, bytes, out, |code, sign| code ^ sign);
}

/// Unpacks a block of codes, then converts it, so that both loops vectorise. `number` takes a code
/// as stored, and its sign bit.
#[inline(always)]
fn pieces<T>(bits: CodeBits, bytes: &[u8], out: &mut [T], number: impl Fn(u8, u8) -> T) {
    match bits {
        CodeBits::Four => pieces_of::<4, T>(bytes, out, fours, number),
        CodeBits::Five => pieces_of::<5, T>(bytes, out, fives, number),
        CodeBits::Eight => pieces_of::<8, T>(bytes, out, eights, number),
    }
}

#[inline(always)]
fn pieces_of<const BITS: usize, T>(
    bytes: &[u8],
    out: &mut [T],
    spread: impl Fn(&[u8], &mut [u8; PIECE]),
    number: impl Fn(u8, u8) -> T,
) {
    let sign = 1_u8 << (BITS - 1);
    let mut codes = [0; PIECE];
    let mut bytes = bytes.chunks(PIECE / 8 * BITS);
    let (whole, rest) = out.as_chunks_mut::<PIECE>();
    for (values, bytes) in whole.iter_mut().zip(bytes.by_ref()) {
        spread(bytes, &mut codes);
        *values = codes.map(|code| number(code, sign));
    }
    if let Some(bytes) = bytes.next() {
        spread(bytes, &mut codes);
        rest.iter_mut().zip(codes).for_each(|(value, code)| *value = number(code, sign));
    }
}

fn eights(bytes: &[u8], codes: &mut [u8; PIECE]) {
    codes.iter_mut().zip(bytes).for_each(|(code, byte)| *code = *byte);
}

fn fours(bytes: &[u8], codes: &mut [u8; PIECE]) {
    for (pair, byte) in codes.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [byte & 15, byte >> 4];
    }
}

fn fives(bytes: &[u8], codes: &mut [u8; PIECE]) {
    let (groups, rest) = bytes.as_chunks::<5>();
    let mut eights = codes.as_chunks_mut::<8>().0.iter_mut();
    for (group, codes) in groups.iter().zip(eights.by_ref()) {
        *codes = eight_of_five(*group);
    }
    // The last eight codes may have only the bytes that some of them need.
    if let Some(codes) = eights.next() {
        let mut group = [0; 5];
        group.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        *codes = eight_of_five(group);
    }
}

/// Spreads 40 bits over eight bytes: two twenties, four tens, eight fives.
#[inline(always)]
const fn eight_of_five([a, b, c, d, e]: [u8; 5]) -> [u8; 8] {
    let forty = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
    let twenties = forty & 0x000f_ffff | (forty & 0xff_fff0_0000) << 12;
    let tens = twenties & 0x0000_03ff_0000_03ff | (twenties & 0x000f_fc00_000f_fc00) << 6;
    let fives = tens & 0x001f_001f_001f_001f | (tens & 0x03e0_03e0_03e0_03e0) << 3;
    fives.to_le_bytes()
}

/// The magnitude of the lowest code, on the side that has one more.
pub(super) const fn lowest(bits: CodeBits) -> f32 {
    match bits {
        CodeBits::Four => 8.0,
        CodeBits::Five => 16.0,
        CodeBits::Eight => 128.0,
    }
}

/// The nearest code to `x`: ties to even; NaN is 0.
#[inline]
pub(super) fn nearest(x: f32, lowest: f32) -> f32 {
    // Adding and subtracting 1.5 · 2²³ rounds to an integer.
    const WHOLE: f32 = 12_582_912.0;
    (x.clamp(-lowest, lowest - 1.0) + WHOLE) - WHOLE
}

/// Writes the codes of `values` with a scale to the front of `out`, followed by zeros.
pub fn encode(values: &[f32], scale: f32, bits: CodeBits, out: &mut [u8]) {
    let (inverse, lowest) = (reciprocal(scale), lowest(bits));
    let width = bits.bits();
    out.fill(0);
    let mut out = out.iter_mut();
    let (mut pending, mut filled) = (0_u16, 0_u8);
    for &x in values {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within −128 … 127
        let code = nearest(x * inverse, lowest) as i8 as u8;
        let code = u16::from(code) & ((1 << width) - 1);
        pending |= code << filled;
        filled += width;
        while filled >= 8 {
            if let Some(byte) = out.next() {
                [*byte, _] = pending.to_le_bytes();
            }
            pending >>= 8;
            filled -= 8;
        }
    }
    if let Some(byte) = out.next().filter(|_| filled > 0) {
        [*byte, _] = pending.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// The code at `index`, read bit by bit.
    fn code(width: usize, bytes: &[u8], index: usize) -> f32 {
        let bit = |at: usize| f32::from(bytes[at / 8] >> (at % 8) & 1);
        let low: f32 = (0..width - 1).map(|b| bit(index * width + b) * (1 << b) as f32).sum();
        low - bit(index * width + width - 1) * (1 << (width - 1)) as f32
    }

    #[test]
    fn codes_are_read_from_the_lowest_bit_on_with_their_sign() {
        let bytes: Vec<u8> = (0..200_u32).map(|i| (i * 167 + i / 7) as u8).collect();
        for (bits, width) in [(CodeBits::Four, 4), (CodeBits::Five, 5), (CodeBits::Eight, 8_usize)]
        {
            for length in 0..=bytes.len() * 8 / width {
                let mut out = vec![f32::NAN; length];
                decode(bits, &bytes[..(length * width).div_ceil(8)], 0.75, &mut out);
                for (index, value) in out.into_iter().enumerate() {
                    assert_eq!(
                        value,
                        code(width, &bytes, index) * 0.75,
                        "{width} {length} {index}"
                    );
                }
            }
        }
    }
}
