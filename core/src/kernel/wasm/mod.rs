//! WebAssembly: a table for simd128, and one for relaxed SIMD.
//!
//! A module either has an instruction or does not load, so there is nothing to detect at run time:
//! which tables there are is decided by the target features of the build. Whoever loads modules
//! chooses between two builds.
//!
//! Browsers compile a function in haste when it is first called, and thoroughly once it has taken
//! some time; what runs then goes on in haste until it is called anew. So what takes long is a
//! function of its own: called often, and soon compiled.

#![allow(unsafe_code)]

mod blocks;
mod grouped;
mod groups;
mod integer;
mod multiply_f32;
mod multiply_i16;
#[cfg(target_feature = "relaxed-simd")]
mod narrow;
mod one_token;
mod panel;
mod product_f32;
mod scaled;
#[cfg(target_feature = "relaxed-simd")]
mod square;
mod steps;
mod summary;
mod token_lanes;
mod unpack;
mod vector;

use core::arch::wasm32::*;

use super::blocks::ProductBlocks;
#[cfg(doc)]
use super::integer::RowSummary;
use super::{Kernels, ProductGroups, groups::BUILT_IN, portable};
use integer::{Narrow, StepCodes};
#[cfg(target_feature = "relaxed-simd")]
pub(super) use narrow::Row as NarrowRow;
use vector::Lanes;

/// Numbers of 32 bits of a vector.
const LANES: usize = 4;

/// The tables of this folder, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Kernels> {
    #[cfg(target_feature = "relaxed-simd")]
    let tables = [table::<Simd128>("simd128"), FASTEST];
    #[cfg(not(target_feature = "relaxed-simd"))]
    let tables = [FASTEST];
    tables.into_iter()
}

/// The fastest table that this build can run.
#[cfg(target_feature = "relaxed-simd")]
pub(super) const FASTEST: Kernels = with_blocks(
    Kernels { product_i8: integer::product_relaxed, ..table::<Relaxed>("relaxed-simd") },
    blocks::product_relaxed,
    groups::product_relaxed,
);
/// The fastest table that this build can run.
#[cfg(not(target_feature = "relaxed-simd"))]
pub(super) const FASTEST: Kernels = table::<Simd128>("simd128");

const fn table<I: Instructions + Dot + grouped::Dots + steps::Steps>(
    name: &'static str,
) -> Kernels {
    let table = Kernels {
        product_f32: product_f32::product::<I>,
        multiply_f32: multiply_f32::multiply::<I>,
        product_i8: integer::product::<I>,
        summarize_row: Some(summary::summarize_row),
        multiply_i16: multiply_i16::multiply,
        unpack_codes: if cfg!(feature = "scaled-codes") { unpack::unpack } else { |_, _, _| {} },
        ..portable::table::<Lanes>(name)
    };
    with_blocks(table, blocks::product::<I>, groups::product::<I>)
}

/// `table` with these products, if there are models that need them.
const fn with_blocks(
    table: Kernels,
    product_blocks: fn(ProductBlocks<'_>),
    product_groups: fn(ProductGroups<'_>),
) -> Kernels {
    let product_groups = if BUILT_IN { product_groups } else { table.product_groups };
    let product_blocks = if cfg!(feature = "blocks-ggml") { Some(product_blocks) } else { None };
    Kernels { product_blocks, product_groups, ..table }
}

/// The instructions for f32, which differ between simd128 and relaxed SIMD.
trait Instructions {
    /// `a · b + c` in f32.
    fn multiply_add(a: v128, b: v128, c: v128) -> v128;
}

/// The same for products of bytes.
trait Dot: Copy {
    /// How many tokens a tile has, at most 8.
    const TILE_TOKENS: usize;

    /// How many rows a tile has, 1 or 2.
    const TILE_ROWS: usize;

    /// How many 8-bit codes a step takes, at most 32.
    const CODES: usize;

    /// As many codes, in the form that [`dot`](Self::dot) wants.
    type Codes: StepCodes;

    /// How rows are multiplied whose weights are [small](RowSummary::is_small).
    type Small: Dot<Codes = Self::Codes>;

    /// How rows are multiplied whose sums are known to fit 16 bits.
    type Narrow: Narrow;

    /// # Safety
    ///
    /// [`CODES`](Self::CODES) bytes can be read at `place`.
    unsafe fn codes(place: *const u8) -> Self::Codes;

    /// With what [`dot`](Self::dot) needs beside its operands.
    fn new() -> Self;

    /// Adds the products of activation codes (0 … 127) and weights, some of them each, to four
    /// 32-bit sums.
    fn dot(self, sum: v128, codes: Self::Codes, weights: Self::Codes) -> v128;
}

/// The instructions of simd128.
#[derive(Clone, Copy)]
struct Simd128;

impl Instructions for Simd128 {
    #[inline(always)]
    fn multiply_add(a: v128, b: v128, c: v128) -> v128 {
        f32x4_add(f32x4_mul(a, b), c)
    }
}

impl Dot for Simd128 {
    const TILE_TOKENS: usize = 4;
    const TILE_ROWS: usize = 2;
    const CODES: usize = 8;

    type Codes = v128;
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> v128 {
        // SAFETY: the caller's. Codes below 128 are the same with a sign.
        unsafe { i16x8_load_extend_i8x8(place.cast()) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: v128, weights: v128) -> v128 {
        i32x4_add(sum, i32x4_dot_i16x8(codes, weights))
    }
}

/// The instructions of relaxed SIMD.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
struct Relaxed;

#[cfg(target_feature = "relaxed-simd")]
impl Instructions for Relaxed {
    #[inline(always)]
    fn multiply_add(a: v128, b: v128, c: v128) -> v128 {
        f32x4_relaxed_madd(a, b, c)
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for Relaxed {
    const TILE_TOKENS: usize = 6;
    const TILE_ROWS: usize = 2;
    const CODES: usize = 16;

    type Codes = v128;
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> v128 {
        // SAFETY: the caller's.
        unsafe { v128_load(place.cast()) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: v128, weights: v128) -> v128 {
        // Defined exactly while the second operand is below 128: nothing saturates in between, see
        // `kernel::integer`.
        i32x4_relaxed_dot_i8x16_i7x16_add(weights, codes, sum)
    }
}

/// Relaxed SIMD where the CPU has no instruction for a whole dot product of bytes. V8 makes five of
/// it then, and two of these are for a vector of ones, which here stays in a register.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
struct RelaxedPairs {
    ones: v128,
}

/// What pairs are multiplied with to add them up.
#[cfg(target_feature = "relaxed-simd")]
static ONES: v128 = i16x8(1, 1, 1, 1, 1, 1, 1, 1);

#[cfg(target_feature = "relaxed-simd")]
impl RelaxedPairs {
    /// The products of 16 codes and weights, two neighbours each.
    #[inline(always)]
    fn pairs(codes: v128, weights: v128) -> v128 {
        i16x8_relaxed_dot_i8x16_i7x16(weights, codes)
    }

    /// Adds pairs to four 32-bit sums.
    #[inline(always)]
    fn add(self, sum: v128, pairs: v128) -> v128 {
        i32x4_add(sum, i32x4_dot_i16x8(pairs, self.ones))
    }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for RelaxedPairs {
    /// 8 sums, two parts of a row and of a token, and the ones: 13 registers.
    const TILE_TOKENS: usize = 8;
    const TILE_ROWS: usize = 1;
    const CODES: usize = 32;

    type Codes = [v128; 2];
    type Small = SmallPairs;
    type Narrow = narrow::Band;

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> [v128; 2] {
        // SAFETY: the caller's.
        unsafe { [Relaxed::codes(place), Relaxed::codes(place.add(16))] }
    }

    #[inline(always)]
    fn new() -> Self {
        Self { ones: kept(&ONES) }
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: [v128; 2], weights: [v128; 2]) -> v128 {
        let sum = self.add(sum, Self::pairs(codes[0], weights[0]));
        self.add(sum, Self::pairs(codes[1], weights[1]))
    }
}

/// [`RelaxedPairs`] of weights so small that pairs of 32 columns are added up in 16 bits: five
/// instructions instead of six, and three of them multiplications instead of four, which is what
/// the units for those wait for.
#[cfg(target_feature = "relaxed-simd")]
#[derive(Clone, Copy)]
struct SmallPairs(RelaxedPairs);

#[cfg(target_feature = "relaxed-simd")]
impl Dot for SmallPairs {
    const TILE_TOKENS: usize = RelaxedPairs::TILE_TOKENS;
    const TILE_ROWS: usize = RelaxedPairs::TILE_ROWS;
    const CODES: usize = RelaxedPairs::CODES;

    type Codes = [v128; 2];
    type Small = Self;
    type Narrow = ();

    #[inline(always)]
    unsafe fn codes(place: *const u8) -> [v128; 2] {
        // SAFETY: the caller's.
        unsafe { RelaxedPairs::codes(place) }
    }

    #[inline(always)]
    fn new() -> Self {
        Self(RelaxedPairs::new())
    }

    #[inline(always)]
    fn dot(self, sum: v128, codes: [v128; 2], weights: [v128; 2]) -> v128 {
        let [a, b] = [0, 1].map(|at| RelaxedPairs::pairs(codes[at], weights[at]));
        self.0.add(sum, i16x8_add(a, b))
    }
}

/// Whether the CPU multiplies and adds bytes by pairs and saturates their sums, as x86-64 does
/// without VNNI. Nothing tells a module what it runs on, but with bytes that [`Dot`] never has,
/// what relaxed SIMD leaves open shows it.
#[cfg(target_feature = "relaxed-simd")]
#[inline(always)]
fn adds_pairs() -> bool {
    const SATURATED: i32 = 2 * i16::MAX as i32;
    let dot = i32x4_relaxed_dot_i8x16_i7x16_add(i8x16_splat(127), i8x16_splat(-1), i32x4_splat(0));
    i32x4_extract_lane::<0>(dot) == SATURATED
}

/// A constant, as if it might change: it stays in a register. What compilers know to be constant
/// they work into other steps, and V8 makes it anew wherever it is used.
#[inline(always)]
fn kept<T: Copy>(constant: &'static T) -> T {
    // SAFETY: it is there always, and never written.
    unsafe { core::ptr::read_volatile(constant) }
}

/// From 4 × 4 numbers of 32 bits, one row a vector, to one column a vector.
#[inline(always)]
fn transpose([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let ab = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
    let cd = (i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        i64x2_shuffle::<0, 2>(ab.0, cd.0),
        i64x2_shuffle::<1, 3>(ab.0, cd.0),
        i64x2_shuffle::<0, 2>(ab.1, cd.1),
        i64x2_shuffle::<1, 3>(ab.1, cd.1),
    ]
}

/// The sums of the lanes of four vectors of i32.
#[inline(always)]
fn reduce_i32([a, b, c, d]: [v128; 4]) -> v128 {
    let ab = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
    let cd = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    i32x4_add(i64x2_shuffle::<0, 2>(ab, cd), i64x2_shuffle::<1, 3>(ab, cd))
}

/// `count` (at most 16) bytes, then zeros.
///
/// # Safety
///
/// `count` bytes can be read at `place`.
#[inline(always)]
unsafe fn load_part(place: *const u8, count: usize) -> v128 {
    let mut bytes = [0_u8; 16];
    // SAFETY: the caller's; no more than 16 are copied.
    unsafe {
        core::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), count.min(16));
        v128_load(bytes.as_ptr().cast())
    }
}

/// The first `count` (at most 16) bytes of `vector` to `place`.
///
/// # Safety
///
/// `count` bytes can be written at `place`.
#[inline(always)]
unsafe fn store_part(place: *mut u8, vector: v128, count: usize) {
    let mut bytes = [0_u8; 16];
    // SAFETY: the caller's; no more than 16 are copied.
    unsafe {
        v128_store(bytes.as_mut_ptr().cast(), vector);
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, count.min(16));
    }
}
