//! Passages by the words that they share with a query: BM25 over [terms](crate::term).
//!
//! A term that is `n` times in a passage of `l` terms, and in `d` of `p` passages, which have `m`
//! terms on average, counts as in Lucene, with k = 1.2 and b = 0.75:
//!
//! ```text
//! ln(1 + (p − d + ½) / (d + ½)) · n / (n + k · (1 − b + b · l / m))
//! ```

use std::collections::HashMap;

use rayon::prelude::*;

use crate::inverted::InvertedIndex;
use crate::term::{query_terms, terms};

const K: f32 = 1.2;
const B: f32 = 0.75;

/// Passages whose terms are counted at a time.
const AT_ONCE: usize = 4096;

/// The words of passages.
#[derive(Clone, Debug, Default)]
pub struct Words {
    ids: HashMap<String, u32>,
    index: InvertedIndex,
}

/// The words of a query.
#[derive(Clone, Debug, Default)]
pub struct WordScores {
    /// The scores of all passages; 0 for those that share no word with the query.
    pub scores: Vec<f32>,
    /// True if the query has stop words alone.
    pub are_stop_words: bool,
}

impl Words {
    /// Counts the words of texts.
    #[must_use]
    pub fn new<T: AsRef<str> + Sync>(texts: &[T]) -> Self {
        let mut words = Self::default();
        let mut lengths = Vec::with_capacity(texts.len());
        for texts in texts.chunks(AT_ONCE) {
            let counted: Vec<_> = texts.par_iter().map(|text| counts(text.as_ref())).collect();
            for (length, counts) in counted {
                lengths.push(length);
                words.add(counts);
            }
        }
        let total: f32 = lengths.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = (total / lengths.len().max(1) as f32).max(1.0);
        words.index.reweigh(|passage, count| {
            let length = lengths.get(passage).copied().unwrap_or_default();
            count / (count + K * (1.0 - B + B * length / mean))
        });
        words
    }

    fn add(&mut self, counts: Vec<(String, f32)>) {
        let Self { ids, index } = self;
        let terms = counts.into_iter().map(|(term, count)| {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            (*ids.entry(term).or_insert(next), count)
        });
        index.add(terms);
    }

    /// The scores of all passages for a query, by its terms without stop words; by stop words if it
    /// has no others.
    #[must_use]
    pub fn scores(&self, query: &str) -> WordScores {
        let (says, stops) = query_terms(query);
        let are_stop_words = says.is_empty();
        let terms = if are_stop_words { stops } else { says };
        let ids = terms.iter().filter_map(|term| self.ids.get(term).copied());
        let scores = self.index.scores(ids.map(|id| (id, self.rarity(id))));
        WordScores { scores, are_stop_words }
    }

    /// The number of the text that has the rarest words of a query; the first among equals.
    #[must_use]
    pub fn best_of(&self, query: &str, texts: &[impl AsRef<str>]) -> usize {
        let (says, stops) = query_terms(query);
        let wanted = if says.is_empty() { stops } else { says };
        let rarities: HashMap<String, f32> = wanted
            .into_iter()
            .filter_map(|term| {
                let id = *self.ids.get(&term)?;
                Some((term, self.rarity(id)))
            })
            .collect();
        let (mut best, mut most) = (0, 0.0);
        for (at, text) in texts.iter().enumerate() {
            let found = counts(text.as_ref()).1;
            let sum: f32 = found.iter().filter_map(|(term, _)| rarities.get(term)).sum();
            if sum > most {
                (best, most) = (at, sum);
            }
        }
        best
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of passages")]
    fn rarity(&self, term: u32) -> f32 {
        let (all, having) = (self.index.len() as f32, self.index.frequency(term) as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

/// The number of a text's terms, and how often it has each.
#[expect(clippy::cast_precision_loss, reason = "numbers of words")]
fn counts(text: &str) -> (f32, Vec<(String, f32)>) {
    let mut counts: HashMap<String, f32> = HashMap::new();
    let mut length = 0_u64;
    terms(text, |term| {
        length += 1;
        match counts.get_mut(term) {
            Some(count) => *count += 1.0,
            None => {
                counts.insert(term.to_owned(), 1.0);
            }
        }
    });
    (length as f32, counts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `rank_bm25`'s way to count, with Lucene's formula: `tests/bm25.py`.
    #[test]
    fn scores_are_those_of_the_formula() {
        let texts = [
            "the cat sat on the mat",
            "the dog chased the cat and the other cat",
            "a bird",
            "parse_header reads a header",
        ];
        let words = Words::new(&texts);
        for (query, expected) in EXPECTED {
            let found = words.scores(query).scores;
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{query}: {found} {expected}");
            }
        }
    }

    include!("../tests/bm25.rs");

    #[test]
    fn the_best_part_has_the_rarest_words() {
        let words = Words::new(&["the cat sat", "the cat ran", "a storm"]);
        assert_eq!(words.best_of("cat in a storm", &["the cat", "the storm", "a storm"]), 1);
        assert_eq!(words.best_of("unknown", &["the cat", "the storm"]), 0);
    }

    #[test]
    fn stop_words_count_alone_only() {
        let words = Words::new(&["to be or not to be", "being there", "question"]);
        let found = words.scores("to be, or not to be?");
        assert!(found.are_stop_words && found.scores[0] > 0.0 && found.scores[2] == 0.0);
        let found = words.scores("to be a question");
        assert!(!found.are_stop_words && found.scores[0] == 0.0 && found.scores[2] > 0.0);
        assert!(Words::new::<&str>(&[]).scores("a").scores.is_empty());
    }
}
