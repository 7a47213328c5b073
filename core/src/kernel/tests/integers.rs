//! Products and multiplications of integers.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::super::integer::{ActivationCodes, MultiplyI16, ProductBase, ProductI8, WeightRows};
use super::{Noise, UNTOUCHED, layouts, shapes, tables};

/// Σ (code − zero) · weight of a token and a row, in wide integers.
fn exact_sum(x: &ActivationCodes<'_>, weights: &[u8], token: usize) -> i32 {
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
    let any = (0, 127);
    let ranges = [
        (any, any, (-127, 127)),
        ((127, 127), any, (-127, -127)),
        (any, any, (-64, 64)),
        ((127, 127), any, (64, 65)),
        ((127, 127), any, (-65, -64)),
        // Sums of two of every 16 columns that fit 16 bits, all of them and over 192 columns, and
        // some that just do, or just do not: 48 · (84 − 64) · 34 does, and 24 · (100 − 64) · 37.
        ((54, 74), (63, 65), (-30, 30)),
        ((54, 74), (63, 65), (-90, 90)),
        ((84, 84), (64, 64), (34, 35)),
        ((44, 44), (64, 64), (34, 35)),
        ((100, 100), (64, 64), (-38, -37)),
        ((28, 28), (64, 64), (-38, -37)),
    ];
    for (cols, tokens, rows) in shapes().chain(more_tokens).chain(more_rows) {
        for ((low, high), zeros, weights) in ranges {
            let (x_stride, w_stride) = (cols + 3, cols + 1);
            let codes = noise.bytes(tokens * x_stride, low, high);
            let (low, high) = weights;
            let weights = noise.bytes(rows * w_stride, low, high);
            let zeros = noise.bytes(tokens, zeros.0, zeros.1);
            let scales: Vec<f32> = noise.floats(tokens).iter().map(|s| s.abs() * 0.01).collect();
            let row_scales: Vec<f32> = noise.floats(rows).iter().map(|s| s.abs() * 0.01).collect();
            let bias = noise.floats(rows);
            let x =
                ActivationCodes { codes: &codes, stride: x_stride, scales: &scales, zeros: &zeros };
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
                    let w = WeightRows { codes, stride: w_stride, scales, summaries: &summaries };
                    let mut out = vec![UNTOUCHED; size];
                    for accumulate in [false, true] {
                        let before = out.clone();
                        let base =
                            if accumulate { ProductBase::Output } else { ProductBase::Bias(&bias) };
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
