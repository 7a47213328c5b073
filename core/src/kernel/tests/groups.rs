//! Codes in groups: unpacking, products and dequantisation.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::super::Signs;
use super::super::groups::{GroupedCodes, GroupedRows, ProductGroups, TILE_ROWS};
use super::{Noise, Strides, UNTOUCHED, layouts, tables};
use crate::tensor::CodeBits;

#[test]
fn products_of_groups_are_within_their_bound_and_the_same_on_every_table() {
    let mut noise = Noise(11);
    for (cols, tokens, rows) in
        [(16, 1, 1), (32, 3, 16), (48, 13, 9), (384, 8, 16), (96, 29, 5), (1568, 7, 16)]
    {
        for (group, most) in [(16, 15), (32, 127), (32, 255), (16, 63)] {
            if cols % group != 0 {
                continue;
            }
            let groups = cols / group;
            let codes = noise.bytes(rows * cols, 0, most);
            let factors = TILE_ROWS * groups;
            let (scales, minima) = (noise.floats(factors), noise.floats(factors));
            let bias = noise.floats(rows);
            let x = noise.floats(tokens * cols);
            let mut first: Option<Vec<u32>> = None;
            for table in tables() {
                let mut x_codes = vec![0; tokens * cols];
                let (mut x_scales, mut sums) =
                    (vec![0.0; tokens * groups], vec![0.0; tokens * groups]);
                let limit = if tokens % 2 == 0 { 127.0 } else { 61.0 };
                (table.quantize_groups)(&x, group, limit, &mut x_codes, &mut x_scales, &mut sums);
                for (i, &code) in x_codes.iter().enumerate() {
                    let scale = x_scales[i / group];
                    let error = (f32::from(code as i8) * scale - x[i]).abs();
                    assert!(error <= scale * 0.501, "{} {error}", table.name);
                    assert!(f32::from((code as i8).unsigned_abs()) <= limit, "{}", table.name);
                }
                for (strides, size) in layouts(tokens, rows) {
                    let mut out = vec![UNTOUCHED; size];
                    let x = GroupedCodes { codes: &x_codes, scales: &x_scales, sums: &sums };
                    let w = GroupedRows { codes: &codes, scales: &scales, minima: &minima };
                    let shape = (cols, group);
                    (table.product_groups)(
                        ProductGroups::new(x, w, &bias, shape, &mut out, strides).unwrap(),
                    );
                    let mut all = Vec::new();
                    for t in 0..tokens {
                        for r in 0..rows {
                            let (mut exact, mut size) = (f64::from(bias[r]), 1.0);
                            for c in 0..cols {
                                let at = c / group * TILE_ROWS + r;
                                let w = f64::from(codes[r * cols + c]) * f64::from(scales[at])
                                    + f64::from(minima[at]);
                                let x = f64::from(x_codes[t * cols + c] as i8)
                                    * f64::from(x_scales[t * groups + c / group]);
                                exact += w * x;
                                size +=
                                    (f64::from(codes[r * cols + c]) * f64::from(scales[at]) * x)
                                        .abs()
                                        + (f64::from(minima[at]) * x).abs();
                            }
                            let value = out[t * strides.token + r * strides.row];
                            let error = (f64::from(value) - exact).abs();
                            assert!(error <= 2e-6 * size, "{} {cols}: {error:e}", table.name);
                            all.push(value.to_bits());
                        }
                    }
                    let untouched = out.iter().filter(|&&value| value == UNTOUCHED).count();
                    assert_eq!(all.len() + untouched, size, "{} wrote elsewhere", table.name);
                    assert_eq!(first.get_or_insert(all.clone()), &all, "{} {cols}", table.name);
                }
            }
        }
    }
}

#[test]
fn the_largest_codes_of_a_group_are_summed_up_exactly() {
    const COLS: usize = 64;
    let x = GroupedCodes { codes: &[129; COLS * 5], scales: &[1.0; 10], sums: &[0.0; 10] };
    let factors = [1.0; 2 * TILE_ROWS];
    for most in [15, 31, 32, 127, 255] {
        let w = GroupedRows { codes: &[most; COLS * 4], scales: &factors, minima: &factors };
        let expected = -127.0 * f32::from(most) * COLS as f32;
        for table in tables() {
            let mut out = [0.0; 20];
            let strides = Strides { token: 4, row: 1 };
            let product = ProductGroups::new(x, w, &[0.0; 4], (COLS, 32), &mut out, strides);
            (table.product_groups)(product.unwrap());
            assert!(out.iter().all(|&sum| sum == expected), "{} {most}", table.name);
        }
    }
}

#[test]
fn codes_are_unpacked_to_the_same_bytes_on_every_table() {
    let mut noise = Noise(5);
    for bits in [CodeBits::Four, CodeBits::Five, CodeBits::Eight] {
        let width = usize::from(bits.bits());
        for count in (0..70).chain([384, 1001]) {
            let bytes = noise.bytes((count * width).div_ceil(8), 0, 255);
            let bit = |at: usize| bytes[at / 8] >> (at % 8) & 1;
            let code = |index: usize| (0..width).map(|b| bit(index * width + b) << b).sum::<u8>();
            let expected: Vec<u8> = (0..count).map(|i| code(i) ^ 1 << (width - 1)).collect();
            for table in tables() {
                let mut out = vec![0; count];
                (table.unpack_codes)(bits, &bytes, &mut out);
                assert_eq!(out, expected, "{} {width} {count}", table.name);
            }
        }
    }
}

#[test]
fn every_two_bytes_at_every_place_are_unpacked_the_same_on_every_table() {
    const COUNT: usize = 64;
    for bits in [CodeBits::Four, CodeBits::Five, CodeBits::Eight] {
        let width = usize::from(bits.bits());
        for pair in (0..=u16::MAX).map(u16::to_le_bytes) {
            let bytes: [u8; COUNT] = core::array::from_fn(|at| pair[at % 2]);
            let code = |index: usize| {
                let at = index * width / 8;
                let word = u16::from_le_bytes([pair[at % 2], pair[(at + 1) % 2]]);
                (word >> (index * width % 8)) as u8 & u8::MAX >> (8 - width)
            };
            let expected: [u8; COUNT] = core::array::from_fn(|i| code(i) ^ 1 << (width - 1));
            for table in tables() {
                let mut out = [0; COUNT];
                (table.unpack_codes)(bits, &bytes[..COUNT * width / 8], &mut out);
                assert_eq!(out, expected, "{} {width} {pair:x?}", table.name);
            }
        }
    }
}

#[test]
fn codes_become_the_same_numbers_on_every_table() {
    let mut noise = Noise(12);
    for (count, group) in [(512, 32), (512, 16), (384, 384), (37, 37), (50, 16), (5, 8)] {
        let codes = noise.bytes(count, 0, 255);
        let factors: Vec<(f32, f32)> =
            (0..count.div_ceil(group)).map(|_| (noise.float(), noise.float())).collect();
        for signs in [Signs::SIGNED, Signs { flip: 0, offset: 8 }] {
            for table in tables() {
                let mut out = vec![UNTOUCHED; count];
                (table.dequantize_groups)(&codes, signs, group, &factors, &mut out);
                for (i, (&value, &code)) in out.iter().zip(&codes).enumerate() {
                    let (scale, minimum) = factors[i / group];
                    let signed = f32::from(code as i8);
                    let number =
                        if signs == Signs::SIGNED { signed } else { f32::from(code) - 8.0 };
                    let exact = scale * number + minimum;
                    assert_eq!(value.to_bits(), exact.to_bits(), "{} {i}", table.name);
                }
            }
        }
    }
}
