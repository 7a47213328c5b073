//! x86-64: tables for AVX2 with FMA, and for AVX-512.

#![allow(unsafe_code)]

/// Row operations with a type of vectors, compiled for its target features.
macro_rules! row_operations {
    ($vector:ty, $features:literal) => {
        row_operations!($vector, $features,
            softmax = rows::softmax(x: &mut [f32], scale: f32);
            softmax_i16 = quantization::softmax_i16(x: &mut [f32], scale: f32, codes: &mut [u8]);
            gelu = rows::gelu(x: &mut [f32]);
            swiglu = rows::swiglu(gate: &mut [f32], up: &[f32]);
            add_layer_norm = rows::add_layer_norm(
                x: &mut [f32], y: &[f32], weight: &[f32], bias: &[f32], epsilon: f32
            );
            quantize = quantization::codes(
                x: &[f32], columns: &[f32], codes: &mut [u8]
            ) -> (f32, u8);
            quantize_groups = quantization::groups_i8(
                x: &[f32], group: usize, codes: &mut [u8], scales: &mut [f32], sums: &mut [f32]
            );
            dequantize_groups = quantization::dequantize_groups(
                codes: &[u8], signs: crate::kernel::Signs, group: usize, factors: &[(f32, f32)],
                out: &mut [f32]
            );
            quantize_rows = quantization::rows_i16(
                x: &[f32], size: usize, limit: f32, codes: &mut [u8], scales: &mut [f32]
            );
            quantize_columns = quantization::columns_i16(
                x: &[f32], stride: usize, limit: f32, codes: &mut [u8], scales: &mut [f32],
                inverses: &mut [f32]
            );
        );
    };
    ($vector:ty, $features:literal, $(
        $name:ident = $module:ident::$body:ident($($argument:ident: $type:ty),+) $(-> $result:ty)?;
    )+) => {
        use crate::kernel::{quantize as quantization, rows};

        $(
            fn $name($($argument: $type),+) $(-> $result)? {
                #[target_feature(enable = $features)]
                fn inner($($argument: $type),+) $(-> $result)? {
                    $module::$body::<$vector>($($argument),+)
                }
                // SAFETY: a table is handed out only after the CPU was asked for its features.
                unsafe { inner($($argument),+) }
            }
        )+
    };
}

mod ahead;
mod amx;
mod avx2;
mod avx512;
mod blocks;
mod dequantize;
mod groups;
mod int8_avx2;
mod lanes;
mod multiply_int16_avx512;
mod product_avx512;
mod product_int8_amx;
mod product_int8_avx512;
mod transpose;
mod vector;

use super::Kernels;
pub(super) use ahead::prefetch;
pub(super) use dequantize::dequantizers;

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
        (avx512 && avx512_vnni && amx::usable()).then_some(avx512::TABLE_AMX),
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
