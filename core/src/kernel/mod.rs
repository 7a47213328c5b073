//! Kernels: whole-row and whole-tile operations, in a table of functions chosen once and passed by
//! reference.
//!
//! [`detect`] picks the fastest table that this CPU can run; [`available`] lists all of them. The
//! portable table is the reference that every other one is tested against. A table is plain data
//! without state: two models in one program may use different ones.
//!
//! [`Dequantizer`] is separate: it converts whole tensors to f32. So are [`scan`], which compares
//! one query with many rows, and [`max_sim`], which compares several by products of a table.
//!
//! Operands are checked by their constructors ([`Product::new`], …), so no kernel can fail or
//! panic.
//!
//! | operation | formula |
//! |---|---|
//! | [`Kernels::product_f32`] | x · Wᵀ + bias, weights row-major `[out, in]` in the file's layout |
//! | [`Kernels::multiply_f32`] | A · B, both row-major, for attention |
//! | [`Kernels::softmax`], [`Kernels::gelu`], [`Kernels::add_layer_norm`] | row by row, bit-identical on every table |

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "sizes are checked where operands are made"
)]

/// Repeats a block for `$index` = 0 … `$count` − 1, `$count` a constant of at most 12.
///
/// The compiler does not unroll loops of that many steps over arrays of vectors, and keeps the
/// vectors in memory.
#[allow(unused_macros)] // not every target has tiles of its own
macro_rules! unroll {
    ($count:expr, $index:ident => $body:block) => {
        unroll!($count, $index => $body, 0 1 2 3 4 5 6 7 8 9 10 11);
    };
    ($count:expr, $index:ident => $body:block, $($step:literal)+) => {$(
        if $step < $count {
            let $index: usize = $step;
            $body
        }
    )+};
}

/// As [`unroll`], for at most 4.
#[allow(unused_macros)] // not every target has tiles of its own
macro_rules! unroll_4 {
    ($count:expr, $index:ident => $body:block) => {
        unroll!($count, $index => $body, 0 1 2 3);
    };
}

#[cfg(all(target_arch = "arm", feature = "arm-dsp"))]
mod arm_dsp;
pub(crate) mod blocks;
pub(crate) mod dequantize;
pub(crate) mod finite;
pub(crate) mod fixed;
pub(crate) mod groups;
pub(crate) mod integer;
pub mod max_sim;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(crate) mod pieces;
mod portable;
mod prefetch;
mod product;
mod quantize;
pub(crate) mod root;
mod rows;
pub mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
// Miri runs the portable table: it supports neither CPU detection nor inline assembly.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

pub use blocks::ProductBlocks;
pub use dequantize::Dequantizer;
pub use groups::ProductGroups;
pub use integer::{MultiplyI16, ProductI8};
pub use prefetch::prefetch;
pub use product::{FloatOperand, Multiply, Product, Strides, Table};
pub use summary::RowSummary;

/// Operands that only this project's benchmarks construct; they may change in any version.
#[cfg(feature = "unstable")]
pub mod unstable {
    pub use super::groups::{GroupedCodes, GroupedRows, TILE_ROWS};
    pub use super::integer::{ActivationCodes, ProductBase, WeightRows};
}
use vector::Portable;

use crate::quant::amb_unpack::UnpackCodes;

/// x · Wᵀ + bias of f32, see [`Product`].
pub type ProductF32 = fn(Product<'_>);

/// Layer norm of every row of `x + y` in place: `(x, y, weight, bias, epsilon)`. Rows are as long
/// as `weight` and `bias`; `y` is as long as `x`, or empty and adds nothing.
pub type AddLayerNorm = fn(&mut [f32], &[f32], &[f32], &[f32], f32);

/// Adds little-endian f32s: `(sum, bytes)`.
pub type AddF32 = fn(&mut [f32], &[u8]);

/// `(x, columns, codes)` to the scale and the code of 0: `x[c] · columns[c] ≈ (codes[c] − zero) ·
/// scale`, codes 0 … 127. `columns` is as long as `x`, or empty for factors of 1; `codes` is as
/// long as `x`. The error is at most one scale, which is the range of the row (0 included) divided
/// by 127.
pub type Quantize = fn(&[f32], &[f32], &mut [u8]) -> (f32, u8);

/// `(x, size, limit, codes, scales)`: quantises the first `size` elements of rows to little-endian
/// 16-bit codes −`limit` … `limit`; a row of odd size is completed by a code of 0. There is a scale
/// for each row, and two bytes of `codes` for each element, completing ones included. The error is
/// at most half a scale, which is the row's largest magnitude divided by `limit`.
pub type QuantizeRows = fn(Table<'_>, usize, f32, &mut [u8], &mut [f32]);

/// `(x, limit, (codes, line), scales, scratch)`: quantises the first `scales.len()` columns of all
/// rows to 16-bit codes −`limit` … `limit`, one scale per column. Two rows at a time become a line
/// of pairs of codes, four bytes each, with `line` pairs from one line to the next; a last single
/// row is paired with codes of 0. Scratch is as long as the scales. The error is at most half a
/// scale.
pub type QuantizeColumns = fn(Table<'_>, f32, (&mut [u8], usize), &mut [f32], &mut [f32]);

/// `(x, group, limit, codes, scales, sums)`: quantises groups of `group` elements to signed bytes
/// −`limit` … `limit`, at most 127, one per element; for each group writes its scale and the sum of
/// its dequantised values, `scale · Σ code`. The error is at most half a scale, which is the
/// group's largest magnitude divided by `limit`.
pub type QuantizeGroups = fn(&[f32], usize, f32, &mut [u8], &mut [f32], &mut [f32]);

/// `(codes, signs, group, factors, out)`: `out[i] = scale · number + minimum`, where [`Signs`] maps
/// `codes[i]` to the number and `factors[i / group]` is `(scale, minimum)`; `out` is as long as
/// `codes`.
pub type DequantizeGroups = fn(&[u8], Signs, usize, &[(f32, f32)], &mut [f32]);

/// The conversion of bytes to numbers: `byte XOR flip − offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// Bits flipped first: 128 turns signed bytes into unsigned ones that are larger by 128.
    pub flip: u8,
    /// Subtracted afterwards.
    pub offset: u8,
}

impl Signs {
    /// Signed bytes.
    pub const SIGNED: Self = Self { flip: 128, offset: 128 };
}

/// A table of the operations of which a model consists. Slices with other lengths than an operation
/// requires give meaningless numbers or leave some unchanged: never a panic, never an access
/// outside them.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// The name in machine-readable output.
    pub name: &'static str,
    /// x · Wᵀ + bias, see [`Product`]. Results do not depend on the batch size, except that
    /// WebAssembly has a separate path for a single token.
    pub product_f32: ProductF32,
    /// A · B, see [`Multiply`].
    pub multiply_f32: fn(Multiply<'_>),
    /// x · Wᵀ of 7-bit activations and 8-bit weights, bit-identical on every table, see
    /// [`ProductI8`].
    pub product_i8: fn(ProductI8<'_>),
    /// Summarises a row of codes for [`product_i8`](Self::product_i8), so that this is done once
    /// and not for every product; `None` if the table needs no summaries, as only tables with
    /// vectors do.
    pub summarize_row: Option<fn(codes: &[u8]) -> RowSummary>,
    /// x · Wᵀ of signed bytes and unpacked low-bit blocks, bit-identical on every table, see
    /// [`ProductGroups`].
    pub product_groups: fn(ProductGroups<'_>),
    /// x · Wᵀ of signed bytes and blocks in the file's layout, bit-identical to
    /// [`product_groups`](Self::product_groups) of the unpacked blocks; `None` if the table has
    /// only that.
    pub product_blocks: Option<fn(ProductBlocks<'_>)>,
    /// Quantises groups of 16 or 32 elements to signed bytes, for
    /// `GroupedCodes`.
    pub quantize_groups: QuantizeGroups,
    /// Unpacks low-bit codes to bytes, before they are multiplied in groups.
    pub unpack_codes: UnpackCodes,
    /// Converts codes to f32, `scale · code + minimum` with a scale and a minimum for each `group`
    /// elements; bit-identical on every table. A minimum of −0 adds nothing, even to zeros of
    /// either sign.
    pub dequantize_groups: DequantizeGroups,
    /// A · B of 16-bit integers, bit-identical on every table, see [`MultiplyI16`].
    pub multiply_i16: fn(MultiplyI16<'_>),
    /// Quantises one row, times `columns` unless that is empty, to codes 0 … 127; returns the scale
    /// and the code of 0.
    pub quantize: Quantize,
    /// Quantises the first `size` elements of rows to 16-bit codes up to `limit`, for `a` of
    /// [`MultiplyI16`].
    pub quantize_rows: QuantizeRows,
    /// Quantises columns to 16-bit codes up to `limit`, for `b` of [`MultiplyI16`].
    pub quantize_columns: QuantizeColumns,
    /// Softmax of `scale · x` as 16-bit codes, 32,767 for 1; the rest of the codes become 0.
    pub softmax_i16: fn(x: &mut [f32], scale: f32, codes: &mut [u8]),
    /// Softmax of `scale · x` in place, `scale` ≥ 0.
    pub softmax: fn(x: &mut [f32], scale: f32),
    /// erf-GELU of a row in place; the last bit of an element may depend on its neighbours.
    pub gelu: fn(x: &mut [f32]),
    /// `gate · sigmoid(gate) · up` in place of `gate`, both of one length.
    pub swiglu: fn(gate: &mut [f32], up: &[f32]),
    /// Adds unaligned little-endian numbers, bit-identical to the portable code, see [`AddF32`];
    /// `None` if the table has nothing faster.
    pub add_f32: Option<AddF32>,
    /// Layer norm of every row of `x + y` in place, see [`AddLayerNorm`].
    pub add_layer_norm: AddLayerNorm,
}

impl Kernels {
    /// The portable table, which runs everywhere.
    #[must_use]
    // As for `detect`.
    #[cfg_attr(feature = "pipeline", inline(never))]
    pub const fn portable() -> Self {
        portable::TABLE
    }

    /// This table with the portable product of floats, whose results are the same on every machine.
    pub(crate) const fn with_portable_floats(&self) -> Self {
        Self { product_f32: portable::product_f32, ..*self }
    }
}

/// The fastest table for this CPU.
#[must_use]
// Inlined, every calling crate would get its own copies of kernels. With models of all families,
// that is more than the linker can then drop.
#[cfg_attr(feature = "pipeline", inline(never))]
pub fn detect() -> Kernels {
    // A WebAssembly module that loads has all instructions it was built with, so there is nothing
    // to detect: naming one table lets the linker drop the others, and the functions of this one
    // that the caller does not use.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    let fastest = wasm::FASTEST;
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    let fastest = available().last().unwrap_or(portable::TABLE);
    fastest
}

/// Every table that this CPU can run, the slowest first.
pub fn available() -> impl Iterator<Item = Kernels> {
    let portable = core::iter::once(portable::TABLE);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let tables = portable.chain(x86::available());
    #[cfg(all(target_arch = "arm", feature = "arm-dsp"))]
    let tables = portable.chain([arm_dsp::TABLE]);
    #[cfg(target_arch = "aarch64")]
    let tables = portable.chain(neon::available());
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    let tables = portable.chain(wasm::available());
    #[cfg(not(any(
        all(target_arch = "x86_64", not(miri)),
        target_arch = "aarch64",
        all(target_arch = "arm", feature = "arm-dsp"),
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    let tables = portable;
    tables
}

impl Dequantizer {
    /// The fastest implementation for this CPU. Features are detected once; later calls cost next
    /// to nothing.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().last().unwrap_or(Self::portable())
    }

    /// Every implementation that this CPU can run, the slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let portable = core::iter::once(Self::portable());
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let ways = portable.chain(x86::dequantizers());
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let ways = portable;
        ways
    }
}

/// Scales `x` to length 1; a vector of zeros stays unchanged.
pub(crate) fn normalize(x: &mut [f32]) {
    let length = root::sqrt_f32(rows::sum_of_squares::<Portable>(x));
    if length > 0.0 {
        rows::scale::<Portable>(x, 1.0 / length);
    }
}

/// `x[i] += y[i]`, both of one length; an empty `y` adds nothing.
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    rows::add::<Portable>(x, y);
}

/// Adds the little-endian f32s in `bytes` to `sum`.
pub(crate) fn add_f32(kernels: &Kernels, sum: &mut [f32], bytes: &[u8]) {
    kernels.add_f32.unwrap_or(rows::add_f32::<Portable>)(sum, bytes);
}

/// `x[i] *= factor`.
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    rows::scale::<Portable>(x, factor);
}
