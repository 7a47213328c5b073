//! x · Wᵀ of signed bytes and blocks of few bits as they lie in the file: see [`ProductBlocks`].
//!
//! Four rows at a time: the products of a row's block and the activations are summed up in four lanes, and the lanes of
//! four rows added up to one vector, a lane a row, that the rows' scales are multiplied to. For one token blocks are taken
//! apart as they are met; for several, once, into a panel on the stack.

use core::arch::wasm32::*;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::reduce_i32;
use crate::kernel::blocks::{BLOCK_COLS, BlockLayout, ProductBlocks};

/// Rows of a tile: the lanes of a vector.
const ROWS: usize = 4;

/// Blocks of a panel: 7.5 KiB on the stack.
const PANEL_BLOCKS: usize = 48;

/// The 32 codes of a row's block, unsigned bytes: those of columns 0 to 15, and of 16 to 31.
type Codes = [v128; 2];

/// The instructions that differ between simd128 and relaxed SIMD.
pub(super) trait Dots {
    /// The signed bytes of 32 columns of activations, in the form that [`dot`](Self::dot) wants.
    type Columns: Copy;

    /// # Safety
    ///
    /// 32 bytes can be read at `place`.
    unsafe fn columns(place: *const u8) -> Self::Columns;

    /// The products of codes and columns, summed up in four lanes; `WIDE` if codes may have 8 bits.
    fn dot<const WIDE: bool>(codes: Codes, columns: Self::Columns) -> v128;
}

impl Dots for super::Simd128 {
    type Columns = [v128; 4];

    #[inline(always)]
    unsafe fn columns(place: *const u8) -> [v128; 4] {
        // SAFETY: the caller's.
        unsafe { [0, 8, 16, 24].map(|column| i16x8_load_extend_i8x8(place.add(column).cast())) }
    }

    #[inline(always)]
    fn dot<const WIDE: bool>([low, high]: Codes, [a, b, c, d]: [v128; 4]) -> v128 {
        let ab = i32x4_add(
            i32x4_dot_i16x8(u16x8_extend_low_u8x16(low), a),
            i32x4_dot_i16x8(u16x8_extend_high_u8x16(low), b),
        );
        let cd = i32x4_add(
            i32x4_dot_i16x8(u16x8_extend_low_u8x16(high), c),
            i32x4_dot_i16x8(u16x8_extend_high_u8x16(high), d),
        );
        i32x4_add(ab, cd)
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dots for super::Relaxed {
    type Columns = Codes;

    #[inline(always)]
    unsafe fn columns(place: *const u8) -> Codes {
        // SAFETY: the caller's.
        unsafe { [v128_load(place.cast()), v128_load(place.add(16).cast())] }
    }

    #[inline(always)]
    fn dot<const WIDE: bool>(codes: Codes, columns: Codes) -> v128 {
        // Defined exactly while the second operand is below 128: two products of 7 and 8 bits fit 16.
        let add = |codes: Codes| {
            let sum = i32x4_relaxed_dot_i8x16_i7x16_add(columns[0], codes[0], i32x4_splat(0));
            i32x4_relaxed_dot_i8x16_i7x16_add(columns[1], codes[1], sum)
        };
        if !WIDE {
            return add(codes);
        }
        let low = add(codes.map(|codes| v128_and(codes, u8x16_splat(0x7f))));
        let high = add(codes.map(|codes| u8x16_shr(codes, 7)));
        i32x4_add(low, i32x4_shl(high, 7))
    }
}

/// A layout of blocks.
trait Layout {
    const LAYOUT: BlockLayout;

    /// Whether codes have 8 bits.
    const WIDE: bool = false;

    /// The codes of a block.
    ///
    /// # Safety
    ///
    /// There is a whole block at `block`.
    unsafe fn codes(block: *const u8) -> Codes;

    /// The scales and minima of four rows, whose blocks begin with `heads`.
    fn factors(heads: v128) -> (v128, v128);
}

/// The low halves of 16 bytes, and the high ones.
///
/// # Safety
///
/// 16 bytes can be read at `place`.
#[inline(always)]
unsafe fn nibbles(place: *const u8) -> Codes {
    // SAFETY: the caller's.
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
    // SAFETY: the caller's.
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
    // The sign stays, exponent and mantissa go to the places of f32, times 2¹¹²: exact, subnormal halves too.
    let bits = v128_and(i32x4_shr(lanes, 3), u32x4_splat(0x8fff_e000));
    let finite = f32x4_mul(bits, f32x4_splat(f32::from_bits(0x7780_0000)));
    let magnitude = v128_and(bits, u32x4_splat(0x7fff_ffff));
    let beyond = i32x4_gt(magnitude, i32x4_splat(0x7bff << 13));
    v128_or(finite, v128_and(beyond, f32x4_splat(f32::INFINITY)))
}

/// A scale, and the minimum that takes an offset off.
#[inline(always)]
fn centered(heads: v128, offset: f32) -> (v128, v128) {
    let scales = halves(i32x4_shl(heads, 16));
    (scales, f32x4_mul(scales, f32x4_splat(-offset)))
}

/// A scale and a minimum beside each other.
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
                // SAFETY: the caller's; all that is read lies in the block.
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

/// Blocks of four rows, beside each other.
///
/// # Safety
///
/// Methods are called for blocks that there are.
trait Blocks {
    unsafe fn codes(&self, block: usize, row: usize) -> Codes;
    unsafe fn factors(&self, block: usize) -> (v128, v128);
}

/// As they lie in the file.
struct Stored<L> {
    places: [*const u8; ROWS],
    layout: PhantomData<L>,
}

impl<L: Layout> Blocks for Stored<L> {
    #[inline(always)]
    unsafe fn codes(&self, block: usize, row: usize) -> Codes {
        // SAFETY: the trait's.
        unsafe { L::codes(self.places[row].add(block * L::LAYOUT.bytes())) }
    }

    #[inline(always)]
    unsafe fn factors(&self, block: usize) -> (v128, v128) {
        // SAFETY: the trait's; no block is shorter than four bytes.
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

/// Codes of four rows, their scales and their minima.
type Unpacked = ([Codes; ROWS], v128, v128);

/// Blocks that have been taken apart.
struct Panel([MaybeUninit<Unpacked>; PANEL_BLOCKS]);

impl Panel {
    const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; PANEL_BLOCKS])
    }

    /// Takes `count` blocks apart.
    ///
    /// # Safety
    ///
    /// There are as many, and no more than [`PANEL_BLOCKS`].
    #[inline(always)]
    unsafe fn fill(&mut self, blocks: &impl Blocks, count: usize) {
        for (block, place) in self.0.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's.
            unsafe {
                let (scales, minima) = blocks.factors(block);
                let mut codes = [[scales; 2]; ROWS];
                unroll_4!(ROWS, row => {
                    codes[row] = blocks.codes(block, row);
                });
                place.write((codes, scales, minima));
            }
        }
    }
}

impl Blocks for Panel {
    #[inline(always)]
    unsafe fn codes(&self, block: usize, row: usize) -> Codes {
        // SAFETY: the trait's: the block was filled.
        unsafe { self.0.get_unchecked(block).assume_init_ref().0[row] }
    }

    #[inline(always)]
    unsafe fn factors(&self, block: usize) -> (v128, v128) {
        // SAFETY: as above.
        let (_, scales, minima) = unsafe { self.0.get_unchecked(block).assume_init_ref() };
        (*scales, *minima)
    }
}

/// See [`ProductBlocks`].
pub(super) fn product<I: Dots>(product: ProductBlocks<'_>) {
    match product.layout {
        BlockLayout::Q4_0 => multiply::<I, Q4_0>(product),
        BlockLayout::Q4_1 => multiply::<I, Q4_1>(product),
        BlockLayout::Q5_0 => multiply::<I, Q5_0>(product),
        BlockLayout::Q5_1 => multiply::<I, Q5_1>(product),
        BlockLayout::Q8_0 => multiply::<I, Q8_0>(product),
    }
}

fn multiply<I: Dots, L: Layout>(mut product: ProductBlocks<'_>) {
    let groups = product.cols / BLOCK_COLS;
    let row_bytes = groups * L::LAYOUT.bytes();
    let mut panel = Panel::new();
    let mut row = 0;
    while row < product.bias.len() {
        let last = (product.bias.len() - row).min(ROWS) - 1;
        // SAFETY: `ProductBlocks::new` checked that there are as many rows of blocks as the bias is long. Rows beyond
        // the last are the last.
        let places = [0, 1, 2, 3].map(|r: usize| unsafe {
            product.blocks.as_ptr().add((row + r.min(last)) * row_bytes)
        });
        if product.tokens == 1 {
            let stored = Stored::<L> { places, layout: PhantomData };
            let part = Part { row, block: 0, blocks: groups };
            tile::<I, _, L>(&mut product, &stored, part, 0);
        } else {
            let mut block = 0;
            while block < groups {
                let blocks = (groups - block).min(PANEL_BLOCKS);
                // SAFETY: the rows have as many blocks; no more than the panel are taken.
                unsafe {
                    let places = places.map(|place| place.add(block * L::LAYOUT.bytes()));
                    panel.fill(&Stored::<L> { places, layout: PhantomData }, blocks);
                }
                for token in 0..product.tokens {
                    tile::<I, _, L>(&mut product, &panel, Part { row, block, blocks }, token);
                }
                block += blocks;
            }
        }
        row += ROWS;
    }
}

/// Some blocks of four rows.
#[derive(Clone, Copy)]
struct Part {
    row: usize,
    /// The first block.
    block: usize,
    blocks: usize,
}

/// One token and a part of four rows, which `blocks` has: begins with the bias, or goes on with the output.
#[inline(always)]
fn tile<I: Dots, B: Blocks, L: Layout>(
    product: &mut ProductBlocks<'_>,
    blocks: &B,
    part: Part,
    token: usize,
) {
    // SAFETY: the token and the part lie inside the product.
    unsafe {
        match (product.rest.is_some(), L::WIDE) {
            (true, true) => lanes::<I, B, true, true>(product, blocks, part, token),
            (true, false) => lanes::<I, B, true, false>(product, blocks, part, token),
            (false, true) => lanes::<I, B, false, true>(product, blocks, part, token),
            (false, false) => lanes::<I, B, false, false>(product, blocks, part, token),
        }
    }
}

/// # Safety
///
/// The token and the part lie inside the product, which has a rest if `REST` says so; `blocks` has those of the part.
unsafe fn lanes<I: Dots, B: Blocks, const REST: bool, const WIDE: bool>(
    product: &mut ProductBlocks<'_>,
    blocks: &B,
    part: Part,
    token: usize,
) {
    let ProductBlocks { x, rest, cols, strides, .. } = *product;
    let rows = (product.bias.len() - part.row).min(ROWS);
    let first = token * (cols / BLOCK_COLS) + part.block;
    // SAFETY: `ProductBlocks::new` checked that codes, scales and sums of x and of its rest are as long as tokens and
    // columns say, and that the last element of the output lies inside it.
    unsafe {
        let out = product.out.as_mut_ptr().add(token * strides.token + part.row * strides.row);
        let mut numbers = [0.0_f32; ROWS];
        for (r, number) in numbers.iter_mut().enumerate().take(rows) {
            *number = match part.block {
                0 => *product.bias.as_ptr().add(part.row + r),
                _ => *out.add(r * strides.row),
            };
        }
        let mut total = v128_load(numbers.as_ptr().cast());
        let codes = x.codes.as_ptr().add(first * BLOCK_COLS);
        let (scales, sums) = (x.scales.as_ptr().add(first), x.sums.as_ptr().add(first));
        let rest = match rest {
            Some(rest) => {
                (rest.codes.as_ptr().add(first * BLOCK_COLS), rest.scales.as_ptr().add(first))
            }
            None => (codes, scales),
        };
        for block in 0..part.blocks {
            let columns = I::columns(codes.add(block * BLOCK_COLS));
            let rest_columns = I::columns(rest.0.add(block * BLOCK_COLS));
            let mut dots = [i32x4_splat(0); ROWS];
            let mut rest_dots = dots;
            unroll_4!(ROWS, row => {
                let codes = blocks.codes(block, row);
                dots[row] = I::dot::<WIDE>(codes, columns);
                if REST {
                    rest_dots[row] = I::dot::<WIDE>(codes, rest_columns);
                }
            });
            let scaled = |dots, scale: *const f32| {
                f32x4_mul(v128_load32_splat(scale.cast()), f32x4_convert_i32x4(reduce_i32(dots)))
            };
            let mut sum = scaled(dots, scales.add(block));
            if REST {
                sum = f32x4_add(sum, scaled(rest_dots, rest.1.add(block)));
            }
            let (scale, minimum) = blocks.factors(block);
            total = f32x4_add(total, f32x4_mul(scale, sum));
            total = f32x4_add(total, f32x4_mul(minimum, v128_load32_splat(sums.add(block).cast())));
        }
        v128_store(numbers.as_mut_ptr().cast(), total);
        for (r, &number) in numbers.iter().enumerate().take(rows) {
            *out.add(r * strides.row) = number;
        }
    }
}
