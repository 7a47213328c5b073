//! The reference table: plain Rust for any target. Every other table is tested against it.

use super::groups::{self, ProductGroups, TILE_ROWS};
use super::integer::{MultiplyI16, ProductBase, ProductI8};
use super::pieces::pieces;
use super::product::{FloatOperand, Multiply, Product};
use super::vector::{Portable, Vector};
use super::{Kernels, quantize, rows};
use crate::quant::amb_unpack;

/// The portable table.
pub(super) const TABLE: Kernels = table::<Portable>("portable");

/// A table of portable products, and of row operations with the lanes of `V`.
pub(super) const fn table<V: Vector>(name: &'static str) -> Kernels {
    Kernels {
        name,
        product_f32,
        multiply_f32,
        product_i8,
        summarize_row: None,
        product_groups: if groups::BUILT_IN { product_groups } else { |_| {} },
        product_blocks: None,
        quantize_groups: if groups::BUILT_IN {
            quantize::groups_i8::<V>
        } else {
            |_, _, _, _, _, _| {}
        },
        unpack_codes: if cfg!(feature = "scaled-codes") {
            amb_unpack::unpack
        } else {
            |_, _, _| {}
        },
        dequantize_groups: quantize::dequantize_groups::<V>,
        multiply_i16,
        quantize: quantize::codes::<V>,
        quantize_rows: quantize::rows_i16::<V>,
        quantize_columns: quantize::columns_i16::<V>,
        softmax_i16: quantize::softmax_i16::<V>,
        softmax: rows::softmax::<V>,
        gelu: rows::gelu::<V>,
        // BERT has no such activation; `model::family` rejects models with one.
        swiglu: if cfg!(feature = "families") { rows::swiglu::<V> } else { |_, _| {} },
        add_f32: None,
        add_layer_norm: rows::add_layer_norm::<V>,
    }
}

const LANES: usize = 8;

/// See [`Product`]. Absolute error below `cols · 2⁻²⁴ · Σ|x·w|`, usually far below.
pub(super) fn product_f32(product: Product<'_>) {
    let Product { x, weights, bias, out, cols, strides, .. } = product;
    match weights {
        FloatOperand::Bytes(bytes) => {
            let bytes = bytes.as_chunks::<4>().0;
            fill(x, bytes, bias, out, cols, strides, f32::from_le_bytes);
        }
        FloatOperand::Values(values) => fill(x, values, bias, out, cols, strides, |value| value),
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
    for (r, (row, &bias)) in weights.chunks_exact(cols.max(1)).zip(bias).enumerate() {
        for (t, x) in x.chunks_exact(cols.max(1)).enumerate() {
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

/// See [`ProductI8`].
pub(super) fn product_i8(product: ProductI8<'_>) {
    let ProductI8 { x, w, base, out, cols, strides, .. } = product;
    let rows = w.codes.chunks(w.stride.max(1)).zip(w.scales);
    for (r, (row, &row_scale)) in rows.enumerate() {
        let row = row.get(..cols).unwrap_or(row);
        let row_sum: i32 = row.iter().map(|&w| i32::from(w as i8)).sum();
        let tokens = x.codes.chunks(x.stride.max(1)).zip(x.scales).zip(x.zeros);
        for (t, ((codes, &scale), &zero)) in tokens.enumerate() {
            let dot: i32 =
                codes.iter().zip(row).map(|(&x, &w)| i32::from(x) * i32::from(w as i8)).sum();
            let Some(slot) = out.get_mut(t * strides.token + r * strides.row) else { continue };
            let base = match base {
                ProductBase::Bias(bias) => bias.get(r).copied().unwrap_or(0.0),
                ProductBase::Output => *slot,
            };
            #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
            let sum = (dot - i32::from(zero) * row_sum) as f32;
            *slot = base + sum * (scale * row_scale);
        }
    }
}

/// See [`ProductGroups`].
pub(super) fn product_groups(product: ProductGroups<'_>) {
    let ProductGroups { x, w, bias, out, tokens: count, cols, group, strides } = product;
    let groups = cols / group.max(1);
    for (r, (row, &bias)) in pieces(w.codes, cols).zip(bias).enumerate() {
        let tokens = pieces(x.codes, cols);
        let factors = pieces(x.scales, groups).zip(pieces(x.sums, groups));
        for (t, (codes, (scales, sums))) in tokens.zip(factors).enumerate().take(count) {
            let mut total = bias;
            let parts = pieces(codes, group).zip(pieces(row, group));
            let row_factors =
                w.scales.chunks_exact(TILE_ROWS).zip(w.minima.chunks_exact(TILE_ROWS));
            for (((x, w), (&x_scale, &x_sum)), (w_scales, minima)) in
                parts.zip(scales.iter().zip(sums)).zip(row_factors)
            {
                let dot: i32 =
                    x.iter().zip(w).map(|(&x, &w)| i32::from(x as i8) * i32::from(w)).sum();
                let (Some(&w_scale), Some(&minimum)) = (w_scales.get(r), minima.get(r)) else {
                    continue;
                };
                #[allow(clippy::cast_precision_loss)] // below 2²⁴
                let dot = dot as f32;
                total = (total + w_scale * (x_scale * dot)) + minimum * x_sum;
            }
            if let Some(slot) = out.get_mut(t * strides.token + r * strides.row) {
                *slot = total;
            }
        }
    }
}

/// See [`MultiplyI16`].
fn multiply_i16(multiply: MultiplyI16<'_>) {
    let MultiplyI16 { a, a_stride, b, b_stride, rows, columns, out, out_stride, pairs } = multiply;
    let pair = |[a, b, c, d]: [u8; 4]| {
        (i32::from(i16::from_le_bytes([a, b])), i32::from(i16::from_le_bytes([c, d])))
    };
    let (a, b) = (a.as_chunks::<4>().0, b.as_chunks::<4>().0);
    for (m, &row) in rows.iter().enumerate() {
        let line = a.get(m * a_stride..).unwrap_or_default();
        let Some(out) = out.get_mut(m * out_stride..) else { return };
        for (n, (slot, &column)) in out.iter_mut().zip(columns).enumerate() {
            let mut sum = 0_i32;
            let lines = b.get(n..).unwrap_or_default().iter().step_by(b_stride.max(1));
            for (&a, &b) in line.iter().zip(lines).take(pairs) {
                let ((a0, a1), (b0, b1)) = (pair(a), pair(b));
                sum = sum.wrapping_add(a0 * b0).wrapping_add(a1 * b1);
            }
            #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
            let sum = sum as f32;
            *slot = sum * column * row;
        }
    }
}
