//! A vocabulary as a trie over characters, whose edges lie in one hash table.
//!
//! A node is the slot of the edge that leads to it. A slot is the edge, which is the node that it
//! leaves and its character, and the token that ends with it: twelve bytes. XLM-RoBERTa's 250,000
//! tokens are some 500,000 edges.

use alloc::vec::Vec;

use super::tokens::TokenStrings;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;

/// A place in a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(u32);

impl Node {
    /// No slot has this number.
    pub(super) const ROOT: Self = Self((1 << 31) - 1);
}

/// The tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    /// `node << 21 | character`, plus one; 0 is free.
    edges: Vec<u64>,
    /// What ends with each edge; [`NONE`] for nothing.
    tokens: Vec<u32>,
    /// The most slots that any edge is away from where its hash points, plus one.
    longest_probe: usize,
}

/// No token.
const NONE: u32 = u32::MAX;

/// Slots that are looked at for one edge at most: characters made to collide are refused.
const MAX_PROBES: usize = 256;

/// Slots for each token that building begins with: more than most vocabularies need.
const SLOTS_A_TOKEN: usize = 3;

/// The longest token that is taken: a text's every place may be looked at so many times.
const MAX_TOKEN_BYTES: usize = 1024;

impl Trie {
    /// The trie of all `strings`. Of equal ones the last counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] for a token that is too long; [`ErrorKind::BadVocabulary`] if edges
    /// collide as only edges made to collide do; [`ErrorKind::NoMemory`].
    pub(super) fn build(strings: &TokenStrings) -> Result<Self> {
        let most = strings.bytes().saturating_mul(2).saturating_add(16).min(1 << 30);
        let mut slots = strings.len().saturating_mul(SLOTS_A_TOKEN).saturating_add(16).min(most);
        loop {
            if let Some(trie) = Self::build_in(strings, slots)? {
                return Ok(trie);
            }
            if slots >= most {
                return Err(Error::without_offset(ErrorKind::BadVocabulary));
            }
            slots = slots.saturating_mul(2).min(most);
        }
    }

    /// The same in so many slots; `None` if there should be more.
    fn build_in(strings: &TokenStrings, slots: usize) -> Result<Option<Self>> {
        let mut trie =
            Self { edges: filled(slots, 0)?, tokens: filled(slots, NONE)?, longest_probe: 0 };
        // A table that is fuller than seven eighths is slow.
        let mut free = slots - slots / 8;
        for (id, token) in strings.iter() {
            if token.len() > MAX_TOKEN_BYTES {
                return Err(Error::without_offset(ErrorKind::OverLimit));
            }
            let mut node = Node::ROOT;
            for c in token.chars() {
                match trie.make(node, c, &mut free) {
                    Some(next) => node = next,
                    None => return Ok(None),
                }
            }
            trie.tokens[node.0 as usize] = id;
        }
        Ok(Some(trie))
    }

    /// The node behind an edge, which is made if it is not there.
    fn make(&mut self, node: Node, c: char, free: &mut usize) -> Option<Node> {
        let edge = edge(node, c);
        let mut at = home(edge, self.edges.len());
        for probes in 1..=MAX_PROBES {
            if self.edges[at] == edge {
                return Some(Node(at as u32));
            }
            if self.edges[at] == 0 {
                *free = free.checked_sub(1)?;
                self.edges[at] = edge;
                self.longest_probe = self.longest_probe.max(probes);
                return Some(Node(at as u32));
            }
            at = after(at, self.edges.len());
        }
        None
    }

    /// The node that `c` leads to from `node`.
    #[inline]
    pub(super) fn child(&self, node: Node, c: char) -> Option<Node> {
        let edge = edge(node, c);
        let mut at = home(edge, self.edges.len());
        for _ in 0..self.longest_probe {
            match self.edges[at] {
                found if found == edge => return Some(Node(at as u32)),
                0 => return None,
                _ => at = after(at, self.edges.len()),
            }
        }
        None
    }

    /// The node that `text` leads to from `node`.
    pub(super) fn walk(&self, node: Node, text: &str) -> Option<Node> {
        text.chars().try_fold(node, |node, c| self.child(node, c))
    }

    /// The token that ends at `node`, which is not the root.
    #[inline]
    pub(super) fn token(&self, node: Node) -> Option<u32> {
        self.tokens.get(node.0 as usize).copied().filter(|id| *id != NONE)
    }

    /// The id of a token.
    pub(super) fn find(&self, token: &str) -> Option<u32> {
        self.token(self.walk(Node::ROOT, token)?)
    }
}

const fn edge(node: Node, c: char) -> u64 {
    ((node.0 as u64) << 21 | c as u64) + 1
}

/// The slot that an edge's hash points to.
#[inline]
const fn home(edge: u64, slots: usize) -> usize {
    let mixed = edge.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    (mixed.wrapping_mul(slots as u64) >> 32) as usize
}

/// The slot that is tried next.
#[inline]
const fn after(at: usize, slots: usize) -> usize {
    let next = at + 1;
    if next < slots { next } else { 0 }
}
