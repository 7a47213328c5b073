//! CRC-32 with one table of 1 KB over four stretches at a time: each step depends on the one before
//! it, and four independent chains overlap. Nearly as fast as sixteen tables, which a web page
//! would have to download and which do not compress.

use super::polynomial::{POLYNOMIAL, multiply, power};

const STRETCH: usize = 4096;
const NEXT_STRETCH: u32 = power(STRETCH as u64);

#[expect(clippy::indexing_slicing, reason = "when it is compiled")]
static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u32;
    while byte < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

/// One table step: the lowest byte of `crc`, to which the next input byte was added, is shifted
/// out.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "there are as many entries as bytes")]
fn step(crc: u32) -> u32 {
    (crc >> 8) ^ TABLE[usize::from(crc.to_le_bytes()[0])]
}

/// Extends the checksum by four bytes.
#[inline(always)]
pub(super) fn word(crc: u32, bytes: [u8; 4]) -> u32 {
    step(step(step(step(crc ^ u32::from_le_bytes(bytes)))))
}

/// Extends the checksum `crc` by `bytes`.
pub(super) fn update(crc: u32, bytes: &[u8]) -> u32 {
    let mut crc = !crc;
    let (stretches, rest) = bytes.as_chunks::<STRETCH>();
    let (fours, ones) = stretches.as_chunks::<4>();
    for [a, b, c, d] in fours {
        let [a, b, c, d] = [a, b, c, d].map(|stretch| stretch.as_chunks::<4>().0);
        let mut crcs = [crc, 0, 0, 0];
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            crcs = [word(crcs[0], a), word(crcs[1], b), word(crcs[2], c), word(crcs[3], d)];
        }
        crc = crcs.into_iter().fold(0, |before, after| multiply(NEXT_STRETCH, before) ^ after);
    }
    !ones.as_flattened().iter().chain(rest).fold(crc, |crc, &byte| step(crc ^ u32::from(byte)))
}
