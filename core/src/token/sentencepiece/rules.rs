//! Compiled rules of normalisation: which bytes of a text become which others.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | bytes of the trie, a multiple of 1024 |
//! | 4 | n | a double array (Darts-clone), `u32` units |
//! | 4 + n | | what keys become, strings that end with a zero; a key's value is its string's offset |
//!
//! A unit that is reached by a byte has the byte in its lowest eight bits; bit 31 marks values. Bit
//! 8 says that a value follows; bits 10 to 30, shifted left by eight more if bit 9 is set, are
//! xored with the unit's index to reach what follows it.

use crate::bytes::{Item, le_u32, parse};
use crate::error::{Error, ErrorKind, Result};

/// Matches of a place beyond so many are not seen, as by `sentencepiece`.
const MAX_MATCHES: usize = 32;

/// The bytes of a text that are looked at for a key: a trie may lead in circles.
const MAX_KEY_BYTES: usize = 1024;

/// The rules of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    units: &'a [[u8; 4]],
    texts: &'a [u8],
}

impl<'a> Rules<'a> {
    /// The rules in `blob`, which lies at the absolute `offset`; `None` if there are none. Every
    /// unit is checked.
    ///
    /// # Errors
    ///
    /// `out_of_bounds` if the trie goes beyond the blob or a unit beyond the trie; `bad_field` if
    /// the trie has no size that a trie has; `unexpected_end` if the strings do not end with a
    /// zero.
    pub(crate) fn parse(blob: &'a [u8], offset: u64) -> Result<Option<Self>> {
        let Some(rules) = Self::split(blob, offset)? else { return Ok(None) };
        let strings =
            offset.saturating_add(4).saturating_add((rules.units.len() as u64).saturating_mul(4));
        if rules.texts.last() != Some(&0) {
            let end = strings.saturating_add(rules.texts.len() as u64);
            return Err(Error::new(end, ErrorKind::UnexpectedEnd));
        }
        for at in 0..rules.units.len() {
            if !rules.is_sound(at) {
                let at = offset.saturating_add(4).saturating_add((at as u64).saturating_mul(4));
                return Err(Error::new(at, ErrorKind::OutOfBounds));
            }
        }
        Ok(Some(rules))
    }

    /// The same of a blob that was checked before.
    pub(crate) fn resume(blob: &'a [u8]) -> Option<Self> {
        Self::split(blob, 0).ok().flatten()
    }

    fn split(blob: &'a [u8], offset: u64) -> Result<Option<Self>> {
        if blob.is_empty() {
            return Ok(None);
        }
        let Item::Parsed { item: size, used } = parse(le_u32, blob, offset)? else {
            return Err(Error::new(offset, ErrorKind::UnexpectedEnd));
        };
        if size == 0 || !size.is_multiple_of(1024) {
            return Err(Error::new(offset, ErrorKind::BadField));
        }
        let rest = blob.get(used..).unwrap_or_default();
        let trie = rest.split_at_checked(size as usize);
        let (trie, texts) = trie.ok_or(Error::new(offset, ErrorKind::OutOfBounds))?;
        Ok(Some(Self { units: trie.as_chunks().0, texts }))
    }

    fn unit(&self, at: usize) -> Option<Unit> {
        self.units.get(at).map(|bytes| Unit(u32::from_le_bytes(*bytes)))
    }

    /// Returns true if what follows a unit lies in the trie.
    fn is_sound(&self, at: usize) -> bool {
        let Some(unit) = self.unit(at) else { return false };
        if unit.is_value() {
            return (unit.value() as usize) < self.texts.len();
        }
        let next = at ^ unit.offset();
        let is_root = at == 0;
        let root_is_sound = unit.label() == 0 && !unit.has_value() && unit.offset() != 0;
        (next | 0xFF) < self.units.len()
            && (!unit.has_value() || self.unit(next).is_some_and(Unit::is_value))
            && (!is_root || root_is_sound)
    }

    /// The longest key, of up to 1,024 bytes, that `text` starts with: its length, and what it
    /// becomes.
    pub(super) fn longest(&self, text: &[u8]) -> Option<(usize, &'a [u8])> {
        let mut at = self.unit(0)?.offset();
        let (mut found, mut matches) = (None, 0_usize);
        for (index, byte) in text.iter().take(MAX_KEY_BYTES).enumerate() {
            at ^= usize::from(*byte);
            let Some(unit) = self.unit(at).filter(|unit| unit.label() == (*byte).into()) else {
                break;
            };
            at ^= unit.offset();
            if unit.has_value() && matches < MAX_MATCHES {
                matches = matches.saturating_add(1);
                let value = self.unit(at).map_or(0, Unit::value);
                found = Some((index.saturating_add(1), value));
            }
        }
        let (length, value) = found?;
        let text = self.texts.get(value as usize..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some((length, text.get(..end)?))
    }

    /// The replacement of the shortest key that `text` starts with, up to a zero.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(crate) fn shortest(&self, text: &[u8]) -> Option<&'a [u8]> {
        let mut at = self.unit(0)?.offset();
        for byte in text.iter().take_while(|byte| **byte != 0) {
            at ^= usize::from(*byte);
            let unit = self.unit(at).filter(|unit| unit.label() == (*byte).into())?;
            at ^= unit.offset();
            if unit.has_value() {
                let text = self.texts.get(self.unit(at)?.value() as usize..)?;
                return text.get(..text.iter().position(|byte| *byte == 0)?);
            }
        }
        None
    }

    /// Returns true if all keys become text.
    pub(crate) fn are_text(&self) -> bool {
        let Ok(texts) = core::str::from_utf8(self.texts) else { return false };
        let units = self.units.iter().map(|bytes| Unit(u32::from_le_bytes(*bytes)));
        let mut values = units.filter(|unit| unit.is_value());
        values.all(|unit| texts.is_char_boundary(unit.value() as usize))
    }

    /// Returns true if a key begins with `byte`.
    pub(super) fn begins(&self, byte: u8) -> bool {
        let unit = self.unit(0).and_then(|root| self.unit(root.offset() ^ usize::from(byte)));
        unit.is_some_and(|unit| unit.label() == byte.into())
    }
}

/// A unit of the double array.
#[derive(Clone, Copy)]
struct Unit(u32);

impl Unit {
    const fn is_value(self) -> bool {
        self.0 >> 31 == 1
    }

    const fn value(self) -> u32 {
        self.0 & 0x7FFF_FFFF
    }

    /// The byte that leads to it; no byte for values.
    const fn label(self) -> u32 {
        self.0 & 0x8000_00FF
    }

    const fn has_value(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    const fn offset(self) -> usize {
        let offset = self.0 >> 10;
        let shifted = if self.0 >> 9 & 1 == 1 { offset << 8 } else { offset };
        shifted as usize
    }
}
