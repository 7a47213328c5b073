//! Sixteen checksums side by side in 128-bit vectors, each of every sixteenth word.
//!
//! Consecutive words of a checksum are 64 bytes apart. Appending 64 zero bytes changes a checksum
//! linearly in its bits: the result is the carry-less sum of the results of its eight half bytes,
//! each of which has 16 values. Vectors hold one byte of all sixteen checksums, so that each half
//! byte needs a 16-byte table for each byte of the result.

use core::arch::wasm32::*;
use core::hint::black_box;

use super::polynomial::{multiply, power};
use super::stretches::word;

/// Bytes of one word for each checksum.
const BLOCK: usize = 64;
/// Inputs below this length do not pay for combining sixteen checksums.
const LEAST_BYTES: usize = 1024;
/// The factor by which 64 zero bytes multiply a checksum.
const NEXT_BLOCK: u32 = power(BLOCK as u64);

/// One byte of each of sixteen words, for each byte of a word.
type Planes = [v128; 4];

/// For each half byte of a checksum and each byte of the result: that byte by the value of the
/// half.
#[expect(clippy::indexing_slicing, reason = "when it is compiled")]
static TABLES: [[[u8; 16]; 4]; 8] = {
    let mut tables = [[[0; 16]; 4]; 8];
    let mut half = 0;
    while half < 8 {
        let mut value = 0_u32;
        while value < 16 {
            let becomes = multiply(value << (4 * half), NEXT_BLOCK).to_le_bytes();
            let mut byte = 0;
            while byte < 4 {
                tables[half][byte][value as usize] = becomes[byte];
                byte += 1;
            }
            value += 1;
        }
        half += 1;
    }
    tables
};

/// Extends the checksum `crc` over the whole blocks of `bytes` if there are enough; returns it and
/// the remaining bytes.
pub(super) fn update(crc: u32, bytes: &[u8]) -> (u32, &[u8]) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    match blocks {
        [first, others @ ..] if bytes.len() >= LEAST_BYTES => {
            let sums = sum(start(!crc, first), others);
            // Sixteen words now have the checksum of all blocks.
            (!words(sums).into_iter().fold(0, |crc, next| word(crc, next.to_le_bytes())), rest)
        }
        _ => (crc, bytes),
    }
}

/// The first block, with `crc` added to its first word.
fn start(crc: u32, first: &[u8; BLOCK]) -> Planes {
    let mut sums = planes(first);
    for (sum, byte) in sums.iter_mut().zip(crc.to_le_bytes()) {
        *sum = v128_xor(*sum, u8x16_replace_lane::<0>(u8x16_splat(0), byte));
    }
    sums
}

#[inline(never)] // what takes long is compiled for itself: see `kernel::wasm`
fn sum(mut sums: Planes, blocks: &[[u8; BLOCK]]) -> Planes {
    // Constants would be rebuilt in every round.
    let tables = black_box(&TABLES).map(|tables| tables.map(load));
    for block in blocks {
        let mut next = planes(block);
        for (&sum, [low, high]) in sums.iter().zip(tables.as_chunks::<2>().0) {
            let (low_half, high_half) = (v128_and(sum, u8x16_splat(15)), u8x16_shr(sum, 4));
            for ((next, &low), &high) in next.iter_mut().zip(low).zip(high) {
                let becomes = v128_xor(look_up(low, low_half), look_up(high, high_half));
                *next = v128_xor(*next, becomes);
            }
        }
        sums = next;
    }
    sums
}

/// Entries of a table, all indices below 16.
#[inline(always)]
fn look_up(table: v128, indices: v128) -> v128 {
    #[cfg(target_feature = "relaxed-simd")]
    return i8x16_relaxed_swizzle(table, indices);
    #[cfg(not(target_feature = "relaxed-simd"))]
    u8x16_swizzle(table, indices)
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // its halves
fn load(bytes: [u8; 16]) -> v128 {
    let bytes = u128::from_le_bytes(bytes);
    u64x2(bytes as u64, (bytes >> 64) as u64)
}

/// The bytes of sixteen words, grouped by their position in the word.
#[inline(always)]
fn planes(words: &[u8; BLOCK]) -> Planes {
    let mut fours = [u8x16_splat(0); 4];
    for (four, bytes) in fours.iter_mut().zip(words.as_chunks::<16>().0) {
        let bytes = load(*bytes);
        *four = u8x16_shuffle::<0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15>(bytes, bytes);
    }
    let [a, b, c, d] = fours;
    let (ab_low, ab_high) = (u32x4_shuffle::<0, 4, 1, 5>(a, b), u32x4_shuffle::<2, 6, 3, 7>(a, b));
    let (cd_low, cd_high) = (u32x4_shuffle::<0, 4, 1, 5>(c, d), u32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        u64x2_shuffle::<0, 2>(ab_low, cd_low),
        u64x2_shuffle::<1, 3>(ab_low, cd_low),
        u64x2_shuffle::<0, 2>(ab_high, cd_high),
        u64x2_shuffle::<1, 3>(ab_high, cd_high),
    ]
}

/// The words made of these bytes.
fn words([a, b, c, d]: Planes) -> [u32; 16] {
    let pairs = |a, b| {
        (
            u8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b),
            u8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b),
        )
    };
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let fours = |ab, cd| {
        [
            u16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(ab, cd),
            u16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(ab, cd),
        ]
    };
    let mut words = [0; 16];
    let vectors = [fours(ab.0, cd.0), fours(ab.1, cd.1)];
    for (words, &vector) in words.as_chunks_mut().0.iter_mut().zip(vectors.as_flattened()) {
        *words = [
            u32x4_extract_lane::<0>(vector),
            u32x4_extract_lane::<1>(vector),
            u32x4_extract_lane::<2>(vector),
            u32x4_extract_lane::<3>(vector),
        ];
    }
    words
}
