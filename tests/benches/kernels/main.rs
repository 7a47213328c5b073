//! Rates of the kernels against the measured peak of this machine: JSON lines for
//! `tests/peers/bench.py micro`.
//!
//! ```text
//! cargo bench -p nanoembed-tests --bench kernels > kernels.jsonl
//! python3 tests/peers/bench.py micro --micro kernels.jsonl
//! ```
//!
//! In Chromium, with WebAssembly's instructions: `npm run bench:kernels` in `wasm/`.
//!
//! A line is `{table, kernel, shape, unit, value, peak}`; `peak` is null if no instruction sets a
//! limit. Weights are those of twelve layers in turn, as a model reads them: they come from L3 or
//! memory, never from L1.

mod peaks;

use std::hint::black_box;
use std::time::{Duration, Instant};

use nanoembed_core::kernel::unstable::{
    ActivationCodes, GroupedCodes, GroupedRows, ProductBase, TILE_ROWS, WeightRows,
};
use nanoembed_core::kernel::{
    FloatOperand, Kernels, Multiply, Product, ProductGroups, ProductI8, Signs, Strides, Table,
    available,
};
use nanoembed_core::quant;
use nanoembed_core::quant::unstable::groups::{
    Unpacked, dequantize_blocks, group_elements, unpack_rows,
};
use nanoembed_core::tensor::Dtype;
use peaks::Peaks;

/// Matrices of weights that are used in turn.
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

/// Pseudo-random numbers between −1 and 1.
fn floats(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 16) as u16) / 32768.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn product_f32(table: &Kernels, peaks: &Peaks, tokens: usize, cols: usize, rows: usize) {
    let x = floats(tokens * cols);
    // In a file's layout.
    let w: Vec<u8> =
        floats(MATRICES * rows * cols).into_iter().flat_map(f32::to_le_bytes).collect();
    let (bias, mut out) = (floats(rows), vec![0.0; tokens * rows]);
    let strides = Strides { token: rows, row: 1 };
    let mut turns = w.chunks(rows * cols * 4).cycle();
    let seconds = least(|| {
        let w = FloatOperand::Bytes(turns.next().expect("a matrix"));
        let product = Product::new(&x, w, &bias, cols, &mut out, strides);
        (table.product_f32)(product.expect("lengths"));
    });
    let operations = (2 * tokens * rows * cols) as f64;
    let shape = format!("{tokens}×{cols}→{rows}");
    print(table.name, "product_f32", &shape, "GFLOP/s", operations / seconds / 1e9, peaks.f32);
}

fn product_i8(table: &Kernels, peaks: &Peaks, tokens: usize, cols: usize, rows: usize) {
    let x: Vec<u8> = (0..tokens * cols).map(|i| (i * 31 % 128) as u8).collect();
    let w: Vec<u8> = (0..MATRICES * rows * cols).map(weight).collect();
    // As in the model: 384 columns at a time.
    let groups = || (0..cols).step_by(384);
    let mut summaries = Vec::new();
    if let Some(summarize_row) = table.summarize_row {
        for matrix in w.chunks(rows * cols) {
            for from in groups() {
                summaries.extend(matrix.chunks(cols).map(|row| summarize_row(&row[from..][..384])));
            }
        }
    }
    let (x_scales, zeros) = (floats(tokens), vec![64; tokens]);
    let (scales, bias) = (floats(rows), floats(rows));
    let mut out = vec![0.0; tokens * rows];
    let strides = Strides { token: rows, row: 1 };
    let mut turns = (0..MATRICES).cycle();
    let seconds = least(|| {
        let matrix = turns.next().expect("a matrix");
        let w = &w[matrix * rows * cols..][..rows * cols];
        for from in groups() {
            let first = (matrix * cols + from) / 384 * rows;
            let summaries = summaries.get(first..first + rows).unwrap_or_default();
            let x = ActivationCodes {
                codes: &x[from..],
                stride: cols,
                scales: &x_scales,
                zeros: &zeros,
            };
            let w = WeightRows { codes: &w[from..], stride: cols, scales: &scales, summaries };
            let base = if from == 0 { ProductBase::Bias(&bias) } else { ProductBase::Output };
            let product = ProductI8::new(x, w, 384, base, &mut out, strides);
            (table.product_i8)(product.expect("lengths"));
        }
    });
    let operations = (2 * tokens * rows * cols) as f64;
    let shape = format!("{tokens}×{cols}→{rows}");
    print(table.name, "product_i8", &shape, "GOP/s", operations / seconds / 1e9, peaks.i8);
}

/// Codes as in models: approximately normal, with a standard deviation of 33.
fn weight(index: usize) -> u8 {
    let mut seed = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    seed = (seed ^ seed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let sum: u64 = (0..5).map(|part| (seed >> (12 * part) & 0xfff) % 51).sum();
    (sum as i64 - 125) as i8 as u8
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
    (table.quantize_groups)(&x, group, 127.0, &mut codes, &mut scales, &mut sums);
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
