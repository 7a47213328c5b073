//! Passages in memory, by their words.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::bm25::Passages;
use crate::postings::{append, read};
use crate::script::Letters;
use crate::term::counts;

/// An index of passages, which have the numbers 0, 1, 2, …
#[derive(Clone, Debug, Default)]
pub struct WordIndex {
    lists: BTreeMap<String, List>,
    /// `None` for those that are not searched.
    passages: Vec<Option<Passage>>,
    searched: usize,
    terms: u64,
    letters: Letters,
}

/// The passages that have a term.
#[derive(Clone, Debug, Default)]
struct List {
    bytes: Vec<u8>,
    last: u32,
}

/// What is counted of a passage.
#[derive(Clone, Copy, Debug)]
struct Passage {
    terms: u32,
    letters: Letters,
}

impl WordIndex {
    /// Adds the next passage.
    pub fn add(&mut self, text: &str) {
        // A passage takes more than one byte: there are never so many.
        let number = u32::try_from(self.passages.len()).unwrap_or(u32::MAX);
        let (terms, counted) = counts(text);
        for (term, count) in counted {
            let list = self.lists.entry(term).or_default();
            append(&mut list.bytes, list.last, (number, count));
            list.last = number;
        }
        let letters = Letters::from_text(text);
        self.searched += 1;
        self.terms += u64::from(terms);
        self.letters.add(letters);
        self.passages.push(Some(Passage { terms, letters }));
    }

    /// Adds the next passage as one that is not searched.
    pub fn leave_out(&mut self) {
        self.passages.push(None);
    }

    /// A passage is not searched any more.
    pub fn remove(&mut self, passage: usize) {
        let Some(passage) = self.passages.get_mut(passage).and_then(Option::take) else { return };
        self.searched -= 1;
        self.terms -= u64::from(passage.terms);
        self.letters.remove(passage.letters);
    }
}

impl Passages for WordIndex {
    fn end(&self) -> usize {
        self.passages.len()
    }

    fn searched(&self) -> usize {
        self.searched
    }

    fn terms(&self, passage: usize) -> Option<u32> {
        Some(self.passages.get(passage)?.as_ref()?.terms)
    }

    fn all_terms(&self) -> u64 {
        self.terms
    }

    fn postings(&self, term: &str) -> impl Iterator<Item = (usize, u32)> {
        let bytes = self.lists.get(term).map(|list| list.bytes.as_slice()).unwrap_or_default();
        read(bytes).map(|(passage, count)| (passage as usize, count))
    }

    fn are_latin(&self) -> bool {
        self.letters.are_latin()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bm25::Words;

    pub(crate) fn index_from(texts: &[&str]) -> WordIndex {
        let mut index = WordIndex::default();
        texts.iter().for_each(|text| index.add(text));
        index
    }

    #[test]
    fn passages_that_are_removed_count_nowhere() {
        let mut index = index_from(&["файл", "a cat", "a dog and a cat", "the dog"]);
        index.remove(0);
        index.remove(2);
        index.remove(2);
        index.remove(99);
        index.leave_out();
        index.add("a cat and a mouse");
        let rest = index_from(&["a cat", "the dog", "a cat and a mouse"]);
        assert_eq!(index.searched(), 3);
        assert_eq!((index.all_terms(), index.are_latin()), (rest.all_terms(), true));
        for query in ["cat", "dogs and mice", "файл", "the"] {
            let expected = Words::new(query, &rest).scores(&rest);
            let found = Words::new(query, &index).scores(&index);
            assert_eq!(found.len(), 6, "{query}");
            assert_eq!([found[1], found[3], found[5]], expected[..], "{query}");
            assert_eq!([found[0], found[2], found[4]], [0.0; 3], "{query}");
        }
    }
}
