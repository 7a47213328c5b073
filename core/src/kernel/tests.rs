//! Tests every table against f64 and against the portable one, at lengths around the vector widths.

extern crate std;

mod floats;
mod groups;
mod integers;
mod rows;
mod scan;

use std::println;
use std::vec::Vec;

use super::{Kernels, Signs, Strides, Table, available};

/// Pseudo-random numbers, the same ones in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Approximately normal, standard deviation 1.
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

/// Layouts of the output, with gaps: rows contiguous, tokens contiguous, and neither.
fn layouts(tokens: usize, rows: usize) -> [(Strides, usize); 3] {
    [
        (Strides { token: rows + 3, row: 1 }, tokens * (rows + 3)),
        (Strides { token: 2 * rows, row: 2 }, tokens * 2 * rows),
        (Strides { token: 1, row: tokens + 5 }, rows * (tokens + 5)),
    ]
}

const UNTOUCHED: f32 = -12345.0;

#[test]
fn values_that_are_no_numbers_do_no_harm() {
    for table in tables() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE] {
            let x = [bad, 1.0, -2.0, bad, 0.0];
            let mut codes = [0; 5];
            let (_, zero) = (table.quantize)(&x, &[], &mut codes);
            assert!(codes.iter().all(|&code| code <= 127) && zero <= 127, "{}", table.name);
            let mut words = [0; 12];
            (table.quantize_rows)(Table { data: &x, stride: 5 }, 5, 8191.0, &mut words, &mut [0.0]);
            (table.softmax_i16)(&mut x.clone(), 1.0, &mut words);
            (table.gelu)(&mut x.clone());
        }
    }
}

#[test]
fn lengths_that_do_not_fit_do_no_harm() {
    const SIZES: [usize; 4] = [0, 3, 16, 70];
    for table in tables() {
        for (long, short) in SIZES.iter().flat_map(|&long| SIZES.map(|short| (long, short))) {
            let (x, y) = (std::vec![1.0_f32; long], std::vec![2.0_f32; short]);
            let (mut codes, mut sums) = (std::vec![1_u8; short], y.clone());
            (table.quantize)(&x, &y, &mut codes);
            (table.softmax_i16)(&mut x.clone(), 1.0, &mut codes);
            (table.swiglu)(&mut x.clone(), &y);
            super::add_f32(&table, &mut x.clone(), &codes);
            (table.add_layer_norm)(&mut x.clone(), &y, &y, &x, 1e-12);
            (table.add_layer_norm)(&mut x.clone(), &x, &y, &y, 1e-12);
            for size in [0, 1, 16, 50] {
                let rows = Table { data: &x, stride: size };
                (table.quantize_rows)(rows, short, 8191.0, &mut codes, &mut sums);
                (table.quantize_groups)(&x, size, 127.0, &mut codes, &mut sums, &mut y.clone());
                let scales = &mut x.clone();
                let line = (&mut codes[..], short);
                (table.quantize_columns)(rows, 8191.0, line, scales, &mut sums);
                let factors = [(1.0, 2.0); 3];
                (table.dequantize_groups)(&codes, Signs::SIGNED, size, &factors, scales);
            }
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
