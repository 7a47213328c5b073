//! The operations of dequantisation, sixteen elements at a time.
//!
//! The layouts are written once over [`Lanes`]. With [`Scalar`] they are the reference; kernels
//! have lanes in vector instructions, which compute the same bits: every operation on floats rounds
//! once and none are contracted.

use super::float16::{bf16_to_f32, f16_to_f32};

/// Elements that are computed together.
pub const LANES: usize = 16;

/// Sixteen codes, extracted from the bits of a block.
pub trait Codes: Copy {
    /// Sixteen bytes of a block.
    fn load(bytes: &[u8; LANES]) -> Self;

    /// Sixteen bytes in two little-endian words.
    fn words(words: [u64; 2]) -> Self;

    /// `value` in lanes whose bit in `bits` is set (the lowest for the first lane), else 0.
    fn spread(bits: u16, value: u8) -> Self;

    /// `code >> shift & mask`, for shifts below 8 and masks of at most `8 − shift` bits.
    fn field(self, shift: u32, mask: u8) -> Self;

    /// `self | high << shift`, for codes that stay below 256.
    fn join(self, high: Self, shift: u32) -> Self;

    /// `self − offset`, a signed byte.
    fn less(self, offset: u8) -> Self;

    /// The lanes of `self` and `other` alternating: first those of the lower eight, then those of
    /// the upper eight.
    fn interleave(self, other: Self) -> [Self; 2];
}

/// Conversion of codes and factors to f32.
pub trait Lanes {
    /// Sixteen codes.
    type Codes: Codes;
    /// A number in all lanes.
    type Factor: Copy;

    /// The same number in all lanes.
    fn factor(value: f32) -> Self::Factor;

    /// The f32 of an IEEE half, little-endian, in all lanes.
    fn half(bytes: [u8; 2]) -> Self::Factor;

    /// Sixteen IEEE halves.
    fn halves(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]);

    /// Sixteen bfloat16.
    fn bfloats(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]);

    /// `scale · code`, codes being signed bytes.
    fn scaled(codes: Self::Codes, scale: Self::Factor, out: &mut [f32; LANES]);

    /// As [`scaled`](Self::scaled), for the factors of nested blocks.
    fn factors(codes: Self::Codes, scale: Self::Factor) -> Factors;

    /// `scale · code + minimum`, codes being signed bytes.
    fn plus(codes: Self::Codes, scale: Self::Factor, minimum: Self::Factor, out: &mut [f32; LANES]);

    /// `scale · code − minimum`, codes being signed bytes.
    fn minus(
        codes: Self::Codes,
        scale: Self::Factor,
        minimum: Self::Factor,
        out: &mut [f32; LANES],
    );

    /// `values[code] · scale`, for codes below 16.
    fn looked_up(
        codes: Self::Codes,
        values: &[f32; 16],
        scale: Self::Factor,
        out: &mut [f32; LANES],
    );
}

/// Sixteen numbers, aligned to a cache line, so that loads can follow the store without a stall.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
#[non_exhaustive]
pub struct Factors(pub [f32; LANES]);

/// Scalar code, element by element.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Codes for [u8; LANES] {
    #[inline(always)]
    fn load(bytes: &[u8; LANES]) -> Self {
        *bytes
    }

    #[inline(always)]
    fn words([low, high]: [u64; 2]) -> Self {
        (u128::from(low) | u128::from(high) << 64).to_le_bytes()
    }

    #[inline(always)]
    fn spread(bits: u16, value: u8) -> Self {
        core::array::from_fn(|lane| if bits >> lane & 1 == 1 { value } else { 0 })
    }

    #[inline(always)]
    fn field(self, shift: u32, mask: u8) -> Self {
        self.map(|code| code.wrapping_shr(shift) & mask)
    }

    #[inline(always)]
    fn join(mut self, high: Self, shift: u32) -> Self {
        for (code, high) in self.iter_mut().zip(high) {
            *code |= high.wrapping_shl(shift);
        }
        self
    }

    #[inline(always)]
    fn less(self, offset: u8) -> Self {
        self.map(|code| code.wrapping_sub(offset))
    }

    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        let lane = |at: usize| {
            if at.is_multiple_of(2) { self[at / 2 % LANES] } else { other[at / 2 % LANES] }
        };
        [core::array::from_fn(lane), core::array::from_fn(|at| lane(at + LANES))]
    }
}

impl Lanes for Scalar {
    type Codes = [u8; LANES];
    type Factor = f32;

    #[inline(always)]
    fn factor(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn half(bytes: [u8; 2]) -> f32 {
        f16_to_f32(bytes)
    }

    #[inline(always)]
    fn halves(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]) {
        *out = bytes.map(f16_to_f32);
    }

    #[inline(always)]
    fn bfloats(bytes: &[[u8; 2]; LANES], out: &mut [f32; LANES]) {
        *out = bytes.map(bf16_to_f32);
    }

    #[inline(always)]
    fn scaled(codes: Self::Codes, scale: f32, out: &mut [f32; LANES]) {
        for (value, code) in out.iter_mut().zip(codes) {
            *value = scale * f32::from(code.cast_signed());
        }
    }

    #[inline(always)]
    fn factors(codes: Self::Codes, scale: f32) -> Factors {
        Factors(codes.map(|code| scale * f32::from(code.cast_signed())))
    }

    #[inline(always)]
    fn plus(codes: Self::Codes, scale: f32, minimum: f32, out: &mut [f32; LANES]) {
        for (value, code) in out.iter_mut().zip(codes) {
            *value = scale * f32::from(code.cast_signed()) + minimum;
        }
    }

    #[inline(always)]
    fn minus(codes: Self::Codes, scale: f32, minimum: f32, out: &mut [f32; LANES]) {
        for (value, code) in out.iter_mut().zip(codes) {
            *value = scale * f32::from(code.cast_signed()) - minimum;
        }
    }

    #[inline(always)]
    fn looked_up(codes: Self::Codes, values: &[f32; 16], scale: f32, out: &mut [f32; LANES]) {
        for (value, code) in out.iter_mut().zip(codes) {
            *value = values[usize::from(code & 15)] * scale;
        }
    }
}
