//! The measured peak of a table's vector units.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use std::hint::black_box;
#[cfg(target_arch = "x86_64")]
use x86::call;

/// Operations per second, in 10⁹, for units with a benchmark.
pub struct Peaks {
    pub f32: Option<f64>,
    pub i8: Option<f64>,
}

#[cfg(target_arch = "x86_64")]
impl Peaks {
    pub fn measure(table: &str) -> Self {
        const STEPS: usize = 100_000;
        let rate = |operations: usize, call: &dyn Fn(usize)| {
            Some((STEPS * operations) as f64 / super::least(|| call(black_box(STEPS))) / 1e9)
        };
        let f32 = match table {
            "avx2" | "avxvnni" => rate(12 * 16, &call::fma_256),
            "avx512" | "avx512vnni" | "avx512amx" => rate(16 * 32, &call::fma_512),
            _ => None,
        };
        let i8 = match table {
            "avx2" | "avx512" => rate(12 * 64, &call::bytes_avx2),
            "avxvnni" => rate(12 * 64, &call::bytes_avxvnni),
            "avx512vnni" => rate(16 * 128, &call::bytes_avx512vnni),
            "avx512amx" => rate(4 * 16 * 16 * 64 * 2, &call::bytes_amx),
            _ => None,
        };
        Self { f32, i8 }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Peaks {
    pub fn measure(_: &str) -> Self {
        Self { f32: None, i8: None }
    }
}
