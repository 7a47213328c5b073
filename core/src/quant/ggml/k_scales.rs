//! The twelve bytes in which Q4_K and Q5_K pack eight 6-bit scales and eight 6-bit minima.
//!
//! | byte | bits 0–5 | bits 6–7 |
//! |---|---|---|
//! | `k < 4` | scale `k` | upper two bits of scale `k + 4` |
//! | `4 + k` | minimum `k` | upper two bits of minimum `k + 4` |
//! | `8 + k` | low half: lower four bits of scale `k + 4`; high half: those of minimum `k + 4` | |

use crate::quant::lanes::{Codes, Factors, Lanes};

/// Scale and minimum of each of the eight sub-blocks.
#[inline]
pub(super) fn unpack(packed: &[u8; 12]) -> [(u8, u8); 8] {
    let [s0, s1, s2, s3, m0, m1, m2, m3, l0, l1, l2, l3] = *packed;
    let first = |s: u8, m: u8| (s & 63, m & 63);
    let later = |s: u8, m: u8, l: u8| (l & 15 | s >> 6 << 4, l >> 4 | m >> 6 << 4);
    [
        first(s0, m0),
        first(s1, m1),
        first(s2, m2),
        first(s3, m3),
        later(s0, m0, l0),
        later(s1, m1, l1),
        later(s2, m2, l2),
        later(s3, m3, l3),
    ]
}

/// The scales of the eight sub-blocks times `d`, in the first half of the first result; their
/// minima times `dmin`, in the second half of the second.
#[inline(always)]
pub(super) fn factors<L: Lanes>(packed: &[u8; 12], d: L::Factor, dmin: L::Factor) -> [Factors; 2] {
    let [s0, s1, s2, s3, m0, m1, m2, m3, l0, l1, l2, l3] = *packed;
    let [s, m, l] = [[s0, s1, s2, s3], [m0, m1, m2, m3], [l0, l1, l2, l3]]
        .map(|bytes| u64::from(u32::from_le_bytes(bytes)));
    let first = |word: u64| word & 0x3f3f_3f3f;
    let later = |word: u64, lower: u64| lower & 0x0f0f_0f0f | (word >> 6 & 0x0303_0303) << 4;
    let scales = first(s) | later(s, l) << 32;
    let minima = first(m) | later(m, l >> 4) << 32;
    let codes = L::Codes::words([scales, minima]);
    [L::factors(codes, d), L::factors(codes, dmin)]
}

/// Packs eight scales and minima, each below 64.
pub(super) fn pack(scales: &[(u8, u8); 8]) -> [u8; 12] {
    core::array::from_fn(|byte| {
        let k = byte % 4;
        let (scale, min) = scales[k];
        let (later_scale, later_min) = scales[k + 4];
        match byte / 4 {
            0 => scale | later_scale >> 4 << 6,
            1 => min | later_min >> 4 << 6,
            _ => later_scale & 15 | later_min << 4,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let scales = core::array::from_fn(|k| (7 * k as u8 + 1, 63 - 9 * k as u8));
        assert_eq!(unpack(&pack(&scales)), scales);
    }

    #[test]
    fn every_pair_that_shares_bytes_is_unpacked_beside_any_other() {
        for (k, others) in [0, 1, 2, 3].into_iter().zip([0, 63, 21, 42]) {
            for (first, later) in (0..64).flat_map(|first| (0..64).map(move |later| (first, later)))
            {
                let mut scales = [(others, others); 8];
                (scales[k].0, scales[k + 4].0) = (first, later);
                assert_eq!(unpack(&pack(&scales)), scales);
                scales[k] = (others, first);
                scales[k + 4] = (others, later);
                assert_eq!(unpack(&pack(&scales)), scales);
            }
        }
    }
}
