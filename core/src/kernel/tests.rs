//! Every table against f64 and against the portable one, at lengths around the vector widths.

extern crate std;

mod groups;

use std::vec::Vec;
use std::{println, vec};

use super::integer::{Base, Codes, MultiplyI16, ProductI8, Rows};
use super::rows::power_of_two;
use super::vector::{LANES, Portable, Vector};
use super::{Floats, Kernels, Multiply, Product, Strides, Table, available};

/// Numbers without a pattern, the same ones in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// About normal, standard deviation 1.
    fn float(&mut self) -> f32 {
        let sum: i64 = (0..6).map(|_| (self.next() % 2001) as i64 - 1000).sum();
        sum as f32 / 1414.0
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    fn bytes(&mut self, count: usize, from: i32, to: i32) -> Vec<u8> {
        (0..count).map(|_| (from + (self.next() % (to - from + 1) as u64) as i32) as u8).collect()
    }
}

fn tables() -> impl Iterator<Item = Kernels> {
    available()
}

const COLS: &[usize] = &[1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 384, 1537];
const TOKENS: &[usize] = &[1, 2, 3, 4, 5, 7, 12, 13, 16, 29];
const ROWS: &[usize] = &[1, 2, 3, 5, 6, 7, 16, 17, 25, 33, 40];

/// All pairs of two lists, and their combination with a third that cycles through its values.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let pairs = COLS.iter().flat_map(|&cols| TOKENS.iter().map(move |&tokens| (cols, tokens)));
    pairs.zip(ROWS.iter().cycle()).map(|((cols, tokens), &rows)| (cols, tokens, rows))
}

/// Layouts of the output, with gaps: rows side by side, tokens side by side, and neither.
fn layouts(tokens: usize, rows: usize) -> [(Strides, usize); 3] {
    [
        (Strides { token: rows + 3, row: 1 }, tokens * (rows + 3)),
        (Strides { token: 2 * rows, row: 2 }, tokens * 2 * rows),
        (Strides { token: 1, row: tokens + 5 }, rows * (tokens + 5)),
    ]
}

const UNTOUCHED: f32 = -12345.0;

#[test]
fn f32_products_are_within_their_bound_on_every_table() {
    let mut noise = Noise(1);
    let more_tokens = [(384, 61, 33), (513, 48, 9), (1100, 55, 40), (7, 71, 64)];
    let more_rows = [(384, 32, 60), (1100, 61, 50), (513, 47, 49), (7, 14, 64), (96, 9, 48)];
    for (cols, tokens, rows) in shapes().chain(more_tokens).chain(more_rows) {
        let x = noise.floats(tokens * cols);
        let w = noise.floats(rows * cols);
        let bias = noise.floats(rows);
        // Little-endian bytes at an odd address.
        let mut bytes = vec![0_u8];
        bytes.extend(w.iter().flat_map(|w| w.to_le_bytes()));
        for (strides, size) in layouts(tokens, rows) {
            for table in tables() {
                for weights in [Floats::Bytes(&bytes[1..]), Floats::Values(&w)] {
                    let mut out = vec![UNTOUCHED; size];
                    let product = Product::new(&x, weights, &bias, cols, &mut out, strides);
                    (table.product_f32)(product.unwrap());
                    let mut touched = 0;
                    for t in 0..tokens {
                        for r in 0..rows {
                            let pairs = x[t * cols..][..cols].iter().zip(&w[r * cols..][..cols]);
                            let (mut exact, mut size) = (f64::from(bias[r]), 1.0);
                            for (&x, &w) in pairs {
                                exact += f64::from(x) * f64::from(w);
                                size += (f64::from(x) * f64::from(w)).abs();
                            }
                            let value = out[t * strides.token + r * strides.row];
                            let error = (f64::from(value) - exact).abs();
                            assert!(
                                error <= 1e-6 * size,
                                "{} {tokens}×{rows}×{cols}: {error:e}",
                                table.name
                            );
                            touched += 1;
                        }
                    }
                    let untouched = out.iter().filter(|&&value| value == UNTOUCHED).count();
                    assert_eq!(touched + untouched, size, "{} wrote elsewhere", table.name);
                }
            }
        }
    }
}

#[test]
fn a_token_has_the_same_bits_however_many_are_computed_together() {
    let mut noise = Noise(10);
    for (cols, rows) in [(384, 32), (384, 53), (1536, 48), (801, 17), (3, 5)] {
        let tokens = 33;
        let x = noise.floats(tokens * cols);
        let w = noise.floats(rows * cols);
        let bias = noise.floats(rows);
        for table in tables() {
            let mut all = vec![0.0; tokens * rows];
            let by_token = Strides { token: rows, row: 1 };
            let weights = Floats::Values(&w);
            let product = Product::new(&x, weights, &bias, cols, &mut all, by_token);
            (table.product_f32)(product.unwrap());
            for count in 1..tokens {
                let x = &x[..count * cols];
                let mut few = vec![0.0; count * rows];
                let by_row = Strides { token: 1, row: count };
                let product = Product::new(x, weights, &bias, cols, &mut few, by_row);
                (table.product_f32)(product.unwrap());
                for t in 0..count {
                    for r in 0..rows {
                        let (few, all) = (few[r * count + t], all[t * rows + r]);
                        assert_eq!(few.to_bits(), all.to_bits(), "{} {count}", table.name);
                    }
                }
            }
        }
    }
}

#[test]
fn f32_multiplications_are_within_their_bound_on_every_table() {
    let mut noise = Noise(2);
    for (k, m, n) in shapes().filter(|&(k, ..)| k < 1000) {
        let (a_stride, b_stride, out_stride) = (k + 1, n + 2, n + 3);
        let a = noise.floats(m * a_stride);
        let b = noise.floats(k * b_stride);
        for table in tables() {
            let mut out = vec![UNTOUCHED; m * out_stride];
            let a = Table { data: &a, stride: a_stride };
            let b = Table { data: &b, stride: b_stride };
            (table.multiply_f32)(Multiply::new(a, b, &mut out, out_stride, (m, n, k)).unwrap());
            for (i, row) in out.chunks(out_stride).enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    if j >= n {
                        assert_eq!(value, UNTOUCHED);
                        continue;
                    }
                    let (mut exact, mut size) = (0.0, 1.0);
                    for l in 0..k {
                        let term = f64::from(a.data[i * a_stride + l])
                            * f64::from(b.data[l * b_stride + j]);
                        exact += term;
                        size += term.abs();
                    }
                    let error = (f64::from(value) - exact).abs();
                    assert!(error <= 1e-6 * size, "{} {m}×{n}×{k}: {error:e}", table.name);
                }
            }
        }
    }
}

/// Σ (code − zero) · weight of a token and a row, in wide integers.
fn exact_sum(x: &Codes<'_>, weights: &[u8], token: usize) -> i32 {
    let zero = i64::from(x.zeros[token]);
    let codes = &x.codes[token * x.stride..][..weights.len()];
    let terms =
        codes.iter().zip(weights).map(|(&code, &w)| (i64::from(code) - zero) * i64::from(w as i8));
    i32::try_from(terms.sum::<i64>()).unwrap()
}

#[test]
fn i8_products_have_the_same_bits_on_every_table() {
    let mut noise = Noise(3);
    let more_tokens = [(384, 47, 33), (1536, 20, 40), (2000, 18, 9), (33, 25, 64), (128, 70, 100)];
    // Whole cache lines, and rows in fours.
    let more_rows = [(64, 9, 4), (384, 33, 44), (128, 64, 40), (3072, 35, 8), (6144, 10, 4)];
    // Four products of weights up to 64 fit 16 bits, some of weights of 64 and 65 do not.
    let ranges = [
        ((0, 127), (-127, 127)),
        ((127, 127), (-127, -127)),
        ((0, 127), (-64, 64)),
        ((127, 127), (64, 65)),
        ((127, 127), (-65, -64)),
    ];
    for (cols, tokens, rows) in shapes().chain(more_tokens).chain(more_rows) {
        for ((low, high), weights) in ranges {
            let (x_stride, w_stride) = (cols + 3, cols + 1);
            let codes = noise.bytes(tokens * x_stride, low, high);
            let (low, high) = weights;
            let weights = noise.bytes(rows * w_stride, low, high);
            let zeros = noise.bytes(tokens, 0, 127);
            let scales: Vec<f32> = noise.floats(tokens).iter().map(|s| s.abs() * 0.01).collect();
            let row_scales: Vec<f32> = noise.floats(rows).iter().map(|s| s.abs() * 0.01).collect();
            let bias = noise.floats(rows);
            let x = Codes { codes: &codes, stride: x_stride, scales: &scales, zeros: &zeros };
            let row_codes: Vec<&[u8]> = weights.chunks(w_stride).map(|row| &row[..cols]).collect();
            let sums: Vec<Vec<i32>> = (0..tokens)
                .map(|t| row_codes.iter().map(|row| exact_sum(&x, row, t)).collect())
                .collect();
            for (strides, size) in layouts(tokens, rows) {
                let cases = tables().flat_map(|table| [(table, false), (table, true)]);
                for (table, summarized) in cases {
                    let summaries: Vec<_> = match table.summarize_row {
                        Some(summarize_row) if summarized => {
                            row_codes.iter().map(|row| summarize_row(row)).collect()
                        }
                        _ => Vec::new(),
                    };
                    let (codes, scales) = (&weights, &row_scales);
                    let w = Rows { codes, stride: w_stride, scales, summaries: &summaries };
                    let mut out = vec![UNTOUCHED; size];
                    for accumulate in [false, true] {
                        let before = out.clone();
                        let base = if accumulate { Base::Output } else { Base::Bias(&bias) };
                        let product = ProductI8::new(x, w, cols, base, &mut out, strides);
                        (table.product_i8)(product.unwrap());
                        for (t, sums) in sums.iter().enumerate() {
                            for (r, &sum) in sums.iter().enumerate() {
                                let at = t * strides.token + r * strides.row;
                                let base = if accumulate { before[at] } else { bias[r] };
                                let exact = base + sum as f32 * (x.scales[t] * row_scales[r]);
                                assert_eq!(
                                    out[at].to_bits(),
                                    exact.to_bits(),
                                    "{} {tokens}×{rows}×{cols} at {t}, {r}",
                                    table.name
                                );
                            }
                        }
                        let untouched = out.iter().filter(|&&value| value == UNTOUCHED).count();
                        assert_eq!(tokens * rows + untouched, size, "{}", table.name);
                    }
                }
            }
        }
    }
}

#[test]
fn i16_multiplications_have_the_same_bits_on_every_table() {
    let mut noise = Noise(4);
    for (pairs, m, n) in shapes().filter(|&(k, ..)| k < 300) {
        let (a_stride, b_stride, out_stride) = (pairs + 1, n + 2, n + 3);
        let mut words = |count: usize| -> Vec<i16> {
            (0..count).map(|_| (noise.next() % 4001) as i16 - 2000).collect()
        };
        let a = words(m * a_stride * 2);
        let b = words(pairs * b_stride * 2);
        let rows = noise.floats(m);
        let columns = noise.floats(n);
        let bytes = |words: &[i16]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
        for table in tables() {
            let mut out = vec![UNTOUCHED; m * out_stride];
            let (a_operand, b_operand) = ((&a_bytes[..], a_stride), (&b_bytes[..], b_stride));
            let out_operand = (&mut out[..], out_stride);
            (table.multiply_i16)(
                MultiplyI16::new(a_operand, b_operand, pairs, &rows, &columns, out_operand)
                    .unwrap(),
            );
            for (i, row) in out.chunks(out_stride).enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    if j >= n {
                        assert_eq!(value, UNTOUCHED);
                        continue;
                    }
                    let sum: i32 = (0..pairs * 2)
                        .map(|k| {
                            let b = b[(k / 2 * b_stride + j) * 2 + k % 2];
                            i32::from(a[i * a_stride * 2 + k]) * i32::from(b)
                        })
                        .sum();
                    let exact = sum as f32 * columns[j] * rows[i];
                    assert_eq!(value.to_bits(), exact.to_bits(), "{} {m}×{n}×{pairs}", table.name);
                }
            }
        }
    }
}

const LENGTHS: &[usize] =
    &[1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 384, 1000, 4096];

#[test]
fn softmax_is_within_its_bound_and_the_same_on_every_table() {
    let mut noise = Noise(5);
    for &length in LENGTHS {
        let x: Vec<f32> = noise.floats(length).iter().map(|x| x * 20.0).collect();
        let largest = x.iter().copied().fold(f32::MIN, f32::max);
        let exponentials: Vec<f64> =
            x.iter().map(|&x| libm::exp(f64::from(x - largest) * 0.25)).collect();
        let sum: f64 = exponentials.iter().sum();
        let mut first: Option<(Vec<f32>, Vec<u8>)> = None;
        for table in tables() {
            let mut values = x.clone();
            (table.softmax)(&mut values, 0.25);
            let mut scratch = x.clone();
            let mut codes = vec![9; length.div_ceil(2) * 4];
            (table.softmax_i16)(&mut scratch, 0.25, &mut codes);
            for (i, exponential) in exponentials.iter().enumerate() {
                let exact = exponential / sum;
                assert!((f64::from(values[i]) - exact).abs() < 1e-6, "{} {length}", table.name);
                let code = i16::from_le_bytes([codes[2 * i], codes[2 * i + 1]]);
                let error = (f64::from(code) / 32767.0 - exact).abs();
                assert!(error < 2e-5, "{} {length}: {error:e}", table.name);
            }
            assert!(codes[2 * length..].iter().all(|&code| code == 0));
            let first = first.get_or_insert((values.clone(), codes.clone()));
            assert_eq!(*first, (values, codes), "{} {length}", table.name);
        }
    }
}

#[test]
fn layer_norm_is_within_its_bound_and_the_same_on_every_table() {
    let mut noise = Noise(6);
    for (length, rows) in
        LENGTHS.iter().filter(|&&length| length > 8).zip([1, 3, 4, 6].iter().cycle())
    {
        let (x, y) = (noise.floats(length * rows), noise.floats(length * rows));
        let (weight, bias) = (noise.floats(*length), noise.floats(*length));
        let mut first: Option<Vec<f32>> = None;
        for table in tables() {
            let mut values = x.clone();
            (table.add_layer_norm)(&mut values, &y, &weight, &bias, 1e-12);
            let summands = x.chunks(*length).zip(y.chunks(*length));
            for ((x, y), values) in summands.zip(values.chunks(*length)) {
                let sums: Vec<f64> = x.iter().zip(y).map(|(x, y)| f64::from(x + y)).collect();
                let count = *length as f64;
                let mean = sums.iter().sum::<f64>() / count;
                let variance = sums.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
                for i in 0..*length {
                    let normal = (sums[i] - mean) / libm::sqrt(variance + 1e-12);
                    let exact = normal * f64::from(weight[i]) + f64::from(bias[i]);
                    let error = (f64::from(values[i]) - exact).abs();
                    let bound = 4e-6 * exact.abs().max(1.0);
                    assert!(error < bound, "{} {rows}×{length}: {error:e}", table.name);
                }
            }
            assert_eq!(first.get_or_insert(values.clone()), &values, "{} {length}", table.name);
        }
    }
}

/// Numbers at equal distances.
fn grid(from: f64, to: f64, steps: u32) -> Vec<f32> {
    (0..=steps).map(|i| (from + (to - from) * f64::from(i) / f64::from(steps)) as f32).collect()
}

#[test]
fn swiglu_is_within_its_bound_and_the_same_on_every_table() {
    let mut noise = Noise(8);
    for count in [1, 15, 16, 17, 100] {
        let gate: Vec<f32> = (0..count).map(|_| noise.float() * 40.0).collect();
        let up = noise.floats(count);
        let mut first: Option<Vec<u32>> = None;
        for table in tables() {
            let mut values = gate.clone();
            (table.swiglu)(&mut values, &up);
            for ((value, &gate), &up) in values.iter().zip(&gate).zip(&up) {
                let (x, up) = (f64::from(gate), f64::from(up));
                let exact = x / (1.0 + (-x).exp()) * up;
                let error = (f64::from(*value) - exact).abs();
                assert!(error < 1e-6 * (x * up).abs().max(1.0), "{} {x}: {error:e}", table.name);
            }
            let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            assert_eq!(first.get_or_insert(bits.clone()), &bits, "{}", table.name);
        }
    }
}

#[test]
fn gelu_is_within_its_bound_and_the_same_on_every_table() {
    for x in LENGTHS
        .iter()
        .map(|&length| grid(-3.0, 3.0, length as u32))
        .chain([grid(-40.0, 40.0, 400_000)])
    {
        let mut first: Option<Vec<f32>> = None;
        for table in tables() {
            let mut values = x.clone();
            (table.gelu)(&mut values);
            for (&x, &value) in x.iter().zip(&values) {
                let x = f64::from(x);
                let exact = 0.5 * x * (1.0 + libm::erf(x * core::f64::consts::FRAC_1_SQRT_2));
                let error = (f64::from(value) - exact).abs();
                assert!(error < 3e-7 * x.abs().max(1.0), "{} gelu({x}): {error:e}", table.name);
            }
            assert_eq!(first.get_or_insert(values.clone()), &values, "{}", table.name);
        }
    }
}

#[test]
fn powers_of_two_are_within_their_relative_bound() {
    for chunk in grid(-125.0, 0.0, 200_000).as_chunks::<LANES>().0 {
        let mut values = [0.0; LANES];
        power_of_two(Portable::load(chunk)).store(&mut values);
        for (&x, &value) in chunk.iter().zip(&values) {
            let exact = libm::exp2(f64::from(x));
            let error = (f64::from(value) - exact).abs() / exact;
            assert!(error < 2.5e-7, "2^{x}: {error:e}");
        }
    }
    for x in [f32::NEG_INFINITY, -1e30, -126.0] {
        let (mut values, mut least) = ([0.0; LANES], [0.0; LANES]);
        power_of_two(Portable::splat(x)).store(&mut values);
        power_of_two(Portable::splat(-125.0)).store(&mut least);
        assert_eq!(values, least);
    }
}

#[test]
fn codes_are_within_half_a_step_and_the_same_on_every_table() {
    let mut noise = Noise(8);
    for &length in LENGTHS {
        for shift in [-5.0, 0.0, 5.0] {
            let x: Vec<f32> = noise.floats(length).iter().map(|x| x + shift).collect();
            let columns: Vec<f32> = noise.floats(length).iter().map(|x| x.abs() + 0.1).collect();
            for columns in [&columns[..], &[]] {
                let mut first = None;
                for table in tables() {
                    let mut codes = vec![200; length];
                    let (scale, zero) = (table.quantize)(&x, columns, &mut codes);
                    for (i, &code) in codes.iter().enumerate() {
                        let exact = x[i] * columns.get(i).unwrap_or(&1.0);
                        let value = f32::from(i16::from(code) - i16::from(zero)) * scale;
                        assert!(code <= 127 && zero <= 127);
                        // The code of 0 is rounded too: the last code may be a whole step away.
                        assert!((value - exact).abs() <= scale * 1.001, "{} {length}", table.name);
                    }
                    let all = (codes, scale.to_bits(), zero);
                    assert_eq!(first.get_or_insert(all.clone()), &all, "{} {length}", table.name);
                }
            }
        }
    }
}

#[test]
fn words_are_within_half_a_step_and_the_same_on_every_table() {
    let mut noise = Noise(9);
    for (size, rows, _) in shapes().filter(|&(size, ..)| size < 200) {
        let x = noise.floats(rows * size);
        let mut first = None;
        for table in tables() {
            let line = size.div_ceil(2) * 4;
            let (mut codes, mut scales) = (vec![9; rows * line], vec![0.0; rows]);
            (table.quantize_rows)(&x, size, 8191.0, &mut codes, &mut scales);
            let lines = rows.div_ceil(2);
            let (mut pairs, mut steps) = (vec![9; lines * size * 4], vec![0.0; size]);
            (table.quantize_columns)(
                &x,
                size,
                32767.0,
                &mut pairs,
                &mut steps,
                &mut vec![0.0; size],
            );
            let word = |bytes: &[u8], at: usize| {
                f32::from(i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]))
            };
            for r in 0..rows {
                for c in 0..size {
                    let exact = x[r * size + c];
                    let by_row = word(&codes, r * line / 2 + c) * scales[r];
                    assert!((by_row - exact).abs() <= scales[r] * 0.501, "{}", table.name);
                    let by_column = word(&pairs, (r / 2 * size + c) * 2 + r % 2) * steps[c];
                    assert!((by_column - exact).abs() <= steps[c] * 0.51, "{}", table.name);
                }
            }
            let all = (codes, pairs);
            assert_eq!(first.get_or_insert(all.clone()), &all, "{}", table.name);
        }
    }
}

#[test]
fn values_that_are_no_numbers_do_no_harm() {
    for table in tables() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE] {
            let x = [bad, 1.0, -2.0, bad, 0.0];
            let mut codes = [0; 5];
            let (_, zero) = (table.quantize)(&x, &[], &mut codes);
            assert!(codes.iter().all(|&code| code <= 127) && zero <= 127, "{}", table.name);
            let mut words = [0; 12];
            (table.quantize_rows)(&x, 5, 8191.0, &mut words, &mut [0.0]);
            (table.softmax_i16)(&mut x.clone(), 1.0, &mut words);
            (table.gelu)(&mut x.clone());
        }
    }
}

#[test]
fn the_fastest_table_is_the_last() {
    let names: Vec<_> = tables().map(|table| table.name).collect();
    println!("tables: {names:?}");
    assert_eq!(names.first(), Some(&"portable"));
    assert_eq!(names.last(), Some(&super::detect().name));
}
