//! Operations on rows, the same code for every table.
//!
//! Sums run in [`LANES`] interleaved partial sums that are added as a fixed tree, and nothing is contracted into a
//! fused multiply-add: a table with wider vectors computes the same bits, only sooner. The vector tables instantiate
//! these bodies with their instruction set enabled, and the compiler turns the loops into vectors.

use crate::math::activation;

/// Partial sums of a reduction: the lanes of the widest vectors, so that narrower ones use several registers.
pub(super) const LANES: usize = 16;

/// Σ `term(x)` in [`LANES`] partial sums.
#[inline(always)]
fn sum(x: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += term(value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane += term(value);
    }
    fold(lanes, |a, b| a + b)
}

/// Combines the lanes as a fixed tree: lane i with lane i + 8, then i + 4, i + 2, i + 1.
#[inline(always)]
fn fold(lanes: [f32; LANES], combine: impl Fn(f32, f32) -> f32) -> f32 {
    let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = lanes;
    let c = [
        combine(a0, b0),
        combine(a1, b1),
        combine(a2, b2),
        combine(a3, b3),
        combine(a4, b4),
        combine(a5, b5),
        combine(a6, b6),
        combine(a7, b7),
    ];
    let d = [combine(c[0], c[4]), combine(c[1], c[5]), combine(c[2], c[6]), combine(c[3], c[7])];
    combine(combine(d[0], d[2]), combine(d[1], d[3]))
}

/// The smallest and the largest `term(x, y)`; +∞ and −∞ for none. NaN is ignored.
#[inline(always)]
pub(super) fn extremes(x: &[f32], y: &[f32], term: impl Fn(f32, f32) -> f32) -> (f32, f32) {
    let smaller = |a: f32, b: f32| if b < a { b } else { a };
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut low = [f32::INFINITY; LANES];
    let mut high = [f32::NEG_INFINITY; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for (((low, high), &x), &y) in low.iter_mut().zip(&mut high).zip(x).zip(y) {
            let value = term(x, y);
            *low = smaller(*low, value);
            *high = larger(*high, value);
        }
    }
    for (((low, high), &x), &y) in low.iter_mut().zip(&mut high).zip(x_rest).zip(y_rest) {
        let value = term(x, y);
        *low = smaller(*low, value);
        *high = larger(*high, value);
    }
    (fold(low, smaller), fold(high, larger))
}

/// Softmax of `scale · x` in place: `exp(scale · (x − max)) / Σ exp(scale · (x − max))`, `scale` ≥ 0.
///
/// Absolute error below 1e-6 for rows up to 4096 long.
#[inline(always)]
pub(super) fn softmax(x: &mut [f32], scale: f32) {
    let inverse = 1.0 / softmax_exponentials(x, scale);
    for value in x.iter_mut() {
        *value *= inverse;
    }
}

/// `exp(scale · (x − max))` in place; returns the sum.
#[inline(always)]
pub(super) fn softmax_exponentials(x: &mut [f32], scale: f32) -> f32 {
    let (_, largest) = extremes(x, x, |x, _| x);
    for value in x.iter_mut() {
        *value = activation::exp_negative((*value - largest) * scale);
    }
    sum(x, |value| value)
}

/// erf-GELU of every element in place; absolute error below 3e-7 · max(1, |x|).
#[inline(always)]
pub(super) fn gelu(x: &mut [f32]) {
    for value in x.iter_mut() {
        *value = activation::gelu(*value);
    }
}

/// Layer norm in place: `(x − mean) / √(variance + epsilon) · weight + bias`, over as many elements as the shortest has.
///
/// Absolute error below 4e-6 · max(1, |result|) for rows that are not nearly constant.
#[inline(always)]
pub(super) fn layer_norm(x: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    #[allow(clippy::cast_precision_loss)] // rows are shorter than 2²⁴
    let count = x.len() as f32;
    let mean = sum(x, |value| value) / count;
    let variance = sum(x, |value| (value - mean) * (value - mean)) / count;
    let scale = 1.0 / libm::sqrtf(variance + epsilon);
    for ((value, &weight), &bias) in x.iter_mut().zip(weight).zip(bias) {
        *value = (*value - mean) * scale * weight + bias;
    }
}

/// `x[i] += y[i]`, as far as both go.
#[inline(always)]
pub(super) fn add(x: &mut [f32], y: &[f32]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// `x[i] *= factor`.
#[inline(always)]
pub(super) fn scale(x: &mut [f32], factor: f32) {
    for x in x {
        *x *= factor;
    }
}

/// Σ x², in a fixed order.
#[inline(always)]
pub(super) fn sum_of_squares(x: &[f32]) -> f32 {
    sum(x, |value| value * value)
}
