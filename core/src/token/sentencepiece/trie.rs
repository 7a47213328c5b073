//! The pieces of a model by their bytes.

use crate::error::{Error, ErrorKind, Result};
use crate::token::trie::{self, Bytes};

pub use crate::token::trie::Slot;

/// Nodes have 24 bits, and one of these is the root.
const MAX_SLOTS: u64 = (1 << 24) - 1;

/// The highest id, beside which a kind fits.
const MOST_ID: u32 = u32::MAX >> 2;

/// The kind of a found piece.
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

impl Hit {
    /// `id << 2 | kind`.
    fn value(self) -> u32 {
        let kind = match self.kind {
            Kind::Normal => 0,
            Kind::UserDefined => 1,
            Kind::Unused => 2,
        };
        self.id << 2 | kind
    }

    #[inline]
    const fn from_value(value: u32) -> Self {
        let kind = match value & 3 {
            0 => Kind::Normal,
            1 => Kind::UserDefined,
            _ => Kind::Unused,
        };
        Self { id: value >> 2, kind }
    }
}

/// The pieces.
pub(super) type Trie<'a> = trie::Trie<'a, Bytes>;

/// The pieces while they are added.
pub(super) type Builder<'s> = trie::Builder<'s, Bytes>;

/// The slot of a node.
pub(super) type Node = u32;

/// How many slots pieces of so many bytes together need.
pub(super) const fn slots_needed(piece_bytes: u64) -> Option<usize> {
    let hashed = piece_bytes.saturating_add(piece_bytes / 4);
    let slots = hashed.saturating_add(<Bytes as trie::Symbols>::DIRECT as u64).saturating_add(1);
    #[expect(clippy::cast_possible_truncation, reason = "24 bits")]
    if slots > MAX_SLOTS { None } else { Some(slots as usize) }
}

impl Trie<'_> {
    /// The node that `byte` leads to from the root.
    #[inline]
    pub(super) fn root(&self, byte: u8) -> Option<Node> {
        self.node(byte.into()).map(|node| node.slot)
    }

    /// The node that `byte` leads to from `node`.
    #[inline]
    pub(super) fn next(&self, node: Node, byte: u8) -> Option<Node> {
        self.child(node, byte.into()).map(|node| node.slot)
    }

    /// The node that `bytes` lead to from the root.
    pub(super) fn walk(&self, bytes: &[u8]) -> Option<Node> {
        let (first, rest) = bytes.split_first()?;
        self.walk_on(self.root(*first)?, rest)
    }

    /// The node that `bytes` lead to from `node`.
    pub(super) fn walk_on(&self, node: Node, bytes: &[u8]) -> Option<Node> {
        bytes.iter().try_fold(node, |node, byte| self.next(node, *byte))
    }

    /// The piece that ends at `node`.
    #[inline]
    pub(super) fn piece(&self, node: Node) -> Option<Hit> {
        self.node(node)?.value().map(Hit::from_value)
    }
}

impl Builder<'_> {
    /// Adds a piece, which has no byte that is 0.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if it is there already or edges collide as only edges made to collide do;
    /// `size_overflow` for ids of more than 30 bits.
    pub(super) fn insert(&mut self, bytes: &[u8], hit: Hit) -> Result<()> {
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        if hit.id >= MOST_ID {
            return Err(Error::without_offset(ErrorKind::SizeOverflow));
        }
        let (first, rest) = bytes.split_first().ok_or(bad)?;
        let mut node = self.make(self.direct(*first)).ok_or(bad)?;
        for byte in rest {
            node = self.make(self.edge(node, (*byte).into())).ok_or(bad)?;
        }
        if Trie::resume(self.slots(), 0).piece(node).is_some() {
            return Err(bad);
        }
        self.end(node, hit.value());
        Ok(())
    }
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
        let mut builder = Builder::new(&mut slots, usize::MAX);
        for (word, id) in distinct.iter().zip(0..) {
            builder.insert(word.as_bytes(), Hit { id, kind: Kind::Unused }).unwrap();
        }
        let again = builder.insert(words[0].as_bytes(), Hit { id: 1, kind: Kind::Normal });
        assert_eq!(again.unwrap_err().kind(), ErrorKind::BadVocabulary);
        let longest_probe = builder.longest_probe();
        let trie = Trie::resume(&slots, longest_probe);
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
