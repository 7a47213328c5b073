//! The reference table: plain Rust for any target. Every other table is tested against it.

use super::product::{Floats, Multiply, Product};
use super::{Kernels, rows};

/// The portable table.
pub(super) const TABLE: Kernels = Kernels {
    name: "portable",
    product_f32,
    multiply_f32,
    softmax: |x, scale| rows::softmax(x, scale),
    gelu: |x| rows::gelu(x),
    add_layer_norm: |x, y, weight, bias, epsilon| {
        rows::add(x, y);
        rows::layer_norm(x, weight, bias, epsilon);
    },
};

const LANES: usize = 8;

/// See [`Product`]. Absolute error below `cols · 2⁻²⁴ · Σ|x·w|`, usually far below.
fn product_f32(product: Product<'_>) {
    let Product { x, weights, bias, out, cols, strides, .. } = product;
    match weights {
        Floats::Bytes(bytes) => {
            let bytes = bytes.as_chunks::<4>().0;
            fill(x, bytes, bias, out, cols, strides, f32::from_le_bytes);
        }
        Floats::Values(values) => fill(x, values, bias, out, cols, strides, |value| value),
    }
}

fn fill<T: Copy>(
    x: &[f32],
    weights: &[T],
    bias: &[f32],
    out: &mut [f32],
    cols: usize,
    strides: super::Strides,
    load: impl Fn(T) -> f32,
) {
    if cols == 0 {
        return;
    }
    for (r, (row, &bias)) in weights.chunks_exact(cols).zip(bias).enumerate() {
        for (t, x) in x.chunks_exact(cols).enumerate() {
            if let Some(slot) = out.get_mut(t * strides.token + r * strides.row) {
                *slot = dot(x, row, &load) + bias;
            }
        }
    }
}

#[inline(always)]
fn dot<T: Copy>(x: &[f32], row: &[T], load: impl Fn(T) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (x, x_rest) = x.as_chunks::<LANES>();
    let (row, row_rest) = row.as_chunks::<LANES>();
    for (x, w) in x.iter().zip(row) {
        for ((lane, &x), &w) in lanes.iter_mut().zip(x).zip(w) {
            *lane += x * load(w);
        }
    }
    for ((lane, &x), &w) in lanes.iter_mut().zip(x_rest).zip(row_rest) {
        *lane += x * load(w);
    }
    lanes.iter().sum()
}

/// See [`Multiply`]. Each output is a sum over k in order.
fn multiply_f32(multiply: Multiply<'_>) {
    let Multiply { a, b, out, out_stride, m, n, k } = multiply;
    for i in 0..m {
        let a = a.data.get(i * a.stride..).unwrap_or_default();
        let Some(out) = out.get_mut(i * out_stride..).and_then(|out| out.get_mut(..n)) else {
            return;
        };
        out.fill(0.0);
        for (l, &factor) in a.iter().take(k).enumerate() {
            let row = b.data.get(l * b.stride..).unwrap_or_default();
            for (out, &value) in out.iter_mut().zip(row) {
                *out += factor * value;
            }
        }
    }
}
