//! The passages of files, equal ones once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use crate::passage::Passage;
use crate::script::Letters;

/// Passages, each with the file that it is in.
#[derive(Debug, Default)]
pub struct Corpus {
    passages: Vec<(Arc<str>, Passage)>,
    /// The passage of each part, and its place among that passage's parts.
    parts: Vec<(usize, usize)>,
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
        self.parts.extend((0..passage.parts.len()).map(|part| (next, part)));
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

    /// The passages with the headings around them, in their order.
    #[must_use]
    pub fn texts(&self) -> Vec<Cow<'_, str>> {
        self.passages.iter().map(|(_, passage)| passage.with_heading()).collect()
    }

    /// The parts of all passages as models read them, in their order.
    #[must_use]
    pub fn parts(&self) -> Vec<Cow<'_, str>> {
        let read = |(passage, part): &(usize, usize)| {
            let (_, passage) = self.passages.get(*passage)?;
            Some(passage.read_of(passage.parts.get(*part)?))
        };
        self.parts.iter().map(|part| read(part).unwrap_or_default()).collect()
    }

    /// The similarity of each passage, which is that of its best part, and the number of that part
    /// in it.
    #[must_use]
    pub fn best_parts(&self, similarities: &[f32]) -> (Vec<f32>, Vec<usize>) {
        let (mut best, mut parts) =
            (vec![f32::NAN; self.passages.len()], vec![0; self.passages.len()]);
        for ((passage, part), similarity) in self.parts.iter().zip(similarities) {
            if let (Some(best), Some(own)) = (best.get_mut(*passage), parts.get_mut(*passage))
                && (best.is_nan() || similarity > best)
            {
                (*best, *own) = (*similarity, *part);
            }
        }
        (best, parts)
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
        let passage =
            |heading: &str, text: &str, line| Passage::whole(heading, text.into(), line, line);
        let (a, b) = ("a".into(), "b".into());
        assert_eq!(corpus.add(&a, passage("", "x", 1)), Some(0));
        assert_eq!(corpus.add(&b, passage("", "x", 7)), None);
        assert_eq!(corpus.add(&b, passage("h", "x", 7)), Some(1));
        assert_eq!((corpus.len(), corpus.get(0).unwrap().1.parts[0].line), (2, 1));
        assert_eq!(corpus.texts(), ["x", "h\nx"]);
    }
}
