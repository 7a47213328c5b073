//! Dequantises with AVX2 and AVX-512, bypassing the caches if the result does not fit them.

use core::sync::atomic::{AtomicU8, Ordering};

use super::lanes::{StreamedAvx2, StreamedAvx512};
use super::safe::{cpuid, store_fence};
use super::vector::{Avx2, Avx512};
use super::{cpu_avx2, cpu_avx512};
use crate::kernel::dequantize::Dequantizer;
use crate::quant::whole;
use crate::tensor::Encoding;

/// Results of at least this many elements (16 MiB) bypass the caches, which saves reading the
/// memory that is overwritten.
const STREAMED_ELEMENTS: usize = 4 << 20;

/// The x86-64 implementations that this CPU can run, the slowest first.
pub(in crate::kernel) fn dequantizers() -> impl Iterator<Item = Dequantizer> {
    let (has_avx2, has_avx512) = (cpu_avx2::get() && f16c(), cpu_avx512::get() && f16c());
    [
        has_avx2.then_some(Dequantizer { name: "avx2", whole: Some(avx2) }),
        has_avx512.then_some(Dequantizer { name: "avx512", whole: Some(avx512) }),
    ]
    .into_iter()
    .flatten()
}

/// Returns true if the CPU converts halves, which the `cpufeatures` crate does not detect; the
/// result is cached, as in that crate.
fn f16c() -> bool {
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = 2;
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {
            let has = cpuid(1).ecx & (1 << 29) != 0;
            ANSWER.store(has.into(), Ordering::Relaxed);
            has
        }
        known => known == 1,
    }
}

/// `$name` with `$lanes`, or `$streamed` where the result is large, compiled for `$features`.
macro_rules! way {
    ($name:ident, $lanes:ty, $streamed:ty, $features:literal) => {
        fn $name(encoding: &Encoding<'_>, out: &mut [f32]) -> usize {
            #[target_feature(enable = $features)]
            fn stored(encoding: &Encoding<'_>, out: &mut [f32]) -> usize {
                whole::dequantize::<$lanes>(encoding, out)
            }
            #[target_feature(enable = $features)]
            fn streamed(encoding: &Encoding<'_>, out: &mut [f32]) -> usize {
                let done = whole::dequantize::<$streamed>(encoding, out);
                store_fence();
                done
            }
            // SAFETY: an implementation is returned only after its CPU features were detected.
            unsafe {
                match out.len() {
                    STREAMED_ELEMENTS.. => streamed(encoding, out),
                    _ => stored(encoding, out),
                }
            }
        }
    };
}

way!(avx2, Avx2, StreamedAvx2, "avx2,fma,f16c");
way!(avx512, Avx512, StreamedAvx512, "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl");
