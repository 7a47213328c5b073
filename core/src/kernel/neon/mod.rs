//! aarch64: tables for NEON, which every such CPU has, and for its dot products of bytes (ARMv8.2
//! `dotprod`).
//!
//! Row operations are the portable ones: NEON belongs to the target, so the compiler vectorises
//! them.

#![allow(unsafe_code)]

mod integers;
mod product;

use super::{Kernels, portable};

/// NEON without dot products.
const TABLE: Kernels = Kernels {
    name: "neon",
    product_f32: product::product_f32,
    multiply_f32: product::multiply_f32,
    product_i8: integers::product_neon,
    summarize_row: Some(integers::summarize_row),
    multiply_i16: integers::multiply_i16,
    ..portable::TABLE
};

/// With dot products of bytes.
const TABLE_DOTPROD: Kernels =
    Kernels { name: "neondot", product_i8: integers::product_dotprod, ..TABLE };

/// The NEON tables that this CPU can run, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Kernels> {
    [Some(TABLE), has_dotprod().then_some(TABLE_DOTPROD)].into_iter().flatten()
}

/// Returns true if the CPU has dot products of bytes: the field `DP` of `ID_AA64ISAR0_EL1`.
///
/// Linux lets programs read this register; elsewhere the features of the compilation target decide.
fn has_dotprod() -> bool {
    if cfg!(target_feature = "dotprod") {
        return true;
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let features: u64;
        // SAFETY: the kernel emulates reading this register for programs, since Linux 4.11.
        unsafe {
            core::arch::asm!(
                "mrs {}, ID_AA64ISAR0_EL1",
                out(reg) features,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        features >> 44 & 15 != 0
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        false
    }
}
