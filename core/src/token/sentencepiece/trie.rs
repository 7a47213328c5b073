//! The pieces of a model by their bytes: a trie whose edges lie in a hash table in lent memory.
//!
//! A node is the slot that leads to it. The first 256 slots are the edges of the root; in the
//! others an edge lies at the hash of its node and byte, or behind it. A walk costs one slot a
//! byte, and building sorts nothing and moves nothing.

use crate::error::{Error, ErrorKind, Result};

/// An edge, and the piece that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// `node << 8 | byte`
    key: u32,
    /// What ends here: `id << 2 | kind`.
    piece: u32,
}

impl Default for Slot {
    fn default() -> Self {
        EMPTY
    }
}

/// No node is as large, as there are at most [`MAX_SLOTS`].
const EMPTY: Slot = Slot { key: u32::MAX, piece: NONE };

/// No piece.
const NONE: u32 = u32::MAX;

/// Edges of the root.
const ROOTS: usize = 256;

/// Nodes have 24 bits in a key.
const MAX_SLOTS: usize = (1 << 24) - 1;

/// Slots that one step may visit: bytes made to collide are refused.
const MAX_PROBES: usize = 1024;

/// What kind of piece is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    UserDefined,
    /// Not to be given out, but part of the way to others.
    Unused,
}

/// A piece that ends at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) id: u32,
    pub(super) kind: Kind,
}

/// What is known of a finished trie beside its slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// The most slots that any edge is away from where its hash points, plus one.
    longest_probe: usize,
}

/// A finished trie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trie<'a> {
    slots: &'a [Slot],
    shape: Shape,
}

/// A node of a trie.
pub(super) type Node = u32;

/// How many slots pieces of so many bytes together need.
pub(super) const fn slots_needed(piece_bytes: u64) -> Option<usize> {
    let hashed = piece_bytes.saturating_add(piece_bytes / 4);
    let slots = hashed.saturating_add(ROOTS as u64).saturating_add(1);
    #[expect(clippy::cast_possible_truncation, reason = "24 bits")]
    if slots > MAX_SLOTS as u64 { None } else { Some(slots as usize) }
}

impl<'a> Trie<'a> {
    pub(super) const fn resume(slots: &'a [Slot], shape: Shape) -> Self {
        Self { slots, shape }
    }

    /// The node that `byte` leads to from the root.
    #[inline]
    pub(super) fn root(&self, byte: u8) -> Option<Node> {
        let slot = self.slots.get(usize::from(byte))?;
        (slot.key != EMPTY.key).then_some(byte.into())
    }

    /// The node that `byte` leads to from `node`.
    #[inline]
    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let key = key(node, byte);
        let mut at = home(key, self.slots.len());
        for _ in 0..self.shape.longest_probe {
            let slot = self.slots.get(at)?;
            if slot.key == key {
                return u32::try_from(at).ok();
            }
            if slot.key == EMPTY.key {
                return None;
            }
            at = after(at, self.slots.len());
        }
        None
    }

    /// The node that `bytes` lead to from the root.
    pub(super) fn walk(&self, bytes: &[u8]) -> Option<Node> {
        let (first, rest) = bytes.split_first()?;
        self.walk_on(self.root(*first)?, rest)
    }

    /// The node that `bytes` lead to from `node`.
    pub(super) fn walk_on(&self, node: Node, bytes: &[u8]) -> Option<Node> {
        bytes.iter().try_fold(node, |node, byte| self.child(node, *byte))
    }

    /// The piece that ends at `node`.
    #[inline]
    pub(super) fn piece(&self, node: Node) -> Option<Hit> {
        let piece = self.slots.get(node as usize)?.piece;
        let kind = match piece & 3 {
            _ if piece == NONE => return None,
            0 => Kind::Normal,
            1 => Kind::UserDefined,
            _ => Kind::Unused,
        };
        Some(Hit { id: piece >> 2, kind })
    }
}

/// A trie that is being filled.
pub(super) struct Builder<'s> {
    slots: &'s mut [Slot],
    shape: Shape,
}

impl<'s> Builder<'s> {
    /// An empty trie in all of `slots`.
    pub(super) fn new(slots: &'s mut [Slot]) -> Self {
        slots.fill(EMPTY);
        Self { slots, shape: Shape::default() }
    }

    /// Adds a piece.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if it is there already or edges collide as only edges made to collide do;
    /// `size_overflow` for ids of more than 30 bits.
    pub(super) fn insert(&mut self, bytes: &[u8], hit: Hit) -> Result<()> {
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        let large = Error::without_offset(ErrorKind::SizeOverflow);
        let kind = match hit.kind {
            Kind::Normal => 0,
            Kind::UserDefined => 1,
            Kind::Unused => 2,
        };
        let value = Some(hit.id).filter(|id| *id < NONE >> 2).ok_or(large)? << 2 | kind;
        let (first, rest) = bytes.split_first().ok_or(bad)?;
        let root = self.slots.get_mut(usize::from(*first)).ok_or(bad)?;
        root.key = (*first).into();
        let mut node = u32::from(*first);
        for byte in rest {
            node = self.edge(key(node, *byte)).ok_or(bad)?;
        }
        let slot = self.slots.get_mut(node as usize).ok_or(bad)?;
        if slot.piece != NONE {
            return Err(bad);
        }
        slot.piece = value;
        Ok(())
    }

    /// The slot of an edge, which is made if it is not there.
    fn edge(&mut self, key: u32) -> Option<Node> {
        let count = self.slots.len();
        let mut at = home(key, count);
        for probes in 1..=MAX_PROBES {
            let slot = self.slots.get_mut(at)?;
            if slot.key == EMPTY.key {
                slot.key = key;
                self.shape.longest_probe = self.shape.longest_probe.max(probes);
            }
            if slot.key == key {
                return u32::try_from(at).ok();
            }
            at = after(at, count);
        }
        None
    }

    pub(super) const fn finish(self) -> Shape {
        self.shape
    }
}

const fn key(node: Node, byte: u8) -> u32 {
    node << 8 | byte as u32
}

/// The slot that a key's hash points to, behind those of the root.
#[inline]
const fn home(key: u32, slots: usize) -> usize {
    let mixed = key.wrapping_mul(0x9E37_79B1);
    let mixed = (mixed ^ mixed >> 15) as u64;
    let hashed = slots.saturating_sub(ROOTS) as u64;
    ((mixed.wrapping_mul(hashed) >> 32) as usize).saturating_add(ROOTS)
}

/// The slot that is tried next.
#[inline]
const fn after(at: usize, slots: usize) -> usize {
    let next = at.saturating_add(1);
    if next < slots { next } else { ROOTS }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::prelude::v1::*;

    use super::*;

    #[test]
    fn all_pieces_are_found_and_nothing_else() {
        let words: Vec<String> =
            (0..2000).map(|i| std::format!("{:x}é{}", i * 7919 % 4096, i % 13)).collect();
        let distinct: std::collections::BTreeSet<&str> = words.iter().map(String::as_str).collect();
        let bytes: usize = distinct.iter().map(|word| word.len()).sum();
        let mut slots = vec![Slot::default(); slots_needed(bytes as u64).unwrap()];
        let mut builder = Builder::new(&mut slots);
        for (word, id) in distinct.iter().zip(0..) {
            builder.insert(word.as_bytes(), Hit { id, kind: Kind::Unused }).unwrap();
        }
        let again = builder.insert(words[0].as_bytes(), Hit { id: 1, kind: Kind::Normal });
        assert_eq!(again.unwrap_err().kind(), ErrorKind::BadVocabulary);
        let shape = builder.finish();
        let trie = Trie::resume(&slots, shape);
        for (word, id) in distinct.iter().zip(0..) {
            let node = trie.walk(word.as_bytes()).unwrap();
            assert_eq!(trie.piece(node), Some(Hit { id, kind: Kind::Unused }));
            for cut in 1..word.len() {
                let part = &word.as_bytes()[..cut];
                let node = trie.walk(part).unwrap();
                let is_word = core::str::from_utf8(part).is_ok_and(|part| distinct.contains(part));
                assert_eq!(trie.piece(node).is_some(), is_word);
            }
            assert_eq!(trie.walk(std::format!("{word}x").as_bytes()), None);
        }
    }
}
