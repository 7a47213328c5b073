//! Operations on rows, written once over [`Vector`]: bit-identical on every table.

use core::f32::consts::LOG2_E;

use super::root;
use super::vector::{LANES, ROUND, Vector};

/// Replaces every element of `$x` by `$result`, where `$value` holds sixteen of them.
///
/// A macro, like the others here: closures would not be compiled with the instructions of the
/// table.
macro_rules! map {
    ($x:expr, $value:ident: $vector:ty => $result:expr) => {{
        let (chunks, rest) = $x.as_chunks_mut::<LANES>();
        for chunk in chunks {
            let $value = <$vector>::load(chunk);
            $result.store(chunk);
        }
        if !rest.is_empty() {
            let $value = <$vector>::load_part(rest, 0.0);
            $result.store_part(rest);
        }
    }};
}

/// A reduction of `$x` to sixteen partial results; every lane begins with `$start`.
///
/// Four independent chains alternate chunk by chunk and are joined as `(a + b) + (c + d)`: a single
/// chain would be bound by latency. Missing elements are `$fill`.
macro_rules! reduce {
    (
        $x:expr, $fill:expr, $start:expr,
        ($lanes:ident, $value:ident) => $step:expr,
        ($left:ident, $right:ident) => $join:expr
    ) => {{
        macro_rules! step {
            ($part:expr, $next:expr) => {{
                let ($lanes, $value) = ($part, $next);
                $part = $step;
            }};
        }
        macro_rules! join {
            ($a:expr, $b:expr) => {{
                let ($left, $right) = ($a, $b);
                $join
            }};
        }
        let (chunks, rest) = $x.as_chunks::<LANES>();
        let (fours, chunks) = chunks.as_chunks::<4>();
        let mut parts = [$start; 4];
        for [a, b, c, d] in fours {
            step!(parts[0], V::load(a));
            step!(parts[1], V::load(b));
            step!(parts[2], V::load(c));
            step!(parts[3], V::load(d));
        }
        for (part, chunk) in parts.iter_mut().zip(chunks) {
            step!(*part, V::load(chunk));
        }
        if !rest.is_empty() {
            step!(parts[3], V::load_part(rest, $fill));
        }
        let [a, b, c, d] = parts;
        join!(join!(a, b), join!(c, d))
    }};
}
pub(super) use reduce;

/// A polynomial, the coefficient of the highest power first.
#[inline(always)]
fn polynomial<V: Vector, const N: usize>(coefficients: [f32; N], x: V) -> V {
    let mut sum = V::splat(0.0);
    let mut first = true;
    for term in coefficients {
        sum = if first { V::splat(term) } else { sum.mul(x).add(V::splat(term)) };
        first = false;
    }
    sum
}

/// `2ˣ` for `x ≤ 0`, as softmax needs it.
///
/// x = n + f with |f| ≤ ½, 2ˣ = 2ⁿ · p(f), p a minimax fit of degree 5 with p(0) = 1 (fit error
/// 9.2e-8). Relative error below 2.5e-7 for −125 ≤ x ≤ 0; below −125 the value of −125 (2.4e-38).
#[inline(always)]
pub(super) fn power_of_two<V: Vector>(x: V) -> V {
    #[expect(clippy::approx_constant, reason = "the best fit is near ln 2, not it")]
    const MINIMAX: [f32; 6] =
        [0.001_326_472_7, 0.009_671_513, 0.055_507_336, 0.240_222_42, 0.693_147, 1.0];
    let x = x.max(V::splat(-125.0));
    let shifted = x.add(V::splat(ROUND));
    let fraction = x.sub(shifted.sub(V::splat(ROUND)));
    polynomial(MINIMAX, fraction).mul(shifted.power_of_two())
}

/// `erf(z)` as numerator and denominator: z · P(z²) / Q(z²) on |z| ≤ 3.92, beyond that ±1.
///
/// The coefficients are a minimax fit of degree 6 over 4 (fit error 4.4e-8). Absolute error of the
/// quotient below 4e-7.
#[inline(always)]
fn erf_quotient<V: Vector>(z: V) -> (V, V) {
    const LIMIT: f32 = 3.92;
    const P: [f32; 7] = [
        1.991_908_9e-8,
        -1.994_007_8e-6,
        0.000_148_954_51,
        0.003_971_905_4,
        0.051_394_477,
        0.206_093_7,
        1.128_378_7,
    ];
    const Q: [f32; 5] = [0.001_023_855, 0.014_887_357, 0.117_555_976, 0.515_974_6, 1.0];
    let z = z.min(V::splat(LIMIT)).max(V::splat(-LIMIT));
    let u = z.mul(z);
    (z.mul(polynomial(P, u)), polynomial(Q, u))
}

/// Softmax of `scale · x` in place: `exp(scale · (x − max)) / Σ exp(scale · (x − max))`, `scale` ≥
/// 0.
///
/// Absolute error below 1e-6 for rows up to 4096 long.
#[inline(always)]
pub(super) fn softmax<V: Vector>(x: &mut [f32], scale: f32) {
    let inverse = V::splat(1.0 / softmax_exponentials::<V>(x, scale));
    map!(x, value: V => value.mul(inverse));
}

/// `exp(scale · (x − max))` in place; returns the sum, to which each missing element of the last
/// vector adds 2⁻¹²⁵.
#[inline(always)]
pub(super) fn softmax_exponentials<V: Vector>(x: &mut [f32], scale: f32) -> f32 {
    let least = V::splat(f32::NEG_INFINITY);
    let largest = reduce!(
        x, f32::NEG_INFINITY, least,
        (lanes, value) => value.max(lanes),
        (left, right) => right.max(left)
    );
    let (largest, scale) = (V::splat(largest.most()), V::splat(scale * LOG2_E));
    let mut sum = V::splat(0.0);
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        let value = power_of_two(V::load(chunk).sub(largest).mul(scale));
        value.store(chunk);
        sum = sum.add(value);
    }
    if !rest.is_empty() {
        let value = power_of_two(V::load_part(rest, f32::NEG_INFINITY).sub(largest).mul(scale));
        value.store_part(rest);
        sum = sum.add(value);
    }
    sum.sum()
}

/// The sum of all elements.
#[inline(always)]
fn sum<V: Vector>(x: &[f32]) -> f32 {
    let zero = V::splat(0.0);
    let lanes = reduce!(
        x, 0.0, zero, (lanes, value) => lanes.add(value), (left, right) => left.add(right)
    );
    lanes.sum()
}

/// The exact ("erf") GELU of every element of a row in place: x/2 · (1 + erf(x/√2)).
///
/// Absolute error below 3e-7 · max(1, |x|).
#[inline(always)]
pub(super) fn gelu<V: Vector>(x: &mut [f32]) {
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    let (pairs, single) = chunks.as_chunks_mut::<2>();
    for [a, b] in pairs {
        let values = gelu_pair(V::load(a), V::load(b));
        values.0.store(a);
        values.1.store(b);
    }
    let zero = V::splat(0.0);
    for chunk in single {
        gelu_pair(V::load(chunk), zero).0.store(chunk);
    }
    if !rest.is_empty() {
        gelu_pair(V::load_part(rest, 0.0), zero).0.store_part(rest);
    }
}

/// GELU of two vectors with one division, which takes as long as ten other steps.
#[inline(always)]
fn gelu_pair<V: Vector>(a: V, b: V) -> (V, V) {
    let root = V::splat(core::f32::consts::FRAC_1_SQRT_2);
    let (above_a, below_a) = erf_quotient(a.mul(root));
    let (above_b, below_b) = erf_quotient(b.mul(root));
    let inverse = V::splat(1.0).div(below_a.mul(below_b));
    let erf_a = above_a.mul(below_b.mul(inverse));
    let erf_b = above_b.mul(below_a.mul(inverse));
    let half = V::splat(0.5);
    let (half_a, half_b) = (a.mul(half), b.mul(half));
    (half_a.add(half_a.mul(erf_a)), half_b.add(half_b.mul(erf_b)))
}

/// `gate · sigmoid(gate) · up` in place of `gate`, both of one length.
///
/// The sigmoid is min(1, eˣ) / (1 + e⁻ˡˣˡ), so that nothing overflows. Absolute error below 1e-6 ·
/// max(1, |gate · up|).
#[inline(always)]
pub(super) fn swiglu<V: Vector>(gate: &mut [f32], up: &[f32]) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let (log2_e, negative) = (V::splat(LOG2_E), V::splat(-LOG2_E));
    macro_rules! product {
        ($gate:expr, $up:expr) => {{
            let gate = $gate;
            let below = one.add(power_of_two(gate.abs().mul(negative)));
            gate.mul(power_of_two(gate.min(zero).mul(log2_e)).div(below)).mul($up)
        }};
    }
    let (gates, gate_rest) = gate.as_chunks_mut::<LANES>();
    let (ups, up_rest) = up.as_chunks::<LANES>();
    for (gate, up) in gates.iter_mut().zip(ups) {
        product!(V::load(gate), V::load(up)).store(gate);
    }
    if !gate_rest.is_empty() {
        product!(V::load_part(gate_rest, 0.0), V::load_part(up_rest, 0.0)).store_part(gate_rest);
    }
}

/// Rows that go through each step of a layer norm together: a single row would be bound by the
/// latency of its sums.
const NORM_ROWS: usize = 4;

/// Layer norm of every row of `x + y` in place: `(x + y − mean) / √(variance + epsilon) · weight +
/// bias`.
///
/// Rows are as long as `weight` and `bias`; an empty `y` adds nothing, else it is as long as `x`.
/// Absolute error below 4e-6 · max(1, |result|) for rows that are not nearly constant.
#[inline(always)]
pub(super) fn add_layer_norm<V: Vector>(
    x: &mut [f32],
    y: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
) {
    let width = weight.len().max(1);
    #[allow(clippy::cast_precision_loss)] // rows are shorter than 2²⁴
    let count = width as f32;
    let mut others = y.chunks(width * NORM_ROWS);
    for rows in x.chunks_mut(width * NORM_ROWS) {
        add::<V>(rows, others.next().unwrap_or_default());
        let mut factors = [(0.0, 0.0); NORM_ROWS];
        for (row, (mean, _)) in rows.chunks(width).zip(&mut factors) {
            *mean = sum::<V>(row) / count;
        }
        for (row, (mean, scale)) in rows.chunks(width).zip(&mut factors) {
            *scale = 1.0 / root::sqrt_f32(sum_of_squares_from::<V>(row, *mean) / count + epsilon);
        }
        for (row, (mean, scale)) in rows.chunks_mut(width).zip(factors) {
            shift_and_scale::<V>(row, (mean, scale), weight, bias);
        }
    }
}

/// Σ (x − center)².
#[inline(always)]
fn sum_of_squares_from<V: Vector>(x: &[f32], center: f32) -> f32 {
    let (zero, centers) = (V::splat(0.0), V::splat(center));
    let lanes = reduce!(
        x, center, zero,
        (lanes, value) => {
            let distance = value.sub(centers);
            lanes.add(distance.mul(distance))
        },
        (left, right) => left.add(right)
    );
    lanes.sum()
}

/// `(x − mean) · scale · weight + bias` in place, all of one length.
#[inline(always)]
fn shift_and_scale<V: Vector>(
    x: &mut [f32],
    (mean, scale): (f32, f32),
    weight: &[f32],
    bias: &[f32],
) {
    let (center, scale) = (V::splat(mean), V::splat(scale));
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    let (weights, weight_rest) = weight.as_chunks::<LANES>();
    let (biases, bias_rest) = bias.as_chunks::<LANES>();
    for ((chunk, weight), bias) in chunks.iter_mut().zip(weights).zip(biases) {
        let value = V::load(chunk).sub(center).mul(scale);
        value.mul(V::load(weight)).add(V::load(bias)).store(chunk);
    }
    if !rest.is_empty() {
        let value = V::load_part(rest, 0.0).sub(center).mul(scale);
        let value = value.mul(V::load_part(weight_rest, 0.0));
        value.add(V::load_part(bias_rest, 0.0)).store_part(rest);
    }
}

/// `x[i] += y[i]`, both of one length; an empty `y` adds nothing.
#[inline(always)]
pub(super) fn add<V: Vector>(x: &mut [f32], y: &[f32]) {
    let (x_chunks, x_rest) = x.as_chunks_mut::<LANES>();
    let (y_chunks, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in x_chunks.iter_mut().zip(y_chunks) {
        V::load(x).add(V::load(y)).store(x);
    }
    for (x, &y) in x_rest.iter_mut().zip(y_rest) {
        *x += y;
    }
}

/// Adds the little-endian f32s in `bytes` to `sum`.
#[inline(always)]
pub(super) fn add_f32<V: Vector>(sum: &mut [f32], bytes: &[u8]) {
    let (chunks, rest) = sum.as_chunks_mut::<LANES>();
    let (added, added_rest) = bytes.as_chunks::<4>().0.as_chunks::<LANES>();
    for (sum, added) in chunks.iter_mut().zip(added) {
        V::load(sum).add(V::load(&added.map(f32::from_le_bytes))).store(sum);
    }
    for (sum, added) in rest.iter_mut().zip(added_rest) {
        *sum += f32::from_le_bytes(*added);
    }
}

/// `x[i] *= factor`.
#[inline(always)]
pub(super) fn scale<V: Vector>(x: &mut [f32], factor: f32) {
    map!(x, value: V => value.mul(V::splat(factor)));
}

/// Σ x², in a fixed order.
#[inline(always)]
pub(super) fn sum_of_squares<V: Vector>(x: &[f32]) -> f32 {
    sum_of_squares_from::<V>(x, 0.0)
}
