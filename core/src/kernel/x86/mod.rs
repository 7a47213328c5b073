//! x86-64: tables for AVX2 with FMA, and for AVX-512.

#![allow(unsafe_code)]

mod avx2;
mod avx512;

use super::Kernels;

cpufeatures::new!(cpu_avx2, "avx2", "fma");
cpufeatures::new!(cpu_avx512, "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl");

/// The tables of this folder that this CPU can run, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Kernels> {
    let avx2 = cpu_avx2::get().then_some(avx2::TABLE);
    let avx512 = cpu_avx512::get().then_some(avx512::TABLE);
    avx2.into_iter().chain(avx512)
}

/// Row operations compiled for a set of target features.
macro_rules! row_operations {
    ($features:literal) => {
        use crate::kernel::rows;

        fn softmax(x: &mut [f32], scale: f32) {
            #[target_feature(enable = $features)]
            fn inner(x: &mut [f32], scale: f32) {
                rows::softmax(x, scale);
            }
            // SAFETY: this table is handed out only after the CPU was asked for these features.
            unsafe { inner(x, scale) }
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
