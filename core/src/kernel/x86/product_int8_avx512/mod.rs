//! x · Wᵀ of 7-bit activations and 8-bit weights with AVX512-VNNI, in one of three ways depending
//! on the number of tokens; the weights are read in place.
//!
//! | tokens | way | a vector holds |
//! |---|---|---|
//! | 1 … 8 | [`direct`] | 16 columns of four rows of weights, assembled just before they are multiplied |
//! | 9 … 64, or more than 1536 columns | [`lanes`] | four columns of 16 tokens, transposed once for all rows |
//! | others | [`panels`] | four columns of 16 rows, transposed once for all tokens |
//!
//! [`lanes`] takes only columns in whole cache lines and rows in multiples of four. The sums of the
//! last two ways need no reduction across lanes, which would cost a tenth of the products of 384
//! columns. Sums of integers are exact: all ways compute the same bits.

mod direct;
mod lanes;
mod panels;

use core::arch::x86_64::*;

use super::vector::first_lanes;
use super::width::LANES;
use crate::kernel::integer::{ProductBase, ProductI8};

pub(super) use direct::MOST_TOKENS as DIRECT_TOKENS;
pub(super) use panels::{PANEL_COLS, PANEL_ROWS, Panel};

/// See [`ProductI8`].
pub(super) fn product(product: ProductI8<'_>) {
    // SAFETY: a table is returned only after its CPU features were detected.
    unsafe {
        if product.tokens <= DIRECT_TOKENS {
            direct::product(product);
        } else if lanes::suit(&product) {
            lanes::product(product);
        } else if product.cols <= PANEL_COLS {
            panels::product(product);
        } else {
            direct::product(product);
        }
    }
}

/// The starts of the `N` rows from `row` on; rows beyond the last are the last.
///
/// # Safety
///
/// `row` must be below the number of rows.
#[inline(always)]
unsafe fn places<const N: usize>(product: &ProductI8<'_>, row: usize) -> [*const u8; N] {
    core::array::from_fn(|index| {
        let row = (row + index).min(product.rows - 1);
        // SAFETY: `ProductI8::new` checked that `cols` codes start at row · stride.
        unsafe { product.w.codes.as_ptr().add(row * product.w.stride) }
    })
}

/// 16 columns of four rows; `mask` covers the existing columns.
///
/// # Safety
///
/// The columns of the mask must be readable from each place.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn quad(places: [*const u8; 4], column: usize, mask: Option<__mmask16>) -> __m512i {
    let [a, b, c, d] = places;
    // SAFETY: upheld by the caller.
    unsafe {
        let load = |place: *const u8| match mask {
            None => _mm_loadu_si128(place.add(column).cast()),
            Some(mask) => _mm_maskz_loadu_epi8(mask, place.add(column).cast()),
        };
        let joined = _mm512_castsi128_si512(load(a));
        let joined = _mm512_inserti32x4::<1>(joined, load(b));
        let joined = _mm512_inserti32x4::<2>(joined, load(c));
        _mm512_inserti32x4::<3>(joined, load(d))
    }
}

/// A mask of the columns after the last whole 16; `None` if there are none.
#[inline(always)]
fn rest_mask(cols: usize) -> Option<__mmask16> {
    let rest = cols % 16;
    (rest != 0).then_some((1 << rest) - 1)
}

/// Σ (x − zero) · w from the sums of x · w of the tokens from `token` on and those of the codes of
/// the rows.
///
/// # Safety
///
/// The tokens must exist.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn from_zero<const T: usize>(
    product: &ProductI8<'_>,
    token: usize,
    row_sums: __m512i,
    sums: [__m512i; T],
) -> [__m512i; T] {
    let mut centred = sums;
    for (t, sum) in centred.iter_mut().enumerate() {
        // SAFETY: `ProductI8::new` checked that there are as many zeros as tokens.
        let zero = unsafe { *product.x.zeros.as_ptr().add(token + t) };
        let zero = _mm512_set1_epi32(i32::from(zero));
        *sum = _mm512_sub_epi32(*sum, _mm512_mullo_epi32(zero, row_sums));
    }
    centred
}

/// Converts Σ (x − zero) · w of the tokens from `token` on and up to `rows` rows from `row` on to
/// floats and stores them.
///
/// # Safety
///
/// There must be as many tokens as `sums`.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) unsafe fn store(
    product: &mut ProductI8<'_>,
    token: usize,
    row: usize,
    rows: usize,
    sums: &[__m512i],
) {
    let ProductI8 { x, w, strides, .. } = *product;
    let rows = product.rows.saturating_sub(row).min(rows);
    if rows == 0 {
        return;
    }
    let mask: __mmask16 = first_lanes(rows);
    // SAFETY: `ProductI8::new` checked that scales, zeros and the bias are as many as tokens and
    // rows, and that the last element of the output is inside it; the caller has as many tokens
    // as sums, and the mask covers no more than the rows there are.
    unsafe {
        let row_scales = _mm512_maskz_loadu_ps(mask, w.scales.as_ptr().add(row));
        let bias = match product.base {
            ProductBase::Bias(bias) => Some(_mm512_maskz_loadu_ps(mask, bias.as_ptr().add(row))),
            ProductBase::Output => None,
        };
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        for (t, &sum) in sums.iter().enumerate() {
            let scale = _mm512_set1_ps(*x.scales.as_ptr().add(token + t));
            let value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, row_scales));
            let out = out.add(t * strides.token);
            if strides.row == 1 {
                let base = bias.unwrap_or_else(|| _mm512_maskz_loadu_ps(mask, out));
                _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, value));
                continue;
            }
            let (mut bases, mut values) = ([0.0_f32; LANES], [0.0_f32; LANES]);
            _mm512_storeu_ps(bases.as_mut_ptr(), bias.unwrap_or_else(|| _mm512_setzero_ps()));
            _mm512_storeu_ps(values.as_mut_ptr(), value);
            for (r, (&base, &value)) in bases.iter().zip(&values).enumerate().take(rows) {
                let out = out.add(r * strides.row);
                *out = if bias.is_some() { base } else { *out } + value;
            }
        }
    }
}
