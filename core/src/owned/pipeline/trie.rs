//! A vocabulary by its characters. XLM-RoBERTa's 250,000 tokens are some 500,000 edges in six
//! megabytes.

use alloc::vec::Vec;
use core::str::Chars;

use super::tokens::TokenStrings;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::prefetch;
use crate::limit::{filled, push, reserved};
pub(super) use crate::token::trie::Node;
use crate::token::trie::{self, Builder, Characters, Edge, Slot, Symbols};

/// Where all tokens begin: a slot that no table has.
pub(super) const ROOT: Node = Node::root::<Characters>();

/// The tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    slots: Vec<Slot>,
    longest_probe: usize,
}

/// Slots for each token that building begins with: more than most vocabularies need.
const SLOTS_A_TOKEN: usize = 3;

/// Tokens that grow in the table side by side: while the slot of one is waited for, others go on.
const TOGETHER: usize = 64;

/// A token on its way into the table.
struct Growing<'s> {
    id: u32,
    rest: Chars<'s>,
    /// The edge of its next character.
    edge: Edge,
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
        const MOST: usize = Characters::ROOT as usize;
        let over = Error::without_offset(ErrorKind::OverLimit);
        if strings.len() >= (1 << Characters::VALUE_BITS) - 1 {
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
        let mut slots = filled(count, Slot::default())?;
        // A table that is fuller than seven eighths is slow.
        let mut trie = Builder::new(&mut slots, count - count / 8);
        let mut tokens = strings.iter();
        let mut growing: Vec<Growing<'_>> = reserved(TOGETHER)?;
        loop {
            for (id, token) in tokens.by_ref().take(TOGETHER - growing.len()) {
                if token.len() > MAX_TOKEN_BYTES {
                    return Err(Error::without_offset(ErrorKind::OverLimit));
                }
                let mut rest = token.chars();
                if let Some(c) = rest.next() {
                    push(&mut growing, Growing { id, rest, edge: ahead(&trie, ROOT.slot, c) })?;
                }
            }
            if growing.is_empty() {
                let longest_probe = trie.longest_probe();
                return Ok(Some(Self { slots, longest_probe }));
            }
            let mut has_room = true;
            // Those that stay keep their order, so that of equal tokens the last one ends last.
            growing.retain_mut(|token| {
                let Some(node) = trie.make(token.edge) else {
                    has_room = false;
                    return false;
                };
                let Some(c) = token.rest.next() else {
                    trie.end(node, token.id);
                    return false;
                };
                token.edge = ahead(&trie, node, c);
                true
            });
            if !has_room {
                return Ok(None);
            }
        }
    }

    /// As many slots as there are, all of which nodes may have.
    pub(super) const fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The node that `c` leads to from `node`.
    #[inline]
    pub(super) fn child(&self, node: Node, c: char) -> Option<Node> {
        let trie = trie::Trie::<Characters>::resume(&self.slots, self.longest_probe);
        trie.child(node.slot, c.into())
    }

    /// The node that `characters` lead to from `node`.
    pub(super) fn walk(
        &self,
        node: Node,
        mut characters: impl Iterator<Item = char>,
    ) -> Option<Node> {
        characters.try_fold(node, |node, c| self.child(node, c))
    }

    /// The id of a token.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(super) fn find(&self, token: &str) -> Option<u32> {
        self.walk(ROOT, token.chars())?.value()
    }
}

/// The edge of `c` from a node, whose slot is brought near.
fn ahead(trie: &Builder<'_, Characters>, node: u32, c: char) -> Edge {
    let edge = trie.edge(node, c.into());
    prefetch(trie.slots().get(edge.home).map(core::slice::from_ref).unwrap_or_default());
    edge
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
