//! Row operations: softmax, norms, activations, and quantisation.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::super::rows::power_of_two;
use super::super::vector::{LANES, Portable, Vector};
use super::{Noise, Table, shapes, tables};

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

/// Evenly spaced numbers.
fn grid(from: f64, to: f64, steps: u32) -> Vec<f32> {
    (0..=steps).map(|i| (from + (to - from) * f64::from(i) / f64::from(steps)) as f32).collect()
}

// BERT has no such activation: tables without `families` leave it out.
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
fn numbers_are_added_as_they_lie() {
    let mut noise = Noise(9);
    for count in [0, 1, 15, 16, 17, 100] {
        let (sum, added) = (noise.floats(count), noise.floats(count));
        let bytes: Vec<u8> = added.iter().flat_map(|x| x.to_le_bytes()).collect();
        let expected: Vec<f32> = sum.iter().zip(&added).map(|(a, b)| a + b).collect();
        for table in tables() {
            let mut found = sum.clone();
            super::super::add_f32(&table, &mut found, &bytes);
            assert_eq!(found, expected, "{}", table.name);
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
        let stride = size + rows % 3;
        let data = noise.floats(rows * stride);
        let x = Table { data: &data, stride };
        let mut first = None;
        for table in tables() {
            let line = size.div_ceil(2) * 4;
            let (mut codes, mut scales) = (vec![9; rows * line], vec![0.0; rows]);
            (table.quantize_rows)(x, size, 8191.0, &mut codes, &mut scales);
            let lines = rows.div_ceil(2);
            let (mut pairs, mut steps) = (vec![9; lines * size * 4], vec![0.0; size]);
            let to = (&mut pairs[..], size);
            (table.quantize_columns)(x, 32767.0, to, &mut steps, &mut vec![0.0; size]);
            let word = |bytes: &[u8], at: usize| {
                f32::from(i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]))
            };
            for r in 0..rows {
                for c in 0..size {
                    let exact = data[r * stride + c];
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
