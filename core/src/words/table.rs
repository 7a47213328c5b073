//! A hash table in caller-provided memory, from strings of the file to their numbers.
//!
//! Each slot is one `u64`: the string's offset in the file plus one, its number, and in the
//! remaining bits the lowest bits of its hash, so that slots of other strings are skipped without
//! reading the file. Probing is linear. A slot of 0 is empty.
//!
//! The hash is keyed by a seed. Runs longer than [`MAX_PROBES`] do not happen at random: the table
//! is then rebuilt with another seed, and rejected after a few attempts, so no choice of strings
//! makes it slow.

use crate::error::Result;
use crate::kernel::prefetch;

/// The longest run of slots that is probed. At two thirds full, runs of 300 are not expected for
/// 2^32 strings.
const MAX_PROBES: usize = 1024;

/// The number of slots for `count` strings; the table is at most two thirds full.
pub(super) const fn slots_for(count: u64) -> Option<u64> {
    match count.checked_add(count / 2) {
        Some(slots) => slots.checked_add(1),
        None => None,
    }
}

/// The bit layout of a table's slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    value_bits: u32,
    place_bits: u32,
    seed: u64,
}

/// The result of inserting a string.
pub(super) enum Inserted {
    /// It was inserted.
    New,
    /// It was already there, with this number.
    Known(u64),
    /// The run is too long.
    Crowded,
}

impl Packing {
    /// A packing of numbers below `values` and places below `places`; `None` if a slot cannot hold
    /// both.
    pub(super) fn new(values: u64, places: u64, seed: u64) -> Option<Self> {
        let bits = |largest: u64| u64::BITS.saturating_sub(largest.leading_zeros());
        let (value_bits, place_bits) = (bits(values.saturating_sub(1)), bits(places));
        (value_bits.saturating_add(place_bits) <= u64::BITS).then_some(Self {
            value_bits,
            place_bits,
            seed,
        })
    }

    pub(super) const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(super) fn hash(&self, string: &[u8]) -> u64 {
        hash(string, self.seed)
    }

    /// The hash of a string that comes in parts.
    pub(super) fn hash_parts(&self, parts: [&str; 3]) -> u64 {
        let length = parts.iter().map(|part| part.len() as u64).sum();
        let mut state = hash_start(length, self.seed);
        let mut word = [0; 8];
        let mut filled = 0;
        for byte in parts.iter().flat_map(|part| part.bytes()) {
            if let Some(slot) = word.get_mut(filled) {
                *slot = byte;
            }
            filled = filled.saturating_add(1);
            if filled == word.len() {
                state = hash_word(state, word, self.seed);
                (word, filled) = ([0; 8], 0);
            }
        }
        hash_end(state, word)
    }

    fn pack(&self, hash: u64, value: u64, place: u64) -> u64 {
        let tag = self.shift(hash, self.tag_at());
        tag | self.shift(value, self.place_bits) | place.saturating_add(1)
    }

    /// The number and place in `slot`, if its tag matches this hash.
    #[inline]
    fn unpack(&self, slot: u64, hash: u64) -> Option<(u64, u64)> {
        // A slot without tag bits matches every hash.
        let difference = slot ^ self.shift(hash, self.tag_at());
        if difference.checked_shr(self.tag_at()).unwrap_or(0) != 0 {
            return None;
        }
        let mask = |bits: u32| 1_u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
        let value = slot.checked_shr(self.place_bits).unwrap_or(0) & mask(self.value_bits);
        Some((value, (slot & mask(self.place_bits)).wrapping_sub(1)))
    }

    /// The position of the lowest tag bit; 64 if there are none.
    const fn tag_at(&self) -> u32 {
        self.value_bits.saturating_add(self.place_bits)
    }

    fn shift(&self, number: u64, bits: u32) -> u64 {
        number.checked_shl(bits).unwrap_or(0)
    }

    /// Prefetches the first slot for a string with this `hash`.
    #[inline]
    pub(super) fn expect(slots: &[u64], hash: u64) {
        let slot = slots.get(start(hash, slots.len()));
        prefetch(slot.map(core::slice::from_ref).unwrap_or_default());
    }

    /// The number of the string with this `hash` that `is_there` confirms by number and place.
    #[inline]
    pub(super) fn find(
        &self,
        slots: &[u64],
        hash: u64,
        mut is_there: impl FnMut(u64, u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let mut at = start(hash, slots.len());
        for _ in 0..MAX_PROBES {
            let Some(&slot) = slots.get(at).filter(|&&slot| slot != 0) else { return Ok(None) };
            if let Some((value, place)) = self.unpack(slot, hash)
                && is_there(value, place)?
            {
                return Ok(Some(value));
            }
            at = next(at, slots.len());
        }
        Ok(None)
    }

    /// Inserts a string with this `hash` unless it is already there.
    pub(super) fn insert(
        &self,
        slots: &mut [u64],
        hash: u64,
        (value, place): (u64, u64),
        mut is_there: impl FnMut(u64) -> Result<bool>,
    ) -> Result<Inserted> {
        let mut at = start(hash, slots.len());
        let length = slots.len();
        for _ in 0..MAX_PROBES {
            let Some(slot) = slots.get_mut(at) else { break };
            if *slot == 0 {
                *slot = self.pack(hash, value, place);
                return Ok(Inserted::New);
            }
            if let Some((value, place)) = self.unpack(*slot, hash)
                && is_there(place)?
            {
                return Ok(Inserted::Known(value));
            }
            at = next(at, length);
        }
        Ok(Inserted::Crowded)
    }
}

/// The slot where a run begins: the upper bits of the hash, scaled.
#[inline]
#[allow(clippy::cast_possible_truncation)] // less than `slots`
fn start(hash: u64, slots: usize) -> usize {
    (u128::from(hash).wrapping_mul(slots as u128) >> 64) as usize
}

#[inline]
fn next(at: usize, slots: usize) -> usize {
    let next = at.saturating_add(1);
    if next < slots { next } else { 0 }
}

/// A keyed hash: every eight bytes are mixed in by a multiplication whose 128-bit product is
/// folded.
#[inline]
fn hash(string: &[u8], seed: u64) -> u64 {
    let (words, rest) = string.as_chunks::<8>();
    let start = hash_start(string.len() as u64, seed);
    let state = words.iter().fold(start, |state, word| hash_word(state, *word, seed));
    hash_end(state, padded(rest))
}

/// Up to seven bytes, padded with zeros. Overlapping reads avoid a loop whose length branch
/// prediction cannot foresee.
#[inline]
fn padded(rest: &[u8]) -> [u8; 8] {
    let bits_before =
        |bytes| u32::try_from(rest.len().saturating_sub(bytes)).unwrap_or(0).wrapping_mul(8);
    let word = match (rest.first_chunk(), rest.last_chunk(), rest) {
        (Some(first), Some(last), _) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            u64::from(first) | u64::from(last).wrapping_shl(bits_before(4))
        }
        (.., [first, .., last]) => {
            let middle = rest.get(1).copied().unwrap_or(0);
            u64::from(*first)
                | u64::from(middle).wrapping_shl(8)
                | u64::from(*last).wrapping_shl(bits_before(1))
        }
        _ => rest.first().copied().unwrap_or(0).into(),
    };
    word.to_le_bytes()
}

#[inline]
fn hash_start(length: u64, seed: u64) -> u64 {
    fold(seed ^ 0x9e37_79b9_7f4a_7c15, length ^ 0xd1b5_4a32_d192_ed03)
}

#[inline]
fn hash_word(state: u64, word: [u8; 8], seed: u64) -> u64 {
    fold(state ^ u64::from_le_bytes(word), seed ^ 0xa076_1d64_78bd_642f)
}

#[inline]
fn hash_end(state: u64, last: [u8; 8]) -> u64 {
    fold(state ^ u64::from_le_bytes(last), 0xe703_7ed1_a0b4_28db)
}

#[inline]
#[allow(clippy::cast_possible_truncation)] // the two halves
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(b.into());
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_with_any_number_of_tag_bits() {
        for places in [100, 1 << 32, 1 << 56] {
            let packing = Packing::new(100, places, 7).unwrap();
            let mut slots = [0; 151];
            for value in 0..100_u64 {
                let hash = packing.hash(&value.to_le_bytes());
                let pair = (value, value);
                assert!(matches!(
                    packing.insert(&mut slots, hash, pair, |place| Ok(place == value)),
                    Ok(Inserted::New)
                ));
            }
            for value in 0..200_u64 {
                let hash = packing.hash(&value.to_le_bytes());
                let found = packing.find(&slots, hash, |_, place| Ok(place == value)).unwrap();
                assert_eq!(found, (value < 100).then_some(value));
            }
        }
        assert!(Packing::new(1 << 32, 1 << 33, 0).is_none());
    }

    #[test]
    fn a_string_in_parts_has_the_hash_of_the_whole() {
        let packing = Packing::new(1, 1, 3).unwrap();
        let longest = "a string of twenty-seven b.";
        for text in (0..=longest.len()).map(|bytes| &longest[..bytes]) {
            for cut in 0..=text.len() {
                let (start, end) = text.split_at(cut);
                assert_eq!(packing.hash_parts([start, "", end]), packing.hash(text.as_bytes()));
            }
        }
    }

    #[test]
    fn a_crowded_run_is_refused() {
        let packing = Packing::new(4096, 4096, 0).unwrap();
        let mut slots = [0; 4096];
        let crowded = (0..4096).find(|&value| {
            matches!(
                packing.insert(&mut slots, 5, (value, value), |_| Ok(false)),
                Ok(Inserted::Crowded)
            )
        });
        assert_eq!(crowded, Some(MAX_PROBES as u64));
    }
}
