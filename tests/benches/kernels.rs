//! Rates of the kernels against the measured peak of this machine: JSON lines for `tests/peers/bench.py micro`.
//!
//! ```text
//! cargo bench -p nanoembed-tests --bench kernels > kernels.jsonl
//! python3 tests/peers/bench.py micro --micro kernels.jsonl
//! ```
//!
//! A line is `{table, kernel, shape, unit, value, peak}`; `peak` is null where no instruction sets a limit. Weights are
//! those of twelve layers in turn, as a model reads them: they come from L3 or memory, never from L1.

use std::hint::black_box;
use std::time::{Duration, Instant};

use nanoembed_core::kernel::groups::{GroupedCodes, GroupedRows, ProductGroups, TILE_ROWS};
use nanoembed_core::kernel::integer::{Base, Codes, ProductI8, Rows};
use nanoembed_core::kernel::{
    Floats, Kernels, Multiply, Product, Signs, Strides, Table, available,
};
use nanoembed_core::quant;
use nanoembed_core::quant::groups::{Unpacked, dequantize_blocks, group_elements, unpack_rows};
use nanoembed_core::tensor::Dtype;

/// Matrices of weights that take turns.
const MATRICES: usize = 12;

fn main() {
    let tables: Vec<_> = available().collect();
    for table in &tables {
        let peaks = Peaks::measure(table.name);
        for (tokens, cols, rows) in
            [(8, 384, 1536), (32, 384, 1536), (128, 384, 1536), (128, 1536, 384)]
        {
            product_f32(table, &peaks, tokens, cols, rows);
            product_i8(table, &peaks, tokens, cols, rows);
        }
        for dtype in [Dtype::Q8_0, Dtype::Q4_0, Dtype::Q4K, Dtype::Q6K] {
            product_blocks(table, &peaks, dtype);
        }
        multiply_f32(table, &peaks);
        row_operations(table);
        for dtype in [Dtype::Q4_0, Dtype::Q5_0, Dtype::Q8_0, Dtype::Q4K, Dtype::Q6K] {
            dequantize(table, dtype);
        }
    }
}

/// The shortest time of a call, in seconds, over some tenths of a second.
fn least(mut call: impl FnMut()) -> f64 {
    let (start, mut least) = (Instant::now(), Duration::MAX);
    let mut runs = 0;
    while runs < 5 || start.elapsed() < Duration::from_millis(300) {
        let start = Instant::now();
        call();
        least = least.min(start.elapsed());
        runs += 1;
    }
    least.as_secs_f64()
}

fn print(table: &str, kernel: &str, shape: &str, unit: &str, value: f64, peak: Option<f64>) {
    let peak = peak.map_or("null".to_owned(), |peak| format!("{peak:.2}"));
    println!(
        r#"{{"table":"{table}","kernel":"{kernel}","shape":"{shape}","unit":"{unit}","value":{value:.2},"peak":{peak}}}"#
    );
}

/// Numbers without a pattern between −1 and 1.
fn floats(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 16) as u16) / 32768.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn product_f32(table: &Kernels, peaks: &Peaks, tokens: usize, cols: usize, rows: usize) {
    let (x, w) = (floats(tokens * cols), floats(MATRICES * rows * cols));
    let (bias, mut out) = (floats(rows), vec![0.0; tokens * rows]);
    let strides = Strides { token: rows, row: 1 };
    let mut turns = w.chunks(rows * cols).cycle();
    let seconds = least(|| {
        let w = Floats::Values(turns.next().expect("a matrix"));
        let product = Product::new(&x, w, &bias, cols, &mut out, strides);
        (table.product_f32)(product.expect("lengths"));
    });
    let operations = (2 * tokens * rows * cols) as f64;
    let shape = format!("{tokens}×{cols}→{rows}");
    print(table.name, "product_f32", &shape, "GFLOP/s", operations / seconds / 1e9, peaks.f32);
}

fn product_i8(table: &Kernels, peaks: &Peaks, tokens: usize, cols: usize, rows: usize) {
    let x: Vec<u8> = (0..tokens * cols).map(|i| (i * 31 % 128) as u8).collect();
    let w: Vec<u8> = (0..MATRICES * rows * cols).map(|i| (i * 37 % 255) as i8 as u8).collect();
    let (x_scales, zeros) = (floats(tokens), vec![64; tokens]);
    let (scales, bias) = (floats(rows), floats(rows));
    let mut out = vec![0.0; tokens * rows];
    let strides = Strides { token: rows, row: 1 };
    let mut turns = w.chunks(rows * cols).cycle();
    let seconds = least(|| {
        let w = turns.next().expect("a matrix");
        // As the model does: 384 columns at a time.
        for from in (0..cols).step_by(384) {
            let x = Codes { codes: &x[from..], stride: cols, scales: &x_scales, zeros: &zeros };
            let w = Rows { codes: &w[from..], stride: cols, scales: &scales };
            let base = if from == 0 { Base::Bias(&bias) } else { Base::Output };
            let product = ProductI8::new(x, w, 384, base, &mut out, strides);
            (table.product_i8)(product.expect("lengths"));
        }
    });
    let operations = (2 * tokens * rows * cols) as f64;
    let shape = format!("{tokens}×{cols}→{rows}");
    print(table.name, "product_i8", &shape, "GOP/s", operations / seconds / 1e9, peaks.i8);
}

/// Products with blocks, unpacking included.
fn product_blocks(table: &Kernels, peaks: &Peaks, dtype: Dtype) {
    let (tokens, cols, rows) = (128, 1536, 384);
    let Some(group) = group_elements(dtype) else { return };
    let groups = cols / group;
    let mut data = vec![0; rows * cols / dtype.block_elements() * dtype.block_bytes()];
    quant::quantize(dtype, &floats(rows * cols), &mut data).expect("a quantiser");
    let x = floats(tokens * cols);
    let mut codes = vec![0; tokens * cols];
    let (mut scales, mut sums) = (vec![0.0; tokens * groups], vec![0.0; tokens * groups]);
    (table.quantize_groups)(&x, group, &mut codes, &mut scales, &mut sums);
    let x = GroupedCodes { codes: &codes, scales: &scales, sums: &sums };
    let mut unpacked = vec![0; TILE_ROWS * cols];
    let (mut w_scales, mut minima) = (vec![0.0; groups * TILE_ROWS], vec![0.0; groups * TILE_ROWS]);
    let (bias, mut out) = (floats(TILE_ROWS), vec![0.0; tokens * rows]);
    let strides = Strides { token: rows, row: 1 };
    let seconds = least(|| {
        for (tile, data) in data.chunks(data.len() / rows * TILE_ROWS).enumerate() {
            let mut to = Unpacked {
                codes: &mut unpacked,
                scales: &mut w_scales,
                minima: &mut minima,
                stride: TILE_ROWS,
            };
            assert!(unpack_rows(dtype, data, cols, &mut to));
            let w = GroupedRows { codes: &unpacked, scales: &w_scales, minima: &minima };
            let out = &mut out[tile * TILE_ROWS..];
            let product = ProductGroups::new(x, w, &bias, (cols, group), out, strides);
            (table.product_groups)(product.expect("lengths"));
        }
    });
    let operations = (2 * tokens * rows * cols) as f64;
    let (name, shape) = (format!("product {}", dtype.name()), format!("{tokens}×{cols}→{rows}"));
    print(table.name, &name, &shape, "GOP/s", operations / seconds / 1e9, peaks.i8);
}

/// Scores of 32 queries against 128 keys, heads of 32.
fn multiply_f32(table: &Kernels, peaks: &Peaks) {
    let (m, n, k) = (32, 128, 32);
    let (a, b, mut out) = (floats(m * k), floats(k * n), vec![0.0; m * n]);
    const TIMES: usize = 100;
    let seconds = least(|| {
        for _ in 0..TIMES {
            let (a, b) = (Table { data: &a, stride: k }, Table { data: &b, stride: n });
            (table.multiply_f32)(Multiply::new(a, b, &mut out, n, (m, n, k)).expect("lengths"));
        }
    });
    let rate = (2 * TIMES * m * n * k) as f64 / seconds / 1e9;
    print(table.name, "multiply_f32", "32×32×128", "GFLOP/s", rate, peaks.f32);
}

/// Rows of 1536 elements in L1.
fn row_operations(table: &Kernels) {
    const LENGTH: usize = 1536;
    const TIMES: usize = 100;
    let (x, weight, bias) = (floats(LENGTH), floats(LENGTH), floats(LENGTH));
    let mut row = x.clone();
    let mut codes = vec![0; LENGTH];
    let mut rate = |kernel: &str, call: &mut dyn FnMut(&mut [f32])| {
        let seconds = least(|| {
            for _ in 0..TIMES {
                row.copy_from_slice(&x);
                call(black_box(&mut row));
            }
        });
        let rate = (TIMES * LENGTH) as f64 / seconds / 1e9;
        print(table.name, kernel, &LENGTH.to_string(), "G elements/s", rate, None);
    };
    rate("gelu", &mut |row| (table.gelu)(row));
    rate("softmax", &mut |row| (table.softmax)(row, 0.5));
    rate("add_layer_norm", &mut |row| (table.add_layer_norm)(row, &weight, &weight, &bias, 1e-12));
    rate("quantize", &mut |row| {
        black_box((table.quantize)(row, &weight, &mut codes));
    });
}

/// Rows of blocks to f32, 256 KiB of output.
fn dequantize(table: &Kernels, dtype: Dtype) {
    let values = floats(65536);
    let mut data = vec![0; values.len() / dtype.block_elements() * dtype.block_bytes()];
    quant::quantize(dtype, &values, &mut data).expect("a quantiser");
    let mut out = vec![0.0; values.len()];
    let seconds = least(|| {
        dequantize_blocks(
            dtype,
            black_box(&data),
            black_box(&mut out),
            &|codes, offset, group, factors, out| {
                let signs = Signs { flip: 0, offset };
                (table.dequantize_groups)(codes, signs, group, factors, out);
            },
        );
    });
    let rate = (out.len() * 4) as f64 / seconds / 1e9;
    print(table.name, &format!("dequantize {}", dtype.name()), "65536", "GB/s", rate, None);
}

/// What the vector units of a table can do, in 10⁹ operations a second.
struct Peaks {
    f32: Option<f64>,
    i8: Option<f64>,
}

#[cfg(target_arch = "x86_64")]
impl Peaks {
    fn measure(table: &str) -> Self {
        const STEPS: usize = 100_000;
        let rate = |operations: usize, call: &dyn Fn(usize)| {
            Some((STEPS * operations) as f64 / least(|| call(black_box(STEPS))) / 1e9)
        };
        let f32 = match table {
            "avx2" | "avxvnni" => rate(12 * 16, &peak::call::fma_256),
            "avx512" | "avx512vnni" | "avx512amx" => rate(16 * 32, &peak::call::fma_512),
            _ => None,
        };
        let i8 = match table {
            "avx2" | "avx512" => rate(12 * 64, &peak::call::bytes_avx2),
            "avxvnni" => rate(12 * 64, &peak::call::bytes_avxvnni),
            "avx512vnni" => rate(16 * 128, &peak::call::bytes_avx512vnni),
            "avx512amx" => rate(4 * 16 * 16 * 64 * 2, &peak::call::bytes_amx),
            _ => None,
        };
        Self { f32, i8 }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Peaks {
    fn measure(_: &str) -> Self {
        Self { f32: None, i8: None }
    }
}

/// Chains of multiplications that only the multipliers limit.
#[cfg(target_arch = "x86_64")]
mod peak {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// `$chains` chains of `$steps` steps, `$sum` being a link of each.
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
        // SAFETY: the caller asked for AMX; 64 bytes are read.
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

    /// The same as safe functions.
    pub mod call {
        macro_rules! safe {
            ($($name:ident)+) => {$(
                pub fn $name(steps: usize) {
                    // SAFETY: called for tables that are available only where the CPU has the instructions.
                    unsafe { super::$name(steps) }
                }
            )+};
        }
        safe!(fma_256 fma_512 bytes_avx2 bytes_avxvnni bytes_avx512vnni bytes_amx);
    }
}
