//! x · Wᵀ of signed bytes and low-bit blocks in the file's layout: see [`ProductBlocks`].
//!
//! For one token, blocks are unpacked on the fly; for several, once, into a [panel](super::panel)
//! on the stack.

use core::arch::wasm32::*;
use core::marker::PhantomData;

use super::grouped::{self, Dots, Groups, Operands, ROWS};
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{Relaxed, RelaxedPairs, adds_pairs};
use super::panel::{self, Panel};
use super::steps::Steps;
use crate::kernel::blocks::{BLOCK_COLS, BlockLayout, ProductBlocks};

/// The 32 codes of a row's block, unsigned bytes: those of columns 0 to 15, and of 16 to 31.
type Codes = [v128; 2];

/// A layout of blocks.
trait Layout {
    const LAYOUT: BlockLayout;

    /// True if codes have 8 bits.
    const WIDE: bool = false;

    /// The codes of a block.
    ///
    /// # Safety
    ///
    /// There must be a whole block at `block`.
    unsafe fn codes(block: *const u8) -> Codes;

    /// The scales and minima of four rows whose blocks begin with `heads`.
    fn factors(heads: v128) -> (v128, v128);
}

/// The low halves of 16 bytes, and the high ones.
///
/// # Safety
///
/// 16 bytes can be read at `place`.
#[inline(always)]
unsafe fn nibbles(place: *const u8) -> Codes {
    // SAFETY: upheld by the caller.
    let bytes = unsafe { v128_load(place.cast()) };
    let mask = u8x16_splat(15);
    [v128_and(bytes, mask), v128_and(u16x8_shr(bytes, 4), mask)]
}

/// Adds the fifth bits, a little-endian word at `place`.
///
/// # Safety
///
/// 4 bytes can be read there.
#[inline(always)]
unsafe fn with_fifth([low, high]: Codes, place: *const u8) -> Codes {
    // SAFETY: upheld by the caller.
    let word = unsafe { v128_load32_splat(place.cast()) };
    let bits = i64x2_splat(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let sixteens = |bytes: v128| v128_and(i8x16_eq(v128_and(bytes, bits), bits), u8x16_splat(16));
    let first = i8x16_shuffle::<0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1>(word, word);
    let second = i8x16_shuffle::<2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3>(word, word);
    [v128_or(low, sixteens(first)), v128_or(high, sixteens(second))]
}

/// The upper 16 bits of every lane, halves, as floats.
#[inline(always)]
fn halves(lanes: v128) -> v128 {
    // The sign is kept; exponent and mantissa move to their places in an f32, times 2¹¹²: exact,
    // even for subnormal halves.
    let bits = v128_and(i32x4_shr(lanes, 3), u32x4_splat(0x8fff_e000));
    let finite = f32x4_mul(bits, f32x4_splat(f32::from_bits(0x7780_0000)));
    let magnitude = v128_and(bits, u32x4_splat(0x7fff_ffff));
    let beyond = i32x4_gt(magnitude, i32x4_splat(0x7bff << 13));
    v128_or(finite, v128_and(beyond, f32x4_splat(f32::INFINITY)))
}

/// A scale, and the minimum that subtracts an offset.
#[inline(always)]
fn centered(heads: v128, offset: f32) -> (v128, v128) {
    let scales = halves(i32x4_shl(heads, 16));
    (scales, f32x4_mul(scales, f32x4_splat(-offset)))
}

/// A scale and an adjacent minimum.
#[inline(always)]
fn affine(heads: v128) -> (v128, v128) {
    (halves(i32x4_shl(heads, 16)), halves(heads))
}

/// A layout with codes and factors as expressions.
macro_rules! layout {
    ($name:ident, $wide:literal, $block:ident => $codes:expr, $heads:ident => $factors:expr) => {
        struct $name;

        impl Layout for $name {
            const LAYOUT: BlockLayout = BlockLayout::$name;
            const WIDE: bool = $wide;

            #[inline(always)]
            unsafe fn codes($block: *const u8) -> Codes {
                // SAFETY: upheld by the caller; everything read is in the block.
                unsafe { $codes }
            }

            #[inline(always)]
            fn factors($heads: v128) -> (v128, v128) {
                $factors
            }
        }
    };
}

layout!(Q4_0, false, block => nibbles(block.add(2)), heads => centered(heads, 8.0));
layout!(Q4_1, false, block => nibbles(block.add(4)), heads => affine(heads));
layout!(
    Q5_0, false,
    block => with_fifth(nibbles(block.add(6)), block.add(2)),
    heads => centered(heads, 16.0)
);
layout!(
    Q5_1, false,
    block => with_fifth(nibbles(block.add(8)), block.add(4)),
    heads => affine(heads)
);
layout!(
    Q8_0, true,
    block => {
        let signs = u8x16_splat(128);
        [
            v128_xor(v128_load(block.add(2).cast()), signs),
            v128_xor(v128_load(block.add(18).cast()), signs),
        ]
    },
    heads => centered(heads, 128.0)
);

/// Blocks in the file's layout.
struct Stored<L> {
    places: [*const u8; ROWS],
    layout: PhantomData<L>,
}

impl<L: Layout> Groups<2> for Stored<L> {
    #[inline(always)]
    unsafe fn codes(&self, block: usize, row: usize) -> Codes {
        // SAFETY: see the trait.
        unsafe { L::codes(self.places[row].add(block * L::LAYOUT.bytes())) }
    }

    #[inline(always)]
    unsafe fn factors(&self, block: usize) -> (v128, v128) {
        // SAFETY: see the trait; no block is shorter than four bytes.
        unsafe {
            let at = block * L::LAYOUT.bytes();
            let heads = v128_load32_splat(self.places[0].add(at).cast());
            let heads = v128_load32_lane::<1>(heads, self.places[1].add(at).cast());
            let heads = v128_load32_lane::<2>(heads, self.places[2].add(at).cast());
            let heads = v128_load32_lane::<3>(heads, self.places[3].add(at).cast());
            L::factors(heads)
        }
    }
}

/// See [`ProductBlocks`], with the relaxed SIMD instructions that are fast on the CPU.
#[cfg(target_feature = "relaxed-simd")]
pub(super) fn product_relaxed(with: ProductBlocks<'_>) {
    if adds_pairs() { product::<RelaxedPairs>(with) } else { product::<Relaxed>(with) }
}

/// See [`ProductBlocks`].
pub(super) fn product<I: Dots + Steps>(product: ProductBlocks<'_>) {
    match product.layout {
        BlockLayout::Q4_0 => multiply::<I, Q4_0>(product),
        BlockLayout::Q4_1 => multiply::<I, Q4_1>(product),
        BlockLayout::Q5_0 => multiply::<I, Q5_0>(product),
        BlockLayout::Q5_1 => multiply::<I, Q5_1>(product),
        BlockLayout::Q8_0 => multiply::<I, Q8_0>(product),
    }
}

fn multiply<I: Dots + Steps, L: Layout>(product: ProductBlocks<'_>) {
    let ProductBlocks { x, rest, blocks, bias, out, tokens, cols, strides, .. } = product;
    let groups = cols / BLOCK_COLS;
    let row_bytes = groups * L::LAYOUT.bytes();
    let mut operands = Operands { x, rest, bias, out, tokens, groups, strides };
    let mut panel = Panel::new();
    for row in (0..bias.len()).step_by(ROWS) {
        let last = (bias.len() - row).min(ROWS) - 1;
        // SAFETY: `ProductBlocks::new` checked that there are `bias.len()` rows of blocks. Rows
        // beyond the last are the last; it is called only for existing blocks.
        let stored = |first: usize| unsafe {
            let blocks = blocks.as_ptr().add(first * L::LAYOUT.bytes());
            let places = [0, 1, 2, 3].map(|r: usize| blocks.add((row + r.min(last)) * row_bytes));
            Stored::<L> { places, layout: PhantomData }
        };
        // SAFETY: it checked the lengths of all.
        unsafe {
            match (tokens, rest) {
                (1, _) => grouped::product::<I, 2>(&mut operands, &stored(0), row, L::WIDE),
                (_, Some(_)) => {
                    panel::product::<I, _, 2, true>(&mut operands, &mut panel, row, stored);
                }
                (_, None) => {
                    panel::product::<I, _, 2, false>(&mut operands, &mut panel, row, stored);
                }
            }
        }
    }
}
