//! Summaries of rows of weights for integer products.

use core::arch::wasm32::*;

use super::lanes::reduce_i32;
#[cfg(target_feature = "relaxed-simd")]
use super::narrow;
use crate::kernel::integer::MAX_CODE;
use crate::kernel::summary::RowSummary;

/// Columns whose products may be added up in 16 bits: two adjacent ones, and the corresponding two
/// of the next 16 columns.
const COLUMNS: usize = 32;

/// The limit on the sums of the positive and of the negative ones of four weights, so that their
/// products with any codes fit 16 bits.
const MOST: i16 = i16::MAX / MAX_CODE as i16;

/// Summarises a row of signed bytes, which is small if
/// [`SmallPairs`](super::instructions::SmallPairs) cannot overflow.
pub(super) fn summarize_row(codes: &[u8]) -> RowSummary {
    let (steps, rest) = codes.as_chunks::<COLUMNS>();
    let mut seen = Seen { sums: i32x4_splat(0), most: i16x8_splat(0) };
    for step in steps {
        seen.see(step);
    }
    if !rest.is_empty() {
        let mut step = [0; COLUMNS];
        for (to, from) in step.iter_mut().zip(rest) {
            *to = *from;
        }
        seen.see(&step);
    }
    let Seen { sums, most } = seen;
    let sum = i32x4_extract_lane::<0>(reduce_i32([sums; 4]));
    let summary = RowSummary::new(sum, !v128_any_true(i16x8_gt(most, i16x8_splat(MOST))));
    #[cfg(target_feature = "relaxed-simd")]
    let summary = RowSummary { narrow: narrow::summarize(codes), ..summary };
    summary
}

/// The summary of the codes seen so far.
struct Seen {
    /// The sums of its codes.
    sums: v128,
    /// The largest magnitude of the sums of positive or negative codes among four.
    most: v128,
}

impl Seen {
    #[inline(always)]
    fn see(&mut self, codes: &[u8; COLUMNS]) {
        let (mut positive, mut negative) = (i16x8_splat(0), i16x8_splat(0));
        let (halves, _) = codes.as_chunks::<16>();
        for half in halves {
            // SAFETY: it has 16 bytes.
            let codes = unsafe { v128_load(half.as_ptr().cast()) };
            let signs = i8x16_shr(codes, 7);
            let amounts = i8x16_neg(v128_and(codes, signs));
            positive = i16x8_add(positive, i16x8_extadd_pairwise_u8x16(v128_andnot(codes, signs)));
            negative = i16x8_add(negative, i16x8_extadd_pairwise_u8x16(amounts));
        }
        self.most = i16x8_max(self.most, i16x8_max(positive, negative));
        let sums = i32x4_extadd_pairwise_i16x8(i16x8_sub(positive, negative));
        self.sums = i32x4_add(self.sums, sums);
    }
}
