//! HQQ, half-quadratic quantisation: `x = (q − zero) scale` for each group.
//!
//! Codes of 8, 4, 2 or 1 bits are packed in bytes, those of 3 bits ten to a 32-bit word, *across
//! slabs of rows*: the rows of the matrix described at [`Hqq`] are divided into as many slabs as a
//! word has codes, and word `(row, c)` holds element `(row, c)` of each slab, the first slab in the
//! most significant bits.
//!
//! Subtraction and product are rounded to the type of the scales, since the reference computes in
//! that type.
//!
//! Source: Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023.

use super::block::{range, reciprocal, round_even};
use crate::tensor::{Hqq, Shape};

/// Dequantises `out.len()` elements of a weight of `shape` from `first` on; `None` if there are
/// fewer.
pub(super) fn dequantize(
    hqq: &Hqq<'_>,
    shape: &Shape,
    first: usize,
    out: &mut [f32],
) -> Option<()> {
    let matrix = hqq.matrix(shape)?;
    let (pack, word_bytes) = hqq.packing()?;
    let cols = usize::try_from(matrix.cols).ok()?;
    let slab_rows = usize::try_from(matrix.packed_rows).ok()?;
    let (pack, word_bytes) = (usize::try_from(pack).ok()?, usize::try_from(word_bytes).ok()?);
    let mask = (1_u32 << hqq.bits) - 1;
    let (shared_scale, shared_zero) = (hqq.is_shared(&hqq.scales), hqq.is_shared(&hqq.zeros));
    let mut element = first;
    let mut rest = out;
    while !rest.is_empty() {
        let (row, col) = (element.checked_div(cols)?, element % cols);
        let (values, after) = rest.split_at_mut((cols - col).min(rest.len()));
        let slab = row.checked_div(slab_rows)?;
        let shift = usize::from(hqq.bits) * (pack - 1).checked_sub(slab)?;
        let words =
            (row % slab_rows).checked_mul(cols)?.checked_add(col)?.checked_mul(word_bytes)?;
        let words = hqq.codes.get(words..)?.chunks_exact(word_bytes);
        if words.len() < values.len() {
            return None;
        }
        element += values.len();
        for (offset, (value, word)) in values.iter_mut().zip(words).enumerate() {
            let word = match *word {
                [byte] => u32::from(byte),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => return None,
            };
            #[allow(clippy::cast_precision_loss)] // at most 8 bits
            let code = (word >> shift & mask) as f32;
            let group = if hqq.axis == 0 { col + offset } else { row };
            let zero = hqq.zeros.get(if shared_zero { 0 } else { group })?;
            let scale = hqq.scales.get(if shared_scale { 0 } else { group })?;
            *value = hqq.scales.round(hqq.scales.round(code - zero) * scale);
        }
        rest = after;
    }
    Some(())
}

/// The arrays that [`quantize`] fills, for a weight of `elements` elements in groups of
/// `group_size` along axis 0.
#[derive(Debug)]
pub struct HqqOutput<'o> {
    /// `group_size · bits / 8` rows of `elements / group_size` bytes.
    pub codes: &'o mut [u8],
    /// A scale for each of the `elements / group_size` groups.
    pub scales: &'o mut [f32],
    /// A zero for each group.
    pub zeros: &'o mut [f32],
}

/// Half-quadratic steps of the solver, as in the reference.
pub const STEPS: u32 = 10;

/// Quantises to 8 or 4 bits along axis 0: group `c` is the elements `c`, `c + groups`, `c + 2
/// groups` … of the flattened weight. Zeros are found by the paper's proximal solver, separately
/// for each group. `None` if a length does not fit.
pub fn quantize(
    values: &[f32],
    bits: u8,
    group_size: usize,
    out: &mut HqqOutput<'_>,
) -> Option<()> {
    let groups = values.len().checked_div(group_size)?;
    let pack = match bits {
        8 => 1,
        4 => 2,
        _ => return None,
    };
    let packed_rows = group_size / pack;
    let fits = group_size.is_multiple_of(pack)
        && groups.checked_mul(group_size) == Some(values.len())
        && packed_rows.checked_mul(groups) == Some(out.codes.len())
        && (out.scales.len(), out.zeros.len()) == (groups, groups);
    if !fits {
        return None;
    }
    out.codes.fill(0);
    for (group, (scale, zero)) in out.scales.iter_mut().zip(out.zeros.iter_mut()).enumerate() {
        let column = Column { values, group, groups };
        (*scale, *zero) = column.fit(bits);
        let inverse = reciprocal(*scale);
        for (row, x) in column.iter().enumerate() {
            let slab = row.checked_div(packed_rows)?;
            let shift = usize::from(bits) * (pack - 1 - slab);
            let place = (row % packed_rows) * groups + group;
            *out.codes.get_mut(place)? |= nearest(x, inverse, *zero, bits) << shift;
        }
    }
    Some(())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped to 0..2^bits
fn nearest(x: f32, inverse: f32, zero: f32, bits: u8) -> u8 {
    let largest = f32::from(u8::MAX >> (8 - bits));
    round_even(x * inverse + zero).clamp(0.0, largest) as u8
}

/// A group along axis 0.
#[derive(Clone, Copy)]
struct Column<'v> {
    values: &'v [f32],
    group: usize,
    groups: usize,
}

impl Column<'_> {
    fn iter(&self) -> impl Iterator<Item = f32> {
        self.values.iter().skip(self.group).step_by(self.groups).copied()
    }

    /// Scale and zero with the least squared error among the solver's steps.
    fn fit(&self, bits: u8) -> (f32, f32) {
        let (min, max) = self.iter().fold(range(&[]), |(min, max), x| (min.min(x), max.max(x)));
        let steps = f32::from(u8::MAX >> (8 - bits));
        // The reference limits the inverse to 20,000, which also covers groups of one value.
        let inverse = (steps / (max - min)).min(2e4);
        let mut zero = -min * inverse;
        let mut best = zero;
        let mut least = self.squared_error(inverse, zero, bits);
        let mut beta = 10.0_f32;
        for _ in 0..STEPS {
            zero = self.proximal_step(inverse, zero, beta, bits);
            beta *= 1.01;
            let error = self.squared_error(inverse, zero, bits);
            if error < least {
                (least, best) = (error, zero);
            }
        }
        (1.0 / inverse, best)
    }

    fn squared_error(&self, inverse: f32, zero: f32, bits: u8) -> f32 {
        self.iter().fold(0.0, |sum, x| {
            let error = (f32::from(nearest(x, inverse, zero, bits)) - zero) / inverse - x;
            sum + error * error
        })
    }

    /// The zero that fits the values minus the shrunk part of their errors (equations 3 to 5).
    fn proximal_step(&self, inverse: f32, zero: f32, beta: f32, bits: u8) -> f32 {
        let (mut sum, mut count) = (0.0_f32, 0.0_f32);
        for x in self.iter() {
            let q = f32::from(nearest(x, inverse, zero, bits));
            let error = x - (q - zero) / inverse;
            sum += q - (x - shrink(error, beta)) * inverse;
            count += 1.0;
        }
        sum * reciprocal(count)
    }
}

/// The generalised soft threshold for the norm `p = 0.7`.
fn shrink(x: f32, beta: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude == 0.0 {
        return 0.0;
    }
    let shrunk = (magnitude - libm::powf(magnitude, -0.3) / beta).max(0.0);
    shrunk.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Dtype, Floats};

    /// The codes of one word, slab by slab.
    fn codes(bits: u8, word: &[u8], out: &mut [f32]) {
        let one = 1.0_f32.to_le_bytes();
        let float = |data| Floats { dtype: Dtype::F32, data };
        let hqq = Hqq {
            bits,
            group_size: out.len() as u32,
            axis: 0,
            channel_wise: true,
            codes: word,
            scales: float(&one),
            zeros: float(&[0; 4]),
        };
        let shape = Shape::new(&[out.len() as u64, 1]).unwrap();
        dequantize(&hqq, &shape, 0, out).unwrap();
    }

    #[test]
    fn every_byte_and_every_code_of_a_word_of_ten_holds_its_slabs_the_first_in_the_highest_bits() {
        for bits in [8, 4, 2, 1] {
            for byte in 0..=u8::MAX {
                let mut out = [0.0; 8];
                let out = &mut out[..8 / usize::from(bits)];
                codes(bits, &[byte], out);
                let joined = out.iter().fold(0, |joined, code| joined << bits | *code as u32);
                assert_eq!(joined, u32::from(byte), "{bits}");
            }
        }
        for word in (0..1 << 30).step_by(99_991).chain((0..30).map(|bit| 1 << bit)) {
            let mut out = [0.0; 10];
            codes(3, &u32::to_le_bytes(word), &mut out);
            let joined = out.iter().fold(0, |joined, code| joined << 3 | *code as u32);
            assert_eq!(joined, word);
        }
    }
}
