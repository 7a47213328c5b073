//! Sixteen lanes, of which the row operations are built.
//!
//! Sixteen is the width of the widest vectors; narrower ones take several registers. Every
//! operation rounds once, in the same order on every target, so a row operation computes the same
//! bits everywhere.

/// Lanes of a [`Vector`].
pub(super) const LANES: usize = 16;

/// 1.5 · 2²³: adding it to a number of magnitude below 2²² leaves the nearest integer (ties to
/// even) in the low mantissa bits.
pub(super) const ROUND: f32 = 12_582_912.0;

/// Sixteen f32.
///
/// Implementations for vector instructions are named only in functions that have those instructions
/// enabled.
pub(super) trait Vector: Copy {
    fn splat(value: f32) -> Self;
    fn load(values: &[f32; LANES]) -> Self;
    fn store(self, values: &mut [f32; LANES]);

    /// Up to sixteen elements, completed by `fill`.
    #[inline(always)]
    fn load_part(part: &[f32], fill: f32) -> Self {
        if let Some(all) = part.first_chunk() {
            return Self::load(all);
        }
        let mut values = [fill; LANES];
        for (to, &from) in values.iter_mut().zip(part) {
            *to = from;
        }
        Self::load(&values)
    }

    /// The first `part.len()` elements.
    #[inline(always)]
    fn store_part(self, part: &mut [f32]) {
        let mut values = [0.0; LANES];
        self.store(&mut values);
        for (to, from) in part.iter_mut().zip(values) {
            *to = from;
        }
    }

    /// Unsigned bytes, XORed with `flip`.
    fn load_bytes(bytes: &[u8; LANES], flip: u8) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// `self` where `self < other`, else `other`.
    fn min(self, other: Self) -> Self;
    /// `self` where `self > other`, else `other`.
    fn max(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// 2ⁿ for `self` = n + [`ROUND`], −126 ≤ n ≤ 127.
    fn power_of_two(self) -> Self;
    /// Adds lane i and lane i + 8, then i + 4, i + 2, i + 1.
    fn sum(self) -> f32;
    /// The smallest lane.
    fn least(self) -> f32;
    /// The largest lane.
    fn most(self) -> f32;
    /// The low 7 bits of every lane.
    fn store_codes(self, codes: &mut [u8; LANES]);
    /// The low 16 bits of every lane, little-endian.
    fn store_words(self, words: &mut [u8; 2 * LANES]);
    /// The low 16 bits of every lane of `self` and `other`, alternating, little-endian.
    fn store_pairs(self, other: Self, words: &mut [u8; 4 * LANES]);
}

/// The vector of the portable table. With the feature `small` its operations are called instead of
/// inlined.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; LANES]);

impl Portable {
    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn zip(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        let mut result = self;
        for (a, b) in result.0.iter_mut().zip(other.0) {
            *a = operation(*a, b);
        }
        result
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn fold(self, combine: impl Fn(f32, f32) -> f32) -> f32 {
        let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = self.0;
        let c = [combine(a0, b0), combine(a1, b1), combine(a2, b2), combine(a3, b3)];
        let d = [combine(a4, b4), combine(a5, b5), combine(a6, b6), combine(a7, b7)];
        let [c0, c1, c2, c3] =
            [combine(c[0], d[0]), combine(c[1], d[1]), combine(c[2], d[2]), combine(c[3], d[3])];
        combine(combine(c0, c2), combine(c1, c3))
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        Self(*values)
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        *values = self.0;
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8; LANES], flip: u8) -> Self {
        Self(bytes.map(|byte| f32::from(byte ^ flip)))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.zip(self, |a, _| f32::from_bits(a.to_bits() & 0x7fff_ffff))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        // The low mantissa bits hold n: shifted into the exponent they are 2ⁿ.
        self.zip(self, |a, _| f32::from_bits((a.to_bits() << 23).wrapping_add(1.0_f32.to_bits())))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        self.fold(|a, b| a + b)
    }

    #[inline(always)]
    fn least(self) -> f32 {
        self.fold(|a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn most(self) -> f32 {
        self.fold(|a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn store_codes(self, codes: &mut [u8; LANES]) {
        for (code, value) in codes.iter_mut().zip(self.0) {
            *code = (value.to_bits() & 0x7f) as u8;
        }
    }

    #[inline(always)]
    fn store_words(self, words: &mut [u8; 2 * LANES]) {
        for (word, value) in words.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *word = (value.to_bits() as u16).to_le_bytes();
        }
    }

    #[inline(always)]
    fn store_pairs(self, other: Self, words: &mut [u8; 4 * LANES]) {
        let values = self.0.iter().zip(other.0);
        for (word, (low, high)) in words.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            *word = ((low.to_bits() & 0xffff) | (high.to_bits() << 16)).to_le_bytes();
        }
    }
}
