//! WebAssembly: a table for simd128, and one for relaxed SIMD.
//!
//! A module either has an instruction or does not load, so there is nothing to detect at run time:
//! the target features of the build determine its tables, and the loader chooses between two
//! builds.
//!
//! Browsers compile a function quickly at its first call, and optimise it once it has run for some
//! time; a running call keeps the quick code. Long loops are therefore separate functions, which
//! are called often and optimised soon.

#![allow(unsafe_code)]

mod blocks;
mod dot;
mod grouped;
mod groups;
mod instructions;
mod integer;
mod lanes;
mod multiply_f32;
mod multiply_i16;
#[cfg(target_feature = "relaxed-simd")]
mod narrow;
mod one_token;
mod panel;
mod product_f32;
mod rows;
mod scaled;
mod scan;
#[cfg(target_feature = "relaxed-simd")]
mod square;
mod steps;
mod summary;
mod token_lanes;
mod unpack;
mod vector;

use super::blocks::ProductBlocks;
use super::{Kernels, ProductGroups, groups::BUILT_IN, portable};
#[cfg(target_feature = "relaxed-simd")]
use instructions::Relaxed;
use instructions::{Dot, Instructions, Simd128};
pub(super) use scan::{differing_bits, dot_rows};
use vector::Lanes;

/// The WebAssembly tables of this build, the slowest first.
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

/// `table` with these products, if the build has models that need them.
const fn with_blocks(
    table: Kernels,
    product_blocks: fn(ProductBlocks<'_>),
    product_groups: fn(ProductGroups<'_>),
) -> Kernels {
    let product_groups = if BUILT_IN { product_groups } else { table.product_groups };
    let product_blocks = if cfg!(feature = "blocks-ggml") { Some(product_blocks) } else { None };
    Kernels { product_blocks, product_groups, ..table }
}
