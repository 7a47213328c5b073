//! Products and multiplications of f32.

extern crate std;

use std::vec;

use super::super::{FloatOperand, Multiply, Product, Strides, Table};
use super::{Noise, UNTOUCHED, layouts, shapes, tables};

#[test]
fn f32_products_are_within_their_bound_on_every_table() {
    let mut noise = Noise(1);
    let more_tokens =
        [(384, 61, 33), (513, 48, 9), (1100, 55, 40), (7, 71, 64), (384, 140, 5), (50_001, 3, 3)];
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
                for weights in [FloatOperand::Bytes(&bytes[1..]), FloatOperand::Values(&w)] {
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
fn products_of_some_tokens_after_others_are_those_of_all() {
    let mut noise = Noise(11);
    let (cols, rows) = (33, 7);
    for tokens in [2, 16, 17, 33, 64, 65] {
        let (x, w) = (noise.floats(tokens * cols), noise.floats(rows * cols));
        let bias = noise.floats(rows);
        for ((strides, size), table) in layouts(tokens, rows).into_iter().zip(tables()) {
            let product = |parts: bool| {
                let mut out = vec![UNTOUCHED; size];
                let weights = FloatOperand::Values(&w);
                let product = Product::new(&x, weights, &bias, cols, &mut out, strides).unwrap();
                match parts {
                    true => product.by_tokens(16, table.product_f32),
                    false => (table.product_f32)(product),
                }
                out.iter().map(|x| x.to_bits()).collect::<vec::Vec<_>>()
            };
            assert!(product(true) == product(false), "{} {tokens}", table.name);
        }
    }
}

#[test]
fn a_token_has_the_same_bits_however_many_are_computed_together() {
    // See `Kernels::product_f32`.
    let fewest = if cfg!(target_arch = "wasm32") { 2 } else { 1 };
    let mut noise = Noise(10);
    for (cols, rows) in
        [(384, 32), (384, 53), (1536, 48), (801, 17), (3, 5), (7001, 13), (12_290, 3)]
    {
        let tokens = 33;
        let x = noise.floats(tokens * cols);
        let w = noise.floats(rows * cols);
        let bias = noise.floats(rows);
        for table in tables() {
            let mut all = vec![0.0; tokens * rows];
            let by_token = Strides { token: rows, row: 1 };
            let weights = FloatOperand::Values(&w);
            let product = Product::new(&x, weights, &bias, cols, &mut all, by_token);
            (table.product_f32)(product.unwrap());
            for count in fewest..tokens {
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
