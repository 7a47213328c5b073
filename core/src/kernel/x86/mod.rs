//! x86-64: tables for AVX2 with FMA, and for AVX-512.

#![allow(unsafe_code)]

/// Row operations with a vector type, compiled for its target features.
macro_rules! row_operations {
    ($vector:ty, $features:literal) => {
        row_operations!($vector, $features,
            softmax = rows::softmax(x: &mut [f32], scale: f32);
            softmax_i16 = quantization::softmax_i16(x: &mut [f32], scale: f32, codes: &mut [u8]);
            gelu = rows::gelu(x: &mut [f32]);
            swiglu = rows::swiglu(gate: &mut [f32], up: &[f32]);
            add_f32 = rows::add_f32(sum: &mut [f32], bytes: &[u8]);
            add_layer_norm = rows::add_layer_norm(
                x: &mut [f32], y: &[f32], weight: &[f32], bias: &[f32], epsilon: f32
            );
            quantize = quantization::codes(
                x: &[f32], columns: &[f32], codes: &mut [u8]
            ) -> (f32, u8);
            quantize_groups = quantization::groups_i8(
                x: &[f32], group: usize, limit: f32, codes: &mut [u8], scales: &mut [f32],
                sums: &mut [f32]
            );
            dequantize_groups = quantization::dequantize_groups(
                codes: &[u8], signs: crate::kernel::Signs, group: usize, factors: &[(f32, f32)],
                out: &mut [f32]
            );
            quantize_rows = quantization::rows_i16(
                x: crate::kernel::Table<'_>, size: usize, limit: f32, codes: &mut [u8],
                scales: &mut [f32]
            );
            quantize_columns = quantization::columns_i16(
                x: crate::kernel::Table<'_>, limit: f32, codes: (&mut [u8], usize),
                scales: &mut [f32], inverses: &mut [f32]
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
                // SAFETY: a table is returned only after its CPU features were detected.
                unsafe { inner($($argument),+) }
            }
        )+
    };
}

/// Evaluates `$call` with the constant `$N` equal to `$count`, which is one of those listed.
macro_rules! with_constant {
    ($count:expr, $N:ident => $call:expr, $($constant:literal)+) => {
        match $count {
            $($constant => { const $N: usize = $constant; $call })+
            _ => {}
        }
    };
}

mod amx;
mod amx_tiles;
mod avx2;
mod avx512;
mod blocks;
mod dequantize;
mod groups;
mod int8_avx2;
mod lanes;
mod multiply_int16_avx512;
mod packed_tokens;
mod prefetcher;
mod product_avx512;
mod product_int8_amx;
mod product_int8_avx512;
mod safe;
mod transpose;
mod unpack;
mod vector;
mod width;

use super::Kernels;
pub(super) use dequantize::dequantizers;
pub(super) use prefetcher::prefetch;

cpufeatures::new!(cpu_avx2, "avx2", "fma");
cpufeatures::new!(cpu_avx512, "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl");

/// The x86-64 tables that this CPU can run, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Kernels> {
    let Further { avx_vnni, avx512_vnni, amx_int8 } = Further::detect();
    let (avx2, avx512) = (cpu_avx2::get(), cpu_avx512::get());
    let avx512_vnni = avx512 && avx512_vnni;
    [
        avx2.then_some(avx2::TABLE),
        (avx2 && avx_vnni).then_some(avx2::TABLE_VNNI),
        avx512.then_some(avx512::TABLE),
        avx512_vnni.then_some(avx512::TABLE_VNNI),
        (avx512_vnni && amx_int8 && amx::usable()).then_some(avx512::TABLE_AMX),
    ]
    .into_iter()
    .flatten()
}

/// CPU features that the `cpufeatures` crate does not detect.
#[derive(Default)]
struct Further {
    avx_vnni: bool,
    avx512_vnni: bool,
    /// AMX-TILE and AMX-INT8.
    amx_int8: bool,
}

impl Further {
    fn detect() -> Self {
        const TILE_AND_INT8: u32 = 1 << 24 | 1 << 25;
        if safe::cpuid(0).eax < 7 {
            return Self::default();
        }
        let leaf = safe::cpuid_count(7, 0);
        Self {
            avx_vnni: leaf.eax >= 1 && safe::cpuid_count(7, 1).eax & (1 << 4) != 0,
            avx512_vnni: leaf.ecx & (1 << 11) != 0,
            amx_int8: leaf.edx & TILE_AND_INT8 == TILE_AND_INT8,
        }
    }
}
