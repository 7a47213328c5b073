//! A vocabulary as a trie over characters, whose edges lie in one hash table.
//!
//! A node is the slot of the edge that leads to it. A slot has 64 bits: the node that its edge
//! leaves, the character, and what ends there. XLM-RoBERTa's 250,000 tokens are some 500,000 edges
//! in six megabytes.
//!
//! | bits | field |
//! |---|---|
//! | 42–63 | the node that the edge leaves |
//! | 21–41 | its character |
//! | 0–20 | the id of the token that ends with it, plus one; 0 for none |

use alloc::vec::Vec;
use core::str::Chars;

use super::tokens::TokenStrings;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::prefetch;
use crate::limit::{filled, push, reserved};

/// A place in a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    slot: u32,
    /// The id of the token that ends here, plus one; 0 for none.
    token: u32,
}

impl Node {
    /// Where all tokens begin: a slot that no table has.
    pub(super) const ROOT: Self = Self { slot: (1 << SLOT_BITS) - 1, token: 0 };
}

const SLOT_BITS: u32 = 22;
const CHARACTER_BITS: u32 = 21;
const TOKEN_BITS: u32 = 21;

/// The tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    /// The first one stays empty, so that no edge is 0.
    slots: Vec<u64>,
    /// The most slots that any edge is away from where its hash points, plus one.
    longest_probe: usize,
}

/// Slots that are looked at for one edge at most: characters made to collide are refused.
const MAX_PROBES: usize = 256;

/// Slots for each token that building begins with: more than most vocabularies need.
const SLOTS_A_TOKEN: usize = 3;

/// Tokens that grow in the table side by side: while the slot of one is waited for, others go on.
const TOGETHER: usize = 64;

/// A token on its way into the table.
struct Growing<'s> {
    id: u32,
    rest: Chars<'s>,
    /// The edge of its next character, and the slot that its hash points to.
    edge: u64,
    home: usize,
}

/// The longest token that is taken: a text's every place may be looked at so many times.
const MAX_TOKEN_BYTES: usize = 1024;

impl Trie {
    /// The trie of all `strings`. Of equal ones the last counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] for a token that is too long, and for more tokens than slots have
    /// bits for; [`ErrorKind::BadVocabulary`] if edges collide as only edges made to collide do;
    /// [`ErrorKind::NoMemory`].
    pub(super) fn build(strings: &TokenStrings) -> Result<Self> {
        const MOST: usize = (1 << SLOT_BITS) - 1;
        let over = Error::without_offset(ErrorKind::OverLimit);
        if strings.len() >= (1 << TOKEN_BITS) - 1 {
            return Err(over);
        }
        let enough = strings.bytes().saturating_mul(2).saturating_add(16);
        let mut count = strings.len().saturating_mul(SLOTS_A_TOKEN).saturating_add(16);
        loop {
            count = count.min(enough).min(MOST);
            if let Some(trie) = Self::build_in(strings, count)? {
                return Ok(trie);
            }
            if count == MOST {
                return Err(over);
            }
            if count == enough {
                return Err(Error::without_offset(ErrorKind::BadVocabulary));
            }
            count = count.saturating_mul(2);
        }
    }

    /// The same in so many slots; `None` if there should be more.
    fn build_in(strings: &TokenStrings, count: usize) -> Result<Option<Self>> {
        let mut trie = Self { slots: filled(count, 0)?, longest_probe: 0 };
        // A table that is fuller than seven eighths is slow.
        let mut free = count - count / 8;
        let mut tokens = strings.iter();
        let mut growing: Vec<Growing<'_>> = reserved(TOGETHER)?;
        loop {
            for (id, token) in tokens.by_ref().take(TOGETHER - growing.len()) {
                if token.len() > MAX_TOKEN_BYTES {
                    return Err(Error::without_offset(ErrorKind::OverLimit));
                }
                let mut rest = token.chars();
                if let Some(c) = rest.next() {
                    let (edge, home) = trie.ahead(Node::ROOT, c);
                    push(&mut growing, Growing { id, rest, edge, home })?;
                }
            }
            if growing.is_empty() {
                return Ok(Some(trie));
            }
            let mut has_room = true;
            // Those that stay keep their order, so that of equal tokens the last one ends last.
            growing.retain_mut(|token| {
                let Some(node) = trie.make(token.edge, token.home, &mut free) else {
                    has_room = false;
                    return false;
                };
                let Some(c) = token.rest.next() else {
                    trie.end(node, token.id);
                    return false;
                };
                (token.edge, token.home) = trie.ahead(node, c);
                true
            });
            if !has_room {
                return Ok(None);
            }
        }
    }

    /// The edge of `c` from `node`, and the slot that its hash points to, which is brought near.
    fn ahead(&self, node: Node, c: char) -> (u64, usize) {
        let edge = edge(node, c);
        let home = home(edge, self.slots.len());
        prefetch(self.slots.get(home).map(core::slice::from_ref).unwrap_or_default());
        (edge, home)
    }

    /// As many slots as there are, all of which nodes may have.
    pub(super) const fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The node behind an edge, which is made if it is not there.
    fn make(&mut self, edge: u64, home: usize, free: &mut usize) -> Option<Node> {
        let mut at = home;
        for probes in 1..=MAX_PROBES {
            let slot = &mut self.slots[at];
            if *slot == 0 {
                *free = free.checked_sub(1)?;
                *slot = edge << TOKEN_BITS;
                self.longest_probe = self.longest_probe.max(probes);
            }
            if *slot >> TOKEN_BITS == edge {
                return Some(Node { slot: at as u32, token: 0 });
            }
            at = after(at, self.slots.len());
        }
        None
    }

    /// Lets a token end at a node.
    fn end(&mut self, node: Node, id: u32) {
        let slot = &mut self.slots[node.slot as usize];
        *slot = (*slot >> TOKEN_BITS << TOKEN_BITS) | (u64::from(id) + 1);
    }

    /// The node that `c` leads to from `node`.
    #[inline]
    pub(super) fn child(&self, node: Node, c: char) -> Option<Node> {
        let edge = edge(node, c);
        let mut at = home(edge, self.slots.len());
        for _ in 0..self.longest_probe {
            let slot = self.slots[at];
            if slot >> TOKEN_BITS == edge {
                let token = (slot & ((1 << TOKEN_BITS) - 1)) as u32;
                return Some(Node { slot: at as u32, token });
            }
            if slot == 0 {
                return None;
            }
            at = after(at, self.slots.len());
        }
        None
    }

    /// The node that `text` leads to from `node`.
    pub(super) fn walk(&self, node: Node, text: &str) -> Option<Node> {
        text.chars().try_fold(node, |node, c| self.child(node, c))
    }

    /// The id of a token.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(super) fn find(&self, token: &str) -> Option<u32> {
        self.walk(Node::ROOT, token)?.token()
    }
}

impl Node {
    /// Its slot. The root has none.
    pub(super) const fn slot(self) -> usize {
        self.slot as usize
    }

    /// The id of the token that ends here.
    #[inline]
    pub(super) const fn token(self) -> Option<u32> {
        self.token.checked_sub(1)
    }
}

const fn edge(node: Node, c: char) -> u64 {
    (node.slot as u64) << CHARACTER_BITS | c as u64
}

/// The slot that an edge's hash points to: any but the first.
#[inline]
const fn home(edge: u64, slots: usize) -> usize {
    let mixed = edge.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    (mixed.wrapping_mul(slots as u64 - 1) >> 32) as usize + 1
}

/// The slot that is tried next.
#[inline]
const fn after(at: usize, slots: usize) -> usize {
    let next = at + 1;
    if next < slots { next } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tokens_are_found_and_nothing_else() {
        let mut strings = TokenStrings::with_room(0, 0).unwrap();
        let words = ["a", "ab", "", "abc", "é", "éa", "日本", "\0", "\u{10ffff}", "ab"];
        words.iter().for_each(|word| strings.push(word).unwrap());
        let trie = Trie::build(&strings).unwrap();
        for (id, word) in (0..).zip(words) {
            // Of equal ones the last.
            let id = if word == "ab" { 9 } else { id };
            assert_eq!(trie.find(word), (!word.is_empty()).then_some(id), "{word:?}");
        }
        for absent in ["b", "abcd", "日", "éab", "\0\0"] {
            assert_eq!(trie.find(absent), None, "{absent:?}");
        }
    }

    #[test]
    fn a_table_grows_until_all_edges_have_room() {
        let mut strings = TokenStrings::with_room(0, 0).unwrap();
        let long: alloc::string::String = ('a'..='z').cycle().take(1000).collect();
        (0..20).for_each(|at| strings.push(&long[at..]).unwrap());
        let trie = Trie::build(&strings).unwrap();
        assert!((0..20).all(|at| trie.find(&long[at..]) == Some(at as u32)));
        strings.push(&long.repeat(2)).unwrap();
        let error = Trie::build(&strings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverLimit);
    }
}
