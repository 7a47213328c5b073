//! Short names of long bytes: 128 bits that are the same in every run, release and on every machine.
//!
//! It tells apart what changed by accident, not what somebody forged: whoever writes a text may find
//! another one with its digest. A change of eight bytes that begin at a multiple of eight always
//! changes it, as each step is a permutation of its lane.

/// Odd, with bits in no order: digits of the golden ratio, √2, √3 and √5.
const FACTORS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// The digest of `bytes`.
#[must_use]
pub fn digest(bytes: &[u8]) -> u128 {
    let mut lanes = FACTORS;
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        feed(&mut lanes, block);
    }
    let mut last = [0; 32];
    last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
    feed(&mut lanes, &last);
    let mut of = [bytes.len() as u64; 2];
    for (lane, factor) in lanes.iter().zip(FACTORS) {
        of[0] = mixed(of[0] ^ lane, factor);
        of[1] = mixed(of[1] ^ lane.rotate_left(32), factor ^ 0x5555_5555_5555_5554);
    }
    u128::from(of[0]) | u128::from(of[1]) << 64
}

fn feed(lanes: &mut [u64; 4], block: &[u8; 32]) {
    let (words, _) = block.as_chunks::<8>();
    for ((lane, word), factor) in lanes.iter_mut().zip(words).zip(FACTORS) {
        let product = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(factor);
        // A product's low bits know nothing of high ones.
        *lane = (product ^ product >> 32).wrapping_mul(FACTORS[0]).rotate_left(29);
    }
}

fn mixed(value: u64, factor: u64) -> u64 {
    let value = value.wrapping_mul(factor);
    let value = (value ^ value >> 32).wrapping_mul(FACTORS[0]);
    value ^ value >> 29
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::HashSet;
    use std::prelude::v1::*;

    use super::*;

    #[test]
    fn all_changes_of_a_byte_and_all_lengths_are_told_apart() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut seen = HashSet::new();
        for at in 0..bytes.len() {
            for change in 1..=255 {
                let mut other = bytes.clone();
                other[at] ^= change;
                assert!(seen.insert(digest(&other)));
            }
        }
        let zeros = [0; 200];
        assert!((0..zeros.len()).all(|length| seen.insert(digest(&zeros[..length]))));
    }

    #[test]
    fn lanes_are_not_interchangeable() {
        let mut seen = HashSet::new();
        for at in 0..64 {
            let mut bytes = [0; 64];
            bytes[at] = 1;
            assert!(seen.insert(digest(&bytes)));
        }
    }

    /// Stored names are those of other releases.
    #[test]
    fn digests_stay_what_they_were() {
        assert_eq!(digest(b""), DIGESTS[0]);
        assert_eq!(digest(b"the quick brown fox jumps over the lazy dog"), DIGESTS[1]);
    }

    const DIGESTS: [u128; 2] = [
        26_057_499_311_502_444_576_612_166_779_985_283_006,
        169_275_570_350_332_496_683_579_840_952_021_818_414,
    ];
}
