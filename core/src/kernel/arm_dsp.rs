//! Cortex-M4, M7, M33 with the DSP extension: two 16-bit products and their sum in one instruction,
//! `SMLAD`.
//!
//! Four codes are loaded as one word and widened by `UXTB16` and `SXTB16`, the even bytes first,
//! then the odd ones (rotated by 8): 13 instructions for four columns of two tokens. The integers,
//! and the conversions and products in f32 that follow, equal those of the portable table: the
//! results are bit-identical.
//!
//! Feature `arm-dsp`, for targets that have the instructions (thumbv7em, thumbv8m.main with DSP).

#![allow(unsafe_code)]

use core::arch::asm;

use super::Kernels;
use super::integer::{MultiplyI16, ProductBase, ProductI8};
use super::portable;

/// The table.
pub(super) const TABLE: Kernels =
    Kernels { name: "arm-dsp", product_i8, multiply_i16, ..portable::TABLE };

/// `sum + a₀·b₀ + a₁·b₁` over the signed halves of two words; wraps.
#[inline(always)]
fn smlad(a: u32, b: u32, sum: i32) -> i32 {
    let out: i32;
    // SAFETY: only registers are used; the feature guarantees that the instruction exists.
    unsafe {
        asm!("smlad {out}, {a}, {b}, {sum}", out = lateout(reg) out, a = in(reg) a, b = in(reg) b,
            sum = in(reg) sum, options(pure, nomem, nostack, preserves_flags));
    }
    out
}

/// The even and the odd bytes of a word as unsigned halves.
#[inline(always)]
fn unsigned_halves(word: u32) -> (u32, u32) {
    let (even, odd): (u32, u32);
    // SAFETY: as before.
    unsafe {
        asm!("uxtb16 {even}, {word}", "uxtb16 {odd}, {word}, ror #8", even = out(reg) even,
            odd = lateout(reg) odd, word = in(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    (even, odd)
}

/// The even and the odd bytes of a word as signed halves.
#[inline(always)]
fn signed_halves(word: u32) -> (u32, u32) {
    let (even, odd): (u32, u32);
    // SAFETY: as before.
    unsafe {
        asm!("sxtb16 {even}, {word}", "sxtb16 {odd}, {word}, ror #8", even = out(reg) even,
            odd = lateout(reg) odd, word = in(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    (even, odd)
}

/// The dot products of several rows of codes, all at least as long as `row`, with a row of weights.
#[inline(always)]
fn dots<const TOKENS: usize>(codes: [&[u8]; TOKENS], row: &[u8]) -> [i32; TOKENS] {
    let (words, tail) = row.as_chunks::<4>();
    let code_words =
        codes.map(|codes| codes.as_chunks::<4>().0.get(..words.len()).unwrap_or_default());
    let mut sums = [0_i32; TOKENS];
    for (at, word) in words.iter().enumerate() {
        let (even, odd) = signed_halves(u32::from_le_bytes(*word));
        for (sum, codes) in sums.iter_mut().zip(&code_words) {
            let Some(codes) = codes.get(at) else { continue };
            let (code_even, code_odd) = unsigned_halves(u32::from_le_bytes(*codes));
            *sum = smlad(code_odd, odd, smlad(code_even, even, *sum));
        }
    }
    for (sum, codes) in sums.iter_mut().zip(codes) {
        let codes = codes.get(words.len() * 4..).unwrap_or_default();
        for (&code, &weight) in codes.iter().zip(tail) {
            *sum += i32::from(code) * i32::from(weight.cast_signed());
        }
    }
    sums
}

/// The sum of a row of signed codes.
fn row_sum(row: &[u8]) -> i32 {
    const ONES: u32 = 0x0001_0001;
    let (words, tail) = row.as_chunks::<4>();
    let sum = words.iter().fold(0, |sum, word| {
        let (even, odd) = signed_halves(u32::from_le_bytes(*word));
        smlad(odd, ONES, smlad(even, ONES, sum))
    });
    tail.iter().fold(sum, |sum, &code| sum + i32::from(code.cast_signed()))
}

/// See [`ProductI8`].
fn product_i8(product: ProductI8<'_>) {
    let ProductI8 { x, w, base, out, tokens, cols, strides, .. } = product;
    let codes_of = |token: usize| x.codes.get(token * x.stride..).unwrap_or_default();
    for (r, (row, &row_scale)) in w.codes.chunks(w.stride.max(1)).zip(w.scales).enumerate() {
        let row = row.get(..cols).unwrap_or(row);
        let row_sum = row_sum(row);
        let mut put = |token: usize, dot: i32| {
            let Some(slot) = out.get_mut(token * strides.token + r * strides.row) else { return };
            let scale = x.scales.get(token).copied().unwrap_or(0.0);
            let zero = x.zeros.get(token).copied().unwrap_or(0);
            let base = match base {
                ProductBase::Bias(bias) => bias.get(r).copied().unwrap_or(0.0),
                ProductBase::Output => *slot,
            };
            #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
            let sum = (dot - i32::from(zero) * row_sum) as f32;
            *slot = base + sum * (scale * row_scale);
        };
        let mut token = 0;
        while token + 1 < tokens {
            let [a, b] = dots([codes_of(token), codes_of(token + 1)], row);
            put(token, a);
            put(token + 1, b);
            token += 2;
        }
        if token < tokens {
            let [a] = dots([codes_of(token)], row);
            put(token, a);
        }
    }
}

/// See [`MultiplyI16`].
fn multiply_i16(multiply: MultiplyI16<'_>) {
    let MultiplyI16 { a, a_stride, b, b_stride, rows, columns, out, out_stride, pairs } = multiply;
    let (a, b) = (a.as_chunks::<4>().0, b.as_chunks::<4>().0);
    for (m, &row) in rows.iter().enumerate() {
        let line = a.get(m * a_stride..).unwrap_or_default();
        let line = line.get(..pairs).unwrap_or(line);
        let Some(out) = out.get_mut(m * out_stride..) else { return };
        for (n, (slot, &column)) in out.iter_mut().zip(columns).enumerate() {
            let lines = b.get(n..).unwrap_or_default().iter().step_by(b_stride.max(1));
            let sum = line
                .iter()
                .zip(lines)
                .fold(0, |sum, (a, b)| smlad(u32::from_le_bytes(*a), u32::from_le_bytes(*b), sum));
            #[allow(clippy::cast_precision_loss)] // rounds to nearest, on every table
            let sum = sum as f32;
            *slot = sum * column * row;
        }
    }
}
