//! Passages by the words that they share with a query: BM25 over [terms](crate::term).
//!
//! A term that is `n` times in a passage of `l` terms, and in `d` of `p` passages, which have `m`
//! terms on average, counts as in Lucene, with k = 1.2 and b = 0.75:
//!
//! ```text
//! ln(1 + (p − d + ½) / (d + ½)) · n / (n + k · (1 − b + b · l / m))
//! ```

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::term::{query_terms, terms};

const K: f32 = 1.2;
const B: f32 = 0.75;

/// Passages by the terms that they have. Those that are not searched count nowhere.
pub trait Passages {
    /// One more than the highest number of a passage.
    fn end(&self) -> usize;

    /// The number of passages that are searched.
    fn searched(&self) -> usize;

    /// The number of terms of a passage; `None` if it is not searched.
    fn terms(&self, passage: usize) -> Option<u32>;

    /// True if a passage is searched.
    fn is_searched(&self, passage: usize) -> bool {
        self.terms(passage).is_some()
    }

    /// The number of terms of all passages that are searched.
    fn all_terms(&self) -> u64;

    /// The passages that have a term, with its count in each. Some may be there that are not searched.
    fn postings(&self, term: &str) -> impl Iterator<Item = (usize, u32)>;

    /// True if at least half of the letters are Latin.
    fn are_latin(&self) -> bool;
}

/// The terms of a query, and how rare they are.
#[derive(Clone, Debug, Default)]
pub struct Words {
    terms: Vec<Word>,
    are_stop_words: bool,
}

/// A term of a query.
#[derive(Clone, Debug)]
struct Word {
    term: String,
    rarity: f32,
    /// The passages that have it, with its count in each.
    postings: Vec<(usize, u32)>,
}

impl Words {
    /// Looks up a query's terms: without stop words, unless it has no others.
    #[must_use]
    pub fn new(query: &str, passages: &impl Passages) -> Self {
        let (says, stops) = query_terms(query);
        let are_stop_words = says.is_empty();
        let terms = if are_stop_words { stops } else { says };
        let found = terms.into_iter().map(|term| {
            let all = passages.postings(&term);
            let postings: Vec<(usize, u32)> = all.filter(|it| passages.is_searched(it.0)).collect();
            let rarity = rarity(passages.searched(), postings.len());
            Word { term, rarity, postings }
        });
        Self { terms: found.collect(), are_stop_words }
    }

    /// True unless the query has stop words alone, which say nothing beside a meaning.
    #[must_use]
    pub const fn count_beside_meaning(&self) -> bool {
        !self.are_stop_words
    }

    /// The scores of all passages, by number; 0 for those that share no word with the query.
    #[must_use]
    pub fn scores(&self, passages: &impl Passages) -> Vec<f32> {
        let (mut scores, mean) = (vec![0.0; passages.end()], mean_terms(passages));
        for Word { rarity, postings, .. } in &self.terms {
            for (passage, count) in postings {
                let Some(length) = passages.terms(*passage) else { continue };
                if let Some(score) = scores.get_mut(*passage) {
                    *score += rarity * weight(*count, length, mean);
                }
            }
        }
        scores
    }

    /// The number of the text that has the rarest words of the query; the first among equals.
    pub fn best_of<'t>(&self, texts: impl Iterator<Item = &'t str>) -> usize {
        let (mut best, mut most) = (0, 0.0);
        for (at, text) in texts.enumerate() {
            let mut found = vec![0.0; self.terms.len()];
            terms(text, |term| {
                for (rarity, word) in found.iter_mut().zip(&self.terms) {
                    if word.term == term {
                        *rarity = word.rarity;
                    }
                }
            });
            let sum: f32 = found.iter().sum();
            if sum > most {
                (best, most) = (at, sum);
            }
        }
        best
    }
}

/// The average number of terms of a passage.
#[expect(clippy::cast_precision_loss, reason = "a mean")]
fn mean_terms(passages: &impl Passages) -> f32 {
    (passages.all_terms() as f32 / passages.searched().max(1) as f32).max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of passages")]
fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all as f32, having as f32);
    libm::logf(1.0 + (all - having + 0.5) / (having + 0.5))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of words")]
fn weight(count: u32, length: u32, mean: f32) -> f32 {
    let (count, length) = (count as f32, length as f32);
    count / (count + K * (1.0 - B + B * length / mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_index::tests::index_from;

    /// By `rank_bm25`'s way to count, with Lucene's formula: `tests/bm25.py`.
    #[test]
    fn scores_are_those_of_the_formula() {
        let index = index_from(&[
            "the cat sat on the mat",
            "the dog chased the cat and the other cat",
            "a bird",
            "parse_header reads a header",
        ]);
        for (query, expected) in EXPECTED {
            let found = Words::new(query, &index).scores(&index);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{query}: {found} {expected}");
            }
        }
    }

    include!("../tests/bm25.rs");

    #[test]
    fn stop_words_count_alone_only() {
        let index = index_from(&["to be or not to be", "being there", "question"]);
        let found = Words::new("to be, or not to be?", &index);
        let scores = found.scores(&index);
        assert!(!found.count_beside_meaning() && scores[0] > 0.0 && scores[2] == 0.0);
        let found = Words::new("to be a question", &index);
        let scores = found.scores(&index);
        assert!(found.count_beside_meaning() && scores[0] == 0.0 && scores[2] > 0.0);
        let none = index_from(&[]);
        assert!(Words::new("a", &none).scores(&none).is_empty());
    }

    #[test]
    fn the_best_part_has_the_rarest_words() {
        let index = index_from(&["the cat sat", "the cat ran", "a storm"]);
        let best =
            |query, parts: [&'static str; 3]| Words::new(query, &index).best_of(parts.into_iter());
        assert_eq!(best("cat in a storm", ["the cat", "the storm", "a storm"]), 1);
        assert_eq!(best("unknown", ["the cat", "the storm", ""]), 0);
    }
}
