//! Chains of multiplications that are limited only by the multipliers.

use std::arch::x86_64::*;
use std::hint::black_box;

/// `$chains` chains of `$steps` steps, where `$sum` is a link of each.
macro_rules! chains {
    ($chains:literal, $steps:expr, $start:expr, $sum:ident => $next:expr) => {{
        let mut sums = [$start; $chains];
        for _ in 0..$steps {
            for $sum in &mut sums {
                *$sum = $next;
            }
        }
        black_box(sums);
    }};
}

#[target_feature(enable = "avx2,fma")]
pub fn fma_256(steps: usize) {
    let x = _mm256_set1_ps(0.999);
    chains!(12, steps, x, sum => _mm256_fmadd_ps(*sum, x, x));
}

#[target_feature(enable = "avx512f")]
pub fn fma_512(steps: usize) {
    let x = _mm512_set1_ps(0.999);
    chains!(16, steps, x, sum => _mm512_fmadd_ps(*sum, x, x));
}

#[target_feature(enable = "avx2")]
pub fn bytes_avx2(steps: usize) {
    let (x, ones) = (_mm256_set1_epi8(3), _mm256_set1_epi16(1));
    chains!(12, steps, x, sum => {
        let words = _mm256_maddubs_epi16(x, *sum);
        _mm256_add_epi32(*sum, _mm256_madd_epi16(words, ones))
    });
}

#[target_feature(enable = "avx2,avxvnni")]
pub fn bytes_avxvnni(steps: usize) {
    let x = _mm256_set1_epi8(3);
    chains!(12, steps, x, sum => _mm256_dpbusd_avx_epi32(*sum, x, x));
}

#[target_feature(enable = "avx512f,avx512vnni")]
pub fn bytes_avx512vnni(steps: usize) {
    let x = _mm512_set1_epi8(3);
    chains!(16, steps, x, sum => _mm512_dpbusd_epi32(*sum, x, x));
}

/// Tiles of 16 rows of 64 bytes, in as many registers as a product sums in.
pub unsafe fn bytes_amx(steps: usize) {
    #[repr(C, align(64))]
    struct Configuration([u8; 64]);
    let mut tiles = Configuration([0; 64]);
    tiles.0[0] = 1;
    for register in 0..8 {
        tiles.0[16 + 2 * register] = 64;
        tiles.0[48 + register] = 16;
    }
    // SAFETY: the caller has enabled AMX; 64 bytes are read.
    unsafe {
        std::arch::asm!(
            "ldtilecfg [{tiles}]",
            "2:",
            "tdpbssd tmm0, tmm4, tmm6",
            "tdpbssd tmm1, tmm4, tmm7",
            "tdpbssd tmm2, tmm5, tmm6",
            "tdpbssd tmm3, tmm5, tmm7",
            "dec {steps}",
            "jnz 2b",
            "tilerelease",
            tiles = in(reg) &raw const tiles,
            steps = inout(reg) steps => _,
            options(nostack, readonly),
        );
    }
}

/// Safe wrappers.
pub mod call {
    macro_rules! safe {
        ($($name:ident)+) => {$(
            pub fn $name(steps: usize) {
                // SAFETY: called for tables that are available only where the CPU has the
                // instructions.
                unsafe { super::$name(steps) }
            }
        )+};
    }
    safe!(fma_256 fma_512 bytes_avx2 bytes_avxvnni bytes_avx512vnni bytes_amx);
}
