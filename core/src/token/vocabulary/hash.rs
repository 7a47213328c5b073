//! An index in lent memory: open addressing with linear probing, two thirds full.
//!
//! A slot is one `u32`: the token's id in as many low bits as ids need, and in the others as much
//! of the hash as fits, so that few strings are compared without a match. The hash is computed byte
//! by byte (FNV-1a from a seed, then mixed) and its steps can be undone, so that one pass gives the
//! hashes of all prefixes, longest first.
//!
//! A file made to collide takes bounded time: building gives up after a few seeds
//! and a number of steps proportional to the tokens, and no lookup probes more than [`MAX_PROBES`]
//! slots.

use super::{Match, Tokens, Vocabulary, splits_character};
use crate::error::{Error, ErrorKind, Result};
use crate::token::added_words::AddedTokens;

/// The most slots that one lookup may visit. At two thirds full even a million tokens hardly ever
/// need as many.
const MAX_PROBES: usize = 256;

/// The most slots that building may visit, for each token and besides; two for each token are to be
/// expected.
const STEPS_A_TOKEN: usize = 16;
const STEPS_BESIDES: usize = 65_536;

/// Seeds that are tried. One is enough unless a file was made to collide with it.
const SEEDS: [u32; 4] = [0x811C_9DC5, 0x9E37_79B9, 0x6A09_E667, 0xBB67_AE85];

/// No slot holds this: ids are below the largest number of their bits.
const EMPTY: u32 = u32::MAX;

/// A vocabulary with a hash index in lent memory.
#[derive(Clone, Debug)]
pub struct HashVocabulary<'a, T> {
    tokens: T,
    slots: &'a [u32],
    index: HashIndex,
    added: AddedTokens<'a>,
}

impl<'a, T: Tokens> HashVocabulary<'a, T> {
    /// How many `u32` [`build`](HashVocabulary::build) needs for `count` tokens.
    #[must_use]
    pub const fn slots_needed(count: u32) -> usize {
        let count = count as usize;
        count.saturating_add(count / 2).saturating_add(2)
    }

    /// Indexes all `tokens` in `slots`; what they held before is lost.
    ///
    /// # Errors
    ///
    /// `buffer_too_small` if `slots` are fewer than [`slots_needed`](HashVocabulary::slots_needed);
    /// `bad_vocabulary` if the strings collide as only strings made to collide do; what reading
    /// tokens answers.
    pub fn build(tokens: T, slots: &'a mut [u32]) -> Result<Self> {
        let count = tokens.count();
        let slots = slots
            .get_mut(..Self::slots_needed(count))
            .ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        for seed in SEEDS {
            let mut builder = Builder::new(&mut *slots, count, seed);
            if builder.insert_all(&tokens)? {
                let Builder { id_bits, longest_probe, longest_token, .. } = builder;
                let index = HashIndex { seed, id_bits, longest_probe, longest_token };
                let added = AddedTokens::default();
                return Ok(Self { tokens, slots, index, added });
            }
        }
        Err(Error::without_offset(ErrorKind::BadVocabulary))
    }

    /// Takes up again what [`build`](HashVocabulary::build) left in `slots`, for a host that keeps
    /// the memory and the [`index`](HashVocabulary::index) but not the borrow. With other tokens or
    /// slots lookups miss, nothing worse; slots beyond those that are
    /// [needed](HashVocabulary::slots_needed) are left alone here as there.
    #[must_use]
    pub fn resume(tokens: T, slots: &'a [u32], index: HashIndex) -> Self {
        let slots = slots.get(..Self::slots_needed(tokens.count())).unwrap_or(slots);
        Self { tokens, slots, index, added: AddedTokens::default() }
    }

    /// The same with tokens that are found before words are.
    #[must_use]
    pub const fn with_added(self, added: AddedTokens<'a>) -> Self
    where
        T: Copy,
    {
        Self { added, ..self }
    }

    /// The last argument of [`resume`](HashVocabulary::resume).
    #[must_use]
    pub const fn index(&self) -> HashIndex {
        self.index
    }

    /// The length of the longest token that can be found, in bytes.
    pub(crate) const fn longest_token(&self) -> usize {
        self.index.longest_token
    }

    /// Calls `take` with all tokens that `text` starts with and that end at the end of a character,
    /// the shortest one first.
    ///
    /// # Errors
    ///
    /// As [`find`](Vocabulary::find).
    pub(crate) fn prefixes(&self, text: &[u8], mut take: impl FnMut(Match)) -> Result<()> {
        let text = text.get(..self.index.longest_token).unwrap_or(text);
        let mut state = self.index.seed;
        for (at, byte) in text.iter().enumerate() {
            state = step(state, *byte);
            let bytes = at.saturating_add(1);
            if !splits_character(text, bytes)
                && let Some(prefix) = text.get(..bytes)
                && let Some(id) = self.find_hashed(state, prefix)?
            {
                take(Match { id, bytes });
            }
        }
        Ok(())
    }

    fn hash(&self, bytes: &[u8]) -> u32 {
        bytes.iter().fold(self.index.seed, |state, &byte| step(state, byte))
    }

    /// The id of the token `text`, whose bytes hash to `state`.
    #[inline]
    fn find_hashed(&self, state: u32, text: &[u8]) -> Result<Option<u32>> {
        let hash = mix(state);
        let mask = fingerprint_mask(self.index.id_bits);
        let wanted = fingerprint(hash, self.index.id_bits);
        let mut at = home(hash, self.slots.len());
        for _ in 0..self.index.longest_probe {
            let slot = match self.slots.get(at) {
                None | Some(&EMPTY) => return Ok(None),
                Some(&slot) => slot,
            };
            if slot & mask == wanted && self.tokens.equals(slot & !mask, text)? {
                return Ok(Some(slot & !mask));
            }
            at = after(at, self.slots.len());
        }
        Ok(None)
    }
}

/// A finished table without its slots.
#[derive(Clone, Copy, Debug)]
pub struct HashIndex {
    seed: u32,
    id_bits: u32,
    /// The most slots that any of the tokens is away from where its hash points, plus one.
    longest_probe: usize,
    /// The length of the longest token that was indexed, in bytes.
    longest_token: usize,
}

/// A table that is being filled.
struct Builder<'s> {
    slots: &'s mut [u32],
    seed: u32,
    id_bits: u32,
    longest_probe: usize,
    longest_token: usize,
    steps_left: usize,
}

impl<'s> Builder<'s> {
    fn new(slots: &'s mut [u32], count: u32, seed: u32) -> Self {
        slots.fill(EMPTY);
        let id_bits = u32::BITS.saturating_sub(count.leading_zeros());
        let steps_left =
            (count as usize).saturating_mul(STEPS_A_TOKEN).saturating_add(STEPS_BESIDES);
        Self { slots, seed, id_bits, longest_probe: 0, longest_token: 0, steps_left }
    }

    /// Answers whether the limits sufficed.
    fn insert_all<T: Tokens>(&mut self, tokens: &T) -> Result<bool> {
        let mut sufficed = true;
        tokens.each(&mut |id, token| {
            sufficed = self.insert(tokens, id, token)?;
            Ok(sufficed)
        })?;
        Ok(sufficed)
    }

    fn insert<T: Tokens>(&mut self, tokens: &T, id: u32, token: &[u8]) -> Result<bool> {
        let hash = mix(token.iter().fold(self.seed, |state, &byte| step(state, byte)));
        let mask = fingerprint_mask(self.id_bits);
        let wanted = fingerprint(hash, self.id_bits);
        let count = self.slots.len();
        let mut at = home(hash, count);
        for probes in 1..=MAX_PROBES.min(self.steps_left) {
            let Some(slot) = self.slots.get_mut(at) else { break };
            let is_same =
                *slot != EMPTY && *slot & mask == wanted && tokens.equals(*slot & !mask, token)?;
            if *slot == EMPTY || is_same {
                *slot = wanted | id;
                self.longest_probe = self.longest_probe.max(probes);
                self.longest_token = self.longest_token.max(token.len());
                self.steps_left = self.steps_left.saturating_sub(probes);
                return Ok(true);
            }
            at = after(at, count);
        }
        Ok(false)
    }
}

/// One byte of FNV-1a.
#[inline]
const fn step(state: u32, byte: u8) -> u32 {
    (state ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// Takes back a [`step`]: the state before `byte`.
#[inline]
const fn step_back(state: u32, byte: u8) -> u32 {
    // The inverse of the factor modulo 2^32.
    state.wrapping_mul(0x359C_449B) ^ byte as u32
}

/// Spreads the state over all bits (the finaliser of MurmurHash3).
#[inline]
const fn mix(state: u32) -> u32 {
    let state = (state ^ state >> 16).wrapping_mul(0x85EB_CA6B);
    let state = (state ^ state >> 13).wrapping_mul(0xC2B2_AE35);
    state ^ state >> 16
}

/// The bits of a slot that are not the id.
#[inline]
const fn fingerprint_mask(id_bits: u32) -> u32 {
    match u32::MAX.checked_shl(id_bits) {
        Some(mask) => mask,
        None => 0,
    }
}

/// The low bits of the hash where a slot keeps them; its high bits have chosen the slot.
#[inline]
const fn fingerprint(hash: u32, id_bits: u32) -> u32 {
    match hash.checked_shl(id_bits) {
        Some(bits) => bits,
        None => 0,
    }
}

/// The slot that a hash points to, for any number of slots below 2^32.
#[inline]
const fn home(hash: u32, slots: usize) -> usize {
    ((hash as u64).wrapping_mul(slots as u64) >> 32) as usize
}

/// The slot that is tried next.
#[inline]
const fn after(at: usize, slots: usize) -> usize {
    let next = at.saturating_add(1);
    if next < slots { next } else { 0 }
}

impl<T: Tokens> Vocabulary for HashVocabulary<'_, T> {
    fn count(&self) -> u32 {
        self.tokens.count()
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn find(&self, token: &[u8]) -> Result<Option<u32>> {
        if token.len() > self.index.longest_token {
            return Ok(None);
        }
        self.find_hashed(self.hash(token), token)
    }

    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>> {
        let mut prefix = text.get(..self.index.longest_token).unwrap_or(text);
        let mut state = self.hash(prefix);
        while prefix.len() >= at_least.max(1) {
            if !splits_character(text, prefix.len())
                && let Some(id) = self.find_hashed(state, prefix)?
            {
                return Ok(Some(Match { id, bytes: prefix.len() }));
            }
            let Some((last, shorter)) = prefix.split_last() else { break };
            state = step_back(state, *last);
            prefix = shorter;
        }
        Ok(None)
    }

    fn added(&self) -> AddedTokens<'_> {
        self.added
    }

    fn token(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        self.tokens.copy(id, out)
    }
}
