//! Instructions that every x86-64 has and that have no precondition. Newer compilers declare them
//! safe, older ones do not.

#![allow(unused_unsafe, reason = "needed by older compilers")]

use core::arch::x86_64::{__cpuid_count, _mm_sfence, CpuidResult};

/// The CPUID result of a leaf.
pub(super) fn cpuid(leaf: u32) -> CpuidResult {
    cpuid_count(leaf, 0)
}

/// The CPUID result of a sub-leaf.
pub(super) fn cpuid_count(leaf: u32, part: u32) -> CpuidResult {
    // SAFETY: every x86-64 has the instruction, which changes nothing.
    unsafe { __cpuid_count(leaf, part) }
}

/// Orders earlier stores before later ones.
#[inline]
pub(super) fn store_fence() {
    // SAFETY: as before.
    unsafe { _mm_sfence() };
}
