//! The passages of files, equal ones once.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use crate::passage::Passage;
use crate::script::Letters;

/// Passages, each with the file that it is in.
#[derive(Debug, Default)]
pub struct Corpus {
    passages: Vec<(Arc<str>, Passage)>,
    /// Passages by a hash of what a model reads of them.
    known: HashMap<u64, usize>,
    hasher: RandomState,
    letters: Letters,
}

impl Corpus {
    /// Adds a passage of a file; returns its number, and `None` if there is an equal one already.
    pub fn add(&mut self, file: &Arc<str>, passage: Passage) -> Option<usize> {
        let hash = self.hasher.hash_one((&passage.heading, &passage.text));
        let next = self.passages.len();
        let first = *self.known.entry(hash).or_insert(next);
        if let Some((_, known)) = self.passages.get(first)
            && (&known.heading, &known.text) == (&passage.heading, &passage.text)
        {
            return None;
        }
        self.letters.count(&passage.text);
        self.passages.push((Arc::clone(file), passage));
        Some(next)
    }

    /// The number of passages.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.passages.len()
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// A passage with its file's name.
    #[must_use]
    pub fn get(&self, passage: usize) -> Option<(&Arc<str>, &Passage)> {
        self.passages.get(passage).map(|(file, passage)| (file, passage))
    }

    /// The passages as models read them, in their order.
    #[must_use]
    pub fn texts(&self) -> Vec<std::borrow::Cow<'_, str>> {
        self.passages.iter().map(|(_, passage)| passage.with_heading()).collect()
    }

    /// True if at least half of the letters in the passages are Latin.
    #[must_use]
    pub const fn is_latin(&self) -> bool {
        self.letters.are_latin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_passages_are_there_once() {
        let mut corpus = Corpus::default();
        let passage = |heading: &str, text: &str, line| Passage {
            text: text.into(),
            heading: heading.into(),
            line,
            end_line: line,
        };
        let (a, b) = ("a".into(), "b".into());
        assert_eq!(corpus.add(&a, passage("", "x", 1)), Some(0));
        assert_eq!(corpus.add(&b, passage("", "x", 7)), None);
        assert_eq!(corpus.add(&b, passage("h", "x", 7)), Some(1));
        assert_eq!((corpus.len(), corpus.get(0).unwrap().1.line), (2, 1));
        assert_eq!(corpus.texts(), ["x", "h\nx"]);
    }
}
