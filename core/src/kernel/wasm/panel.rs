//! x · Wᵀ of signed bytes and codes in groups of columns, for several tokens: four adjacent rows at
//! a time.
//!
//! Codes are arranged in a panel whose vectors hold four columns of four rows: every lane sums up
//! one row, and a loaded vector of codes is multiplied with several tokens.

use core::arch::wasm32::*;
use core::mem::MaybeUninit;

use super::grouped::{Groups, Operands, ROWS};
use super::instructions::Simd128;
use super::lanes::transpose;
use super::steps::{Codes, Columns, Steps};

/// Groups of a panel: 8 KiB on the stack.
const GROUPS: usize = 48;

/// A group of `N` · 16 columns of four rows.
struct Group<const N: usize> {
    /// By 16 columns, then by four columns of all rows.
    codes: Codes<N>,
    scales: v128,
    minima: v128,
    /// True if all codes are below 32.
    has_few_bits: bool,
}

/// Some adjacent groups of four rows.
pub(super) struct Panel<const N: usize> {
    groups: [MaybeUninit<Group<N>>; GROUPS],
    /// True if some codes are 128 or more.
    is_wide: bool,
}

impl<const N: usize> Panel<N> {
    pub(super) const fn new() -> Self {
        Self { groups: [const { MaybeUninit::uninit() }; GROUPS], is_wide: false }
    }

    /// Loads the first `count` groups of `rows`.
    ///
    /// # Safety
    ///
    /// There must be that many groups, and no more than [`GROUPS`].
    #[inline(always)]
    unsafe fn fill(&mut self, rows: &impl Groups<N>, count: usize) {
        let mut whole = u8x16_splat(0);
        for (index, place) in self.groups.iter_mut().enumerate().take(count) {
            // SAFETY: upheld by the caller.
            let ([a, b, c, d], (scales, minima)) =
                unsafe { ([0, 1, 2, 3].map(|row| rows.codes(index, row)), rows.factors(index)) };
            let mut all = u8x16_splat(0);
            let mut codes = [[all; 4]; N];
            // Not a loop, which only some optimisation levels would unroll.
            unroll_4!(N, sixteen => {
                let [a, b, c, d] = [a[sixteen], b[sixteen], c[sixteen], d[sixteen]];
                all = v128_or(all, v128_or(v128_or(a, b), v128_or(c, d)));
                codes[sixteen] = transpose([a, b, c, d]);
            });
            whole = v128_or(whole, all);
            let has_few_bits = !v128_any_true(u8x16_shr(all, 5));
            place.write(Group { codes, scales, minima, has_few_bits });
        }
        self.is_wide = u8x16_bitmask(whole) != 0;
    }
}

/// Some groups of four rows.
#[derive(Clone, Copy)]
struct Part {
    row: usize,
    /// The first group.
    first: usize,
    count: usize,
}

/// All tokens and four rows from `row` on; `rows` provides their groups from a group on.
///
/// # Safety
///
/// x and its rest (with `REST`), the bias and the output must match the numbers of tokens, rows and
/// columns; the row must exist and have its groups.
#[inline(always)]
pub(super) unsafe fn product<S: Steps, G: Groups<N>, const N: usize, const REST: bool>(
    operands: &mut Operands<'_>,
    panel: &mut Panel<N>,
    row: usize,
    rows: impl Fn(usize) -> G,
) {
    for first in (0..operands.groups).step_by(GROUPS) {
        let count = (operands.groups - first).min(GROUPS);
        let part = Part { row, first, count };
        // SAFETY: upheld by the caller; there are `count` groups from `first` on, at most a
        // panel's.
        unsafe { panel.fill(&rows(first), count) };
        let mut token = 0;
        while token < operands.tokens {
            let left = operands.tokens - token;
            // SAFETY: upheld by the caller; at most the remaining tokens.
            token += unsafe {
                if panel.is_wide {
                    some_tokens::<Simd128, N, REST>(operands, panel, part, token, left)
                } else {
                    some_tokens::<S, N, REST>(operands, panel, part, token, left)
                }
            };
        }
    }
}

/// Up to a tile of the `left` tokens from `token` on; returns their number.
///
/// # Safety
///
/// As for [`product`]; the tokens must exist, and the panel must hold the part.
unsafe fn some_tokens<S: Steps, const N: usize, const REST: bool>(
    operands: &mut Operands<'_>,
    panel: &Panel<N>,
    part: Part,
    token: usize,
    left: usize,
) -> usize {
    // SAFETY: upheld by the caller; at most the remaining tokens.
    unsafe {
        match left {
            4.. if !REST => tile::<S, N, 4, REST>(operands, panel, part, token),
            // Twice as many sums for each token.
            2.. if REST => tile::<S, N, 2, REST>(operands, panel, part, token),
            _ => tile::<S, N, 1, REST>(operands, panel, part, token),
        }
    }
}

/// `T` tokens, at most 4; returns `T`.
///
/// # Safety
///
/// As for [`some_tokens`].
unsafe fn tile<S: Steps, const N: usize, const T: usize, const REST: bool>(
    operands: &mut Operands<'_>,
    panel: &Panel<N>,
    part: Part,
    token: usize,
) -> usize {
    let Operands { x, rest, groups, strides, .. } = *operands;
    let rows = (operands.bias.len() - part.row).min(ROWS);
    let first = token * groups + part.first;
    let cols = groups * 16 * N;
    // SAFETY: upheld by the caller: codes, scales and sums of x and of its rest match tokens and
    // columns, and the last element of the output is inside it.
    unsafe {
        let out = operands.out.as_mut_ptr().add(token * strides.token + part.row * strides.row);
        let mut totals = [f32x4_splat(0.0); T];
        unroll_4!(T, t => {
            let mut numbers = [0.0_f32; ROWS];
            for (r, number) in numbers.iter_mut().enumerate().take(rows) {
                *number = match part.first {
                    0 => *operands.bias.as_ptr().add(part.row + r),
                    _ => *out.add(t * strides.token + r * strides.row),
                };
            }
            totals[t] = v128_load(numbers.as_ptr().cast());
        });
        let codes = x.codes.as_ptr().add(first * 16 * N);
        let (scales, sums) = (x.scales.as_ptr().add(first), x.sums.as_ptr().add(first));
        let (rest_codes, rest_scales) = match rest {
            Some(rest) => {
                (rest.codes.as_ptr().add(first * 16 * N), rest.scales.as_ptr().add(first))
            }
            None => (codes, scales),
        };
        for index in 0..part.count {
            let group = panel.groups.get_unchecked(index).assume_init_ref();
            let at = index * 16 * N;
            let columns = |first: *const u8| Columns { first: first.add(at), stride: cols };
            let dots: [v128; T] = dots::<S, N, T>(group, columns(codes));
            let mut rest_dots = dots;
            if REST {
                rest_dots = self::dots::<S, N, T>(group, columns(rest_codes));
            }
            let scaled = |dots, scale: *const f32| {
                f32x4_mul(v128_load32_splat(scale.cast()), f32x4_convert_i32x4(dots))
            };
            unroll_4!(T, t => {
                let place = t * groups + index;
                let mut sum = scaled(dots[t], scales.add(place));
                if REST {
                    sum = f32x4_add(sum, scaled(rest_dots[t], rest_scales.add(place)));
                }
                let whole = v128_load32_splat(sums.add(place).cast());
                let total = f32x4_add(totals[t], f32x4_mul(group.scales, sum));
                totals[t] = f32x4_add(total, f32x4_mul(group.minima, whole));
            });
        }
        unroll_4!(T, t => {
            let mut numbers = [0.0_f32; ROWS];
            v128_store(numbers.as_mut_ptr().cast(), totals[t]);
            for (r, &number) in numbers.iter().enumerate().take(rows) {
                *out.add(t * strides.token + r * strides.row) = number;
            }
        });
    }
    T
}

/// The products of a group's codes and those of `T` tokens, summed up row by row.
///
/// # Safety
///
/// That many columns must be readable for each token.
#[inline(always)]
unsafe fn dots<S: Steps, const N: usize, const T: usize>(
    group: &Group<N>,
    x: Columns,
) -> [v128; T] {
    // SAFETY: upheld by the caller.
    unsafe {
        if S::FEW_BITS && group.has_few_bits {
            S::few_bits(&group.codes, x)
        } else {
            S::dots(&group.codes, x)
        }
    }
}
