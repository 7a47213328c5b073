//! Long added tokens in a text, found in linear time.
//!
//! A table of added tokens compares a text from each place on with as many bytes as tokens have,
//! which is much for long ones. Here the text is read once, from its end to its start, by the
//! automaton of Aho and Corasick over the tokens read backwards: at each place its state is the
//! longest part of the text from there on that ends a token, and knows the longest token that
//! begins there.

use alloc::string::String;
use alloc::vec::Vec;

use super::tokens::TokenStrings;
use super::trie::{Node, ROOT, Trie};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{filled, push, write};
use crate::text::character::utf8;

/// An automaton over spellings.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    /// The spellings backwards.
    trie: Trie,
    /// By a node's slot, the node of its longest proper suffix that has one.
    shorter: Vec<Node>,
    /// By a node's slot, the longest spelling that is a suffix of it, plus one; 0 for none.
    longest: Vec<u32>,
}

/// A spelling in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it begins.
    pub(super) start: u32,
    /// Its number.
    pub(super) spelling: u32,
}

impl Automaton {
    /// The automaton over `spellings`, numbered from 0 on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] for more than the trie takes; [`ErrorKind::NoMemory`].
    pub(super) fn build<'s>(spellings: impl Iterator<Item = &'s str>) -> Result<Self> {
        let mut backwards = TokenStrings::with_room(0, 0)?;
        let mut spelling = String::new();
        for forwards in spellings {
            spelling.clear();
            for c in forwards.chars().rev() {
                write(&mut spelling, utf8(c, &mut [0; 4]))?;
            }
            backwards.push(&spelling)?;
        }
        let trie = Trie::build(&backwards)?;
        let (shorter, longest) = (filled(trie.slots(), ROOT)?, filled(trie.slots(), 0)?);
        let mut automaton = Self { trie, shorter, longest };
        automaton.link(&backwards)?;
        Ok(automaton)
    }

    /// Links all nodes, those of few characters first, as they are links of others.
    fn link(&mut self, backwards: &TokenStrings) -> Result<()> {
        let mut growing = Vec::new();
        for (_, spelling) in backwards.iter() {
            push(&mut growing, (ROOT, spelling.chars()))?;
        }
        while !growing.is_empty() {
            growing.retain_mut(|(parent, rest)| {
                let Some(c) = rest.next() else { return false };
                let Some(node) = self.trie.child(*parent, c) else { return false };
                let suffix = self.shorter_of(*parent);
                let shorter = suffix.map_or(ROOT, |suffix| self.advance(suffix, c).0);
                self.shorter[node.slot as usize] = shorter;
                let own = node.value().map(|spelling| spelling + 1);
                self.longest[node.slot as usize] = own.unwrap_or_else(|| self.longest_of(shorter));
                *parent = node;
                true
            });
        }
        Ok(())
    }

    fn shorter_of(&self, node: Node) -> Option<Node> {
        if node == ROOT { None } else { self.shorter.get(node.slot as usize).copied() }
    }

    fn longest_of(&self, node: Node) -> u32 {
        if node == ROOT { 0 } else { self.longest[node.slot as usize] }
    }

    /// The state after `c`, and how many nodes were asked for it.
    fn advance(&self, mut node: Node, c: char) -> (Node, usize) {
        let mut asked = 1;
        loop {
            if let Some(next) = self.trie.child(node, c) {
                return (next, asked);
            }
            let Some(shorter) = self.shorter_of(node) else { return (ROOT, asked) };
            node = shorter;
            asked += 1;
        }
    }

    /// Of each place in `text` that spellings begin at, the longest one, from the last place to the
    /// first; and how many nodes were asked for them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] for a text of 4 GiB or more; [`ErrorKind::NoMemory`].
    pub(super) fn find(&self, text: &str) -> Result<(Vec<Found>, usize)> {
        let large = |_| Error::without_offset(ErrorKind::OverLimit);
        u32::try_from(text.len()).map_err(large)?;
        let (mut found, mut asked) = (Vec::new(), 0);
        let mut node = ROOT;
        for (at, c) in text.char_indices().rev() {
            let (next, more) = self.advance(node, c);
            node = next;
            asked += more;
            if let Some(spelling) = self.longest_of(node).checked_sub(1) {
                push(&mut found, Found { start: at as u32, spelling })?;
            }
        }
        Ok((found, asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the automaton finds them, by trying every spelling at every place.
    fn tried(spellings: &[String], text: &str) -> Vec<Found> {
        let longest = |at: usize| {
            let here = (0..).zip(spellings).filter(|(_, it)| text[at..].starts_with(it.as_str()));
            here.max_by_key(|(_, it)| it.len()).map(|(spelling, _)| spelling)
        };
        let places = text.char_indices().rev().map(|(at, _)| at);
        let found = |at| Some(Found { start: at as u32, spelling: longest(at)? });
        places.filter_map(found).collect()
    }

    #[test]
    fn what_is_found_is_what_trying_every_spelling_finds() {
        let mut state = 1_u32;
        let mut random = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % most
        };
        for _ in 0..2_000 {
            let mut word = |most| -> String {
                (0..=random(most)).map(|_| ['a', 'b', '\u{e9}'][random(3) as usize]).collect()
            };
            let mut spellings: Vec<String> = (0..10).map(|_| word(6)).collect();
            spellings.sort();
            spellings.dedup();
            let text = word(40);
            let automaton = Automaton::build(spellings.iter().map(String::as_str)).unwrap();
            assert_eq!(automaton.find(&text).unwrap().0, tried(&spellings, &text), "{spellings:?}");
        }
    }

    /// Tokens made so that comparing takes as many steps as they have bytes.
    #[test]
    fn steps_grow_with_the_text_however_long_spellings_are() {
        let a = |count| "a".repeat(count);
        let one_long = [a(1000) + "b"];
        let two = [a(1), a(1000) + "b"];
        let all_shifts: Vec<String> = (0..300).map(|n| a(n) + "b" + &a(700 - n) + "c").collect();
        for spellings in [&one_long[..], &two[..], &all_shifts[..]] {
            let automaton = Automaton::build(spellings.iter().map(String::as_str)).unwrap();
            for text in [a(20_000), (a(299) + "b").repeat(60), (a(999) + "ba").repeat(20)] {
                let (_, asked) = automaton.find(&text).unwrap();
                assert!(asked <= 2 * text.len(), "{asked} for {}", text.len());
            }
        }
    }
}
