//! x86-64: tables for AVX2 with FMA, and for AVX-512.

#![allow(unsafe_code)]

mod avx2;
mod avx512;
mod int8_avx2;
mod int8_avx512;

use super::Kernels;

cpufeatures::new!(cpu_avx2, "avx2", "fma");
cpufeatures::new!(cpu_avx512, "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl");

/// The tables of this folder that this CPU can run, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Kernels> {
    let (avx_vnni, avx512_vnni) = vnni();
    let (avx2, avx512) = (cpu_avx2::get(), cpu_avx512::get());
    [
        avx2.then_some(avx2::TABLE),
        (avx2 && avx_vnni).then_some(avx2::TABLE_VNNI),
        avx512.then_some(avx512::TABLE),
        (avx512 && avx512_vnni).then_some(avx512::TABLE_VNNI),
    ]
    .into_iter()
    .flatten()
}

/// Whether the CPU has AVX-VNNI and AVX512-VNNI, which the `cpufeatures` crate does not know.
fn vnni() -> (bool, bool) {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    if __cpuid(0).eax < 7 {
        return (false, false);
    }
    let leaf = __cpuid_count(7, 0);
    let avx_vnni = leaf.eax >= 1 && __cpuid_count(7, 1).eax & (1 << 4) != 0;
    (avx_vnni, leaf.ecx & (1 << 11) != 0)
}

/// Row operations compiled for a set of target features.
macro_rules! row_operations {
    ($features:literal) => {
        use crate::kernel::{quantize as quantization, rows};

        fn softmax(x: &mut [f32], scale: f32) {
            #[target_feature(enable = $features)]
            fn inner(x: &mut [f32], scale: f32) {
                rows::softmax(x, scale);
            }
            // SAFETY: this table is handed out only after the CPU was asked for these features.
            unsafe { inner(x, scale) }
        }

        fn softmax_i16(x: &mut [f32], scale: f32, codes: &mut [u8]) {
            #[target_feature(enable = $features)]
            fn inner(x: &mut [f32], scale: f32, codes: &mut [u8]) {
                quantization::softmax_i16(x, scale, codes);
            }
            // SAFETY: as above.
            unsafe { inner(x, scale, codes) }
        }

        fn quantize(x: &[f32], columns: &[f32], codes: &mut [u8]) -> (f32, u8) {
            #[target_feature(enable = $features)]
            fn inner(x: &[f32], columns: &[f32], codes: &mut [u8]) -> (f32, u8) {
                quantization::codes(x, columns, codes)
            }
            // SAFETY: as above.
            unsafe { inner(x, columns, codes) }
        }

        fn quantize_rows(x: &[f32], size: usize, limit: f32, codes: &mut [u8], scales: &mut [f32]) {
            #[target_feature(enable = $features)]
            fn inner(x: &[f32], size: usize, limit: f32, codes: &mut [u8], scales: &mut [f32]) {
                quantization::rows_i16(x, size, limit, codes, scales);
            }
            // SAFETY: as above.
            unsafe { inner(x, size, limit, codes, scales) }
        }

        fn quantize_columns(
            x: &[f32],
            stride: usize,
            limit: f32,
            codes: &mut [u8],
            scales: &mut [f32],
            scratch: &mut [f32],
        ) {
            #[target_feature(enable = $features)]
            fn inner(
                x: &[f32],
                stride: usize,
                limit: f32,
                codes: &mut [u8],
                scales: &mut [f32],
                scratch: &mut [f32],
            ) {
                quantization::columns_i16(x, stride, limit, codes, scales, scratch);
            }
            // SAFETY: as above.
            unsafe { inner(x, stride, limit, codes, scales, scratch) }
        }

        fn gelu(x: &mut [f32]) {
            #[target_feature(enable = $features)]
            fn inner(x: &mut [f32]) {
                rows::gelu(x);
            }
            // SAFETY: as above.
            unsafe { inner(x) }
        }

        fn add_layer_norm(x: &mut [f32], y: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) {
            #[target_feature(enable = $features)]
            fn inner(x: &mut [f32], y: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) {
                rows::add(x, y);
                rows::layer_norm(x, weight, bias, epsilon);
            }
            // SAFETY: as above.
            unsafe { inner(x, y, weight, bias, epsilon) }
        }
    };
}
use row_operations;
