//! Queries against low-bit rows, compared with exact 64-bit sums.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::super::scan::{MOST_QUERY, differing_bits, dot_rows};
use super::{COLS, Noise, ROWS};

const UNTOUCHED: i32 = -77;

#[test]
fn rows_are_multiplied_exactly() {
    let mut noise = Noise(21);
    for &cols in COLS {
        for &count in ROWS {
            let query: Vec<i16> =
                (0..cols).map(|_| (noise.next() % 20_001) as i16 - 10_000).collect();
            let rows: Vec<i8> =
                noise.bytes(cols * count, -128, 127).iter().map(|&x| x as i8).collect();
            let mut out = vec![UNTOUCHED; count + 2];
            dot_rows(&query, &rows, &mut out);
            for (row, &sum) in rows.chunks(cols).zip(&out) {
                let exact: i64 =
                    query.iter().zip(row).map(|(&x, &y)| i64::from(x) * i64::from(y)).sum();
                assert_eq!(i64::from(sum), exact, "{cols} × {count}");
            }
            assert_eq!(out[count..], [UNTOUCHED; 2]);
        }
    }
}

#[test]
fn the_largest_query_does_not_overflow() {
    let cols = (MOST_QUERY / 32_767) as usize;
    for (x, y) in [(32_767, 127), (32_767, -128), (-32_767, -128)] {
        let mut out = [0];
        dot_rows(&vec![x; cols], &vec![y; cols], &mut out);
        assert_eq!(i64::from(out[0]), cols as i64 * i64::from(x) * i64::from(y));
    }
}

#[test]
fn bits_that_differ_are_counted() {
    let mut noise = Noise(22);
    for &bytes in COLS {
        for &count in ROWS {
            let query = noise.bytes(bytes, 0, 255);
            let rows = noise.bytes(bytes * count, 0, 255);
            let mut out = vec![UNTOUCHED; count + 2];
            differing_bits(&query, &rows, &mut out);
            for (row, &found) in rows.chunks(bytes).zip(&out) {
                let bits = (0..8 * bytes).filter(|&bit| {
                    (query[bit / 8] >> (bit % 8)) & 1 != (row[bit / 8] >> (bit % 8)) & 1
                });
                assert_eq!(found, bits.count() as i32, "{bytes} × {count}");
            }
            assert_eq!(out[count..], [UNTOUCHED; 2]);
        }
    }
}

#[test]
fn without_rows_or_query_nothing_happens() {
    let mut out = [UNTOUCHED; 3];
    dot_rows(&[1, 2], &[3], &mut out);
    dot_rows(&[], &[], &mut out);
    differing_bits(&[1, 2], &[3], &mut out);
    differing_bits(&[], &[], &mut out);
    assert_eq!(out, [UNTOUCHED; 3]);
}
