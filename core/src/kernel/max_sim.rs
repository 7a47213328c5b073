//! MaxSim, the similarity of late interaction: the sum over the vectors of a query of the largest dot
//! product with a vector of a document, in f32 or with a document in signed bytes.

use super::Kernels;
use super::product::{FloatOperand, Product, Strides};
use super::scan::dot_rows;

/// Rows of a document whose products with some vectors of the query are computed together.
const ROWS: usize = 32;

/// Vectors of a query whose products are computed together.
const QUERIES: usize = 32;

/// The MaxSim of `query` and `document`, `[vectors, width]` each; 0 if either has no vector.
/// Elements after the last whole vector are left out.
#[must_use]
pub fn max_sim(kernels: &Kernels, width: usize, query: &[f32], document: &[f32]) -> f32 {
    let (biases, mut products) = ([0.0; ROWS], [0.0; QUERIES * ROWS]);
    let mut sum = 0.0;
    for queries in query.chunks((width * QUERIES).max(1)) {
        let mut best = [f32::NEG_INFINITY; QUERIES];
        for rows in document.chunks((width * ROWS).max(1)) {
            let count = rows.len().checked_div(width).unwrap_or(0);
            let (rows, bias) = (rows.get(..count * width), biases.get(..count));
            let strides = Strides { token: ROWS, row: 1 };
            let weights = FloatOperand::Values(rows.unwrap_or_default());
            let bias = bias.unwrap_or_default();
            let product = Product::new(queries, weights, bias, width, &mut products, strides);
            let Ok(product) = product else { continue };
            (kernels.product_f32)(product);
            for (best, products) in best.iter_mut().zip(products.chunks_exact(ROWS)) {
                *best = products.iter().take(count).fold(*best, |best, x| best.max(*x));
            }
        }
        let count = queries.len().checked_div(width).unwrap_or(0);
        let found = best.iter().take(count).filter(|best| **best > f32::NEG_INFINITY);
        sum += found.sum::<f32>();
    }
    sum
}

/// Vectors in codes.
#[derive(Clone, Copy, Debug)]
pub struct CodedRows<'a, C> {
    /// `[vectors, width]`.
    pub codes: &'a [C],
    /// The value of a step of each vector's codes.
    pub scales: &'a [f32],
}

/// As [`max_sim`], of codes. The sum of the magnitudes of the codes of a vector of the query is at
/// most [`MOST_QUERY`](super::scan::MOST_QUERY).
#[must_use]
pub fn max_sim_int8(width: usize, query: CodedRows<'_, i16>, document: CodedRows<'_, i8>) -> f32 {
    let mut products = [0; ROWS];
    let mut sum = 0.0;
    for (query, scale) in query.codes.chunks_exact(width.max(1)).zip(query.scales) {
        let mut best = f32::NEG_INFINITY;
        let blocks = document.codes.chunks((width * ROWS).max(1));
        for (rows, scales) in blocks.zip(document.scales.chunks(ROWS)) {
            dot_rows(query, rows, &mut products);
            let count = rows.len().checked_div(width).unwrap_or(0);
            for (product, scale) in products.iter().zip(scales).take(count) {
                #[allow(clippy::cast_precision_loss)] // by half a step of f32
                let product = *product as f32 * scale;
                best = best.max(product);
            }
        }
        if best > f32::NEG_INFINITY {
            sum += best * scale;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::kernel;

    /// Numbers between -1 and 1 in no order.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn exact(width: usize, query: &[f64], document: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let best = |query: &[f64]| {
            let products = document.chunks(width).map(|row| dot(query, row));
            products.fold(f64::NEG_INFINITY, f64::max)
        };
        query.chunks(width).map(best).sum()
    }

    fn doubles(x: &[f32]) -> Vec<f64> {
        x.iter().map(|x| f64::from(*x)).collect()
    }

    /// Numbers of vectors around those that are computed together.
    const COUNTS: [(usize, usize); 6] = [(1, 1), (3, 31), (31, 32), (32, 33), (33, 64), (65, 100)];

    #[test]
    fn sums_are_within_a_hundred_thousandth_of_a_vector_on_every_table() {
        for kernels in kernel::available() {
            for width in [1, 7, 32, 96, 128] {
                for (queries, rows) in COUNTS {
                    let (query, document) = (numbers(7, queries * width), numbers(8, rows * width));
                    let found = max_sim(&kernels, width, &query, &document);
                    let exact = exact(width, &doubles(&query), &doubles(&document));
                    let apart = (f64::from(found) - exact).abs();
                    assert!(apart < 1e-5 * queries as f64, "{} {width} {queries}", kernels.name);
                }
            }
        }
    }

    #[test]
    fn codes_give_what_their_values_give() {
        for width in [1, 7, 32, 96, 128] {
            for (queries, rows) in COUNTS {
                let codes = |seed, count, most: f32| {
                    numbers(seed, count).into_iter().map(move |x| (x * most) as i16)
                };
                let query: Vec<i16> = codes(5, queries * width, 8191.0).collect();
                let document: Vec<i8> = codes(6, rows * width, 127.0).map(|x| x as i8).collect();
                let scales = |seed, count| -> Vec<f32> {
                    numbers(seed, count).into_iter().map(|x| (x + 2.0) / 1000.0).collect()
                };
                let (query_scales, document_scales) = (scales(1, queries), scales(2, rows));
                let values = |codes: &[f64], scales: &[f32]| -> Vec<f64> {
                    let rows = codes.chunks(width).zip(scales);
                    rows.flat_map(|(row, scale)| row.iter().map(|x| x * f64::from(*scale)))
                        .collect()
                };
                let all = |codes: &[i16]| codes.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
                let bytes: Vec<f64> = document.iter().map(|x| f64::from(*x)).collect();
                let exact = exact(
                    width,
                    &values(&all(&query), &query_scales),
                    &values(&bytes, &document_scales),
                );
                let query = CodedRows { codes: &query, scales: &query_scales };
                let document = CodedRows { codes: &document, scales: &document_scales };
                let found = f64::from(max_sim_int8(width, query, document));
                assert!((found - exact).abs() <= 2e-6 * exact.abs().max(1.0), "{found} {exact}");
            }
        }
    }

    #[test]
    fn what_has_no_vector_is_similar_to_nothing() {
        let kernels = Kernels::portable();
        assert_eq!(max_sim(&kernels, 2, &[1.0, 0.0], &[]), 0.0);
        assert_eq!(max_sim(&kernels, 2, &[], &[1.0, 0.0]), 0.0);
        assert_eq!(max_sim(&kernels, 0, &[1.0], &[1.0]), 0.0);
        // A negative product is a similarity, too.
        assert_eq!(max_sim(&kernels, 2, &[1.0, 0.0], &[-0.5, 0.0]), -0.5);
        let none = CodedRows { codes: &[][..], scales: &[] };
        assert_eq!(max_sim_int8(2, CodedRows { codes: &[1, 1], scales: &[1.0] }, none), 0.0);
    }
}
