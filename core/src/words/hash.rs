//! The hash functions by which finalfusion, fastText and floret find the rows of n-grams.

/// finalfusion's hash of an n-gram: 64-bit FNV-1a over the number of its characters (`u64`) and
/// then each character's code point (`u32`), little-endian.
#[must_use]
pub fn finalfusion_hash(ngram: &str) -> u64 {
    let length = ngram.chars().count() as u64;
    ngram.chars().fold(finalfusion_start(length), finalfusion_next)
}

/// The initial hash state for an n-gram of `length` characters.
pub(super) fn finalfusion_start(length: u64) -> u64 {
    fnv_64(0xcbf2_9ce4_8422_2325, length.to_le_bytes())
}

/// The hash state after one more character.
pub(super) fn finalfusion_next(state: u64, character: char) -> u64 {
    fnv_64(state, u32::from(character).to_le_bytes())
}

fn fnv_64<const N: usize>(state: u64, bytes: [u8; N]) -> u64 {
    bytes
        .into_iter()
        .fold(state, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// fastText's hash of an n-gram: 32-bit FNV-1a over its bytes, each of them sign-extended before it
/// is mixed in.
#[must_use]
pub fn fasttext_hash(ngram: impl AsRef<[u8]>) -> u32 {
    FastTextHash::new(ngram.as_ref().iter().copied()).value()
}

/// [`fasttext_hash`] of a byte string that grows and shrinks at its end, so that each of the
/// n-grams with a common start takes a constant number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastTextHash(u32);

impl FastTextHash {
    const PRIME: u32 = 0x0100_0193;
    /// `PRIME` times this is 1 modulo 2^32.
    const INVERSE: u32 = 0x359c_449b;

    /// The hash of these bytes.
    #[must_use]
    pub fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut hash = Self(0x811c_9dc5);
        bytes.into_iter().for_each(|byte| hash.push(byte));
        hash
    }

    /// Appends a byte.
    pub const fn push(&mut self, byte: u8) {
        self.0 = (self.0 ^ Self::extended(byte)).wrapping_mul(Self::PRIME);
    }

    /// Removes the last byte, which must be `byte`.
    pub const fn pop(&mut self, byte: u8) {
        self.0 = self.0.wrapping_mul(Self::INVERSE) ^ Self::extended(byte);
    }

    /// The hash of the current bytes.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The byte with its sign extended.
    const fn extended(byte: u8) -> u32 {
        (byte.cast_signed() as i32).cast_unsigned()
    }
}

/// floret's hashes of an n-gram: the four 32-bit parts of `MurmurHash3_x64_128`, the lowest first.
#[must_use]
pub fn floret_hash(ngram: &str, seed: u32) -> [u32; 4] {
    let mut murmur = Murmur3::new(seed);
    murmur.update(ngram.as_bytes());
    murmur.finish()
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// `MurmurHash3_x64_128` (Appleby, public domain), over bytes that come in parts.
pub(super) struct Murmur3 {
    low: u64,
    high: u64,
    block: [u8; 16],
    length: u64,
}

impl Murmur3 {
    pub(super) fn new(seed: u32) -> Self {
        Self { low: seed.into(), high: seed.into(), block: [0; 16], length: 0 }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(slot) = self.block.get_mut((self.length % 16) as usize) {
                *slot = byte;
            }
            self.length = self.length.wrapping_add(1);
            if self.length.is_multiple_of(16) {
                self.mix_block();
                self.block = [0; 16];
            }
        }
    }

    pub(super) fn finish(mut self) -> [u32; 4] {
        // The rest, padded with zeros: mixing in a zero word changes nothing.
        let (low, high) = self.words();
        self.high ^= mix_high(high);
        self.low ^= mix_low(low);
        let (mut low, mut high) = (self.low ^ self.length, self.high ^ self.length);
        low = low.wrapping_add(high);
        high = high.wrapping_add(low);
        (low, high) = (avalanche(low), avalanche(high));
        low = low.wrapping_add(high);
        high = high.wrapping_add(low);
        let halves = |word: u64| {
            let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
            [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
        };
        let ([a, b], [c, d]) = (halves(low), halves(high));
        [a, b, c, d]
    }

    fn mix_block(&mut self) {
        let (low, high) = self.words();
        self.low ^= mix_low(low);
        self.low = self.low.rotate_left(27).wrapping_add(self.high);
        self.low = self.low.wrapping_mul(5).wrapping_add(0x52dc_e729);
        self.high ^= mix_high(high);
        self.high = self.high.rotate_left(31).wrapping_add(self.low);
        self.high = self.high.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    fn words(&self) -> (u64, u64) {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.block;
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest))
    }
}

fn mix_low(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_high(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn avalanche(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalfusion_hashes_code_points_after_their_number() {
        assert_eq!(finalfusion_hash("Dan"), 0x2ada_dd77_8323_448d);
        assert_eq!(finalfusion_hash("Dan") & ((1 << 21) - 1), 214_157);
        assert_eq!(finalfusion_hash("日本"), 0xd8f1_c3a0_9446_66d0);
    }

    #[test]
    fn fasttext_extends_the_sign_of_bytes() {
        assert_eq!(fasttext_hash("ël>") % 0x7fff_ffff, 288_991_985);
        assert_eq!(fasttext_hash("a") % 0x7fff_ffff, 1_678_518_573);
    }

    #[test]
    fn a_byte_that_is_taken_away_leaves_the_hash_of_those_before() {
        let word = "Überraschung日本";
        let mut hash = FastTextHash::new(word.bytes());
        for end in (0..word.len()).rev() {
            hash.pop(word.as_bytes()[end]);
            assert_eq!(hash.value(), fasttext_hash(&word.as_bytes()[..end]));
        }
    }

    #[test]
    fn floret_takes_all_128_bits_of_murmur() {
        let hashes = floret_hash("日本", 2_166_136_261).map(|hash| u64::from(hash) % 4_294_967_291);
        assert_eq!(hashes, [1_391_603_619, 3_731_396_008, 1_048_519_161, 4_119_357_682]);
    }
}
