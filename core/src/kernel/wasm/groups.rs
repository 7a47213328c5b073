//! x · Wᵀ of signed bytes and weights in groups, unpacked: see [`ProductGroups`].

use core::arch::wasm32::*;

use super::grouped::{Groups, Operands, ROWS};
#[cfg(target_feature = "relaxed-simd")]
use super::instructions::{Relaxed, RelaxedPairs, adds_pairs};
use super::panel::{self, Panel};
use super::steps::Steps;
use crate::kernel::ProductGroups;
use crate::kernel::groups::{GroupedRows, TILE_ROWS};

/// Four rows of unpacked groups.
struct Rows {
    /// The start of each row's codes.
    codes: [*const u8; ROWS],
    /// The first group's scales and minima, of [`TILE_ROWS`] rows in each group.
    factors: (*const f32, *const f32),
}

impl<const N: usize> Groups<N> for Rows {
    #[inline(always)]
    unsafe fn codes(&self, group: usize, row: usize) -> [v128; N] {
        // SAFETY: see the trait: the row has that many groups.
        let codes = unsafe { self.codes[row].add(group * 16 * N) };
        // SAFETY: as above.
        core::array::from_fn(|sixteen| unsafe { v128_load(codes.add(sixteen * 16).cast()) })
    }

    #[inline(always)]
    unsafe fn factors(&self, group: usize) -> (v128, v128) {
        let (scales, minima) = self.factors;
        // SAFETY: see the trait; four rows of sixteen.
        unsafe {
            let at = group * TILE_ROWS;
            (v128_load(scales.add(at).cast()), v128_load(minima.add(at).cast()))
        }
    }
}

/// See [`ProductGroups`], with the relaxed SIMD instructions that are fast on the CPU.
#[cfg(target_feature = "relaxed-simd")]
pub(super) fn product_relaxed(with: ProductGroups<'_>) {
    if adds_pairs() { product::<RelaxedPairs>(with) } else { product::<Relaxed>(with) }
}

/// See [`ProductGroups`].
pub(super) fn product<S: Steps>(product: ProductGroups<'_>) {
    match product.group {
        // Only ggml's blocks have such small groups.
        16 if cfg!(feature = "blocks-ggml") => multiply::<S, 1>(product),
        _ => multiply::<S, 2>(product),
    }
}

/// Groups of `N` · 16 columns.
fn multiply<S: Steps, const N: usize>(product: ProductGroups<'_>) {
    let ProductGroups { x, w, bias, out, tokens, cols, strides, .. } = product;
    let groups = cols / (16 * N);
    let mut operands = Operands { x, rest: None, bias, out, tokens, groups, strides };
    let mut panel = Panel::<N>::new();
    for row in (0..bias.len()).step_by(ROWS) {
        let last = (bias.len() - row).min(ROWS) - 1;
        let GroupedRows { codes, scales, minima } = w;
        // SAFETY: `ProductGroups::new` checked that there are `bias.len()` rows of codes, at most
        // 16, and factors of 16 rows. `row` is a multiple of 4, rows beyond the last are the last;
        // it is called only for existing groups.
        let rows = |first: usize| unsafe {
            let codes = codes.as_ptr().add(first * 16 * N);
            let at = first * TILE_ROWS + row;
            Rows {
                codes: [0, 1, 2, 3].map(|r: usize| codes.add((row + r.min(last)) * cols)),
                factors: (scales.as_ptr().add(at), minima.as_ptr().add(at)),
            }
        };
        // SAFETY: it checked the lengths of all.
        unsafe { panel::product::<S, _, N, false>(&mut operands, &mut panel, row, rows) };
    }
}
