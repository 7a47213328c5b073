//! The best passages by meaning, by words, or by both.
//!
//! Both together are a weighted sum of scores, each scaled to 0…1 over its first hundred: ranks alone
//! would let a hit on a frequent word count as much as the nearest text.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// The passages of each kind of score that count, at least.
pub const DEPTH: usize = 100;

/// A passage that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[repr(C)] // the page reads it where it lies
pub struct Hit {
    /// The number of the passage.
    pub passage: usize,
    /// How well it answers: the larger, the better.
    pub score: f32,
}

/// The scores of all passages for a query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scores<'s> {
    /// Scores of the meanings; those that are not numbers do not count.
    pub meaning: Option<&'s [f32]>,
    /// Scores of the shared words, which are 0 where there are none.
    pub words: Option<&'s [f32]>,
}

impl Scores<'_> {
    /// The best passages, the best first, among equals the first: the `depth` best by meaning and
    /// the `depth` best by words, where `weight` is the share of meaning if there are both.
    #[must_use]
    pub fn rank(&self, weight: f32, depth: usize) -> Vec<Hit> {
        let meaning = self.meaning.map(|scores| best(scores, depth, |score| !score.is_nan()));
        let words = self.words.map(|scores| best(scores, depth, |score| score > 0.0));
        let mut hits = match (meaning, words) {
            (Some(meaning), Some(words)) => {
                // Passages without any of the words have the least score of all.
                let least = if words.len() < depth { 0.0 } else { last(&words) };
                let mut hits = scaled(&meaning, last(&meaning), weight);
                hits.extend(scaled(&words, least, 1.0 - weight));
                sums(hits)
            }
            (one, other) => one.or(other).unwrap_or_default(),
        };
        hits.sort_unstable_by(order);
        hits.into_iter().map(|(passage, score)| Hit { passage, score }).collect()
    }
}

/// The best first, among equals the first.
fn order((a, x): &(usize, f32), (b, y): &(usize, f32)) -> Ordering {
    y.total_cmp(x).then(a.cmp(b))
}

/// The `depth` best of the passages that count, the best first.
fn best(scores: &[f32], depth: usize, counts: impl Fn(f32) -> bool) -> Vec<(usize, f32)> {
    let all = scores.iter().copied().enumerate();
    let mut found: Vec<(usize, f32)> = all.filter(|(_, score)| counts(*score)).collect();
    if found.len() > depth && depth > 0 {
        found.select_nth_unstable_by(depth - 1, order);
    }
    found.truncate(depth);
    found.sort_unstable_by(order);
    found
}

fn last(hits: &[(usize, f32)]) -> f32 {
    hits.last().map_or(0.0, |(_, score)| *score)
}

/// Scores from `least` to the best as 0 to `weight`.
fn scaled(hits: &[(usize, f32)], least: f32, weight: f32) -> Vec<(usize, f32)> {
    let range = hits.first().map_or(0.0, |(_, score)| score - least);
    let scale = |score: f32| if range > 0.0 { (score - least) / range } else { 1.0 };
    hits.iter().map(|(passage, score)| (*passage, weight * scale(*score))).collect()
}

/// One score for each passage: the sum of its scores.
fn sums(mut hits: Vec<(usize, f32)>) -> Vec<(usize, f32)> {
    hits.sort_unstable_by_key(|(passage, _)| *passage);
    hits.dedup_by(|(passage, score), (before, sum)| {
        let is_same = passage == before;
        if is_same {
            *sum += *score;
        }
        is_same
    });
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(scores: Scores<'_>, depth: usize) -> Vec<(usize, f32)> {
        scores.rank(0.7, depth).iter().map(|hit| (hit.passage, hit.score)).collect()
    }

    #[test]
    fn scores_are_scaled_over_the_first_and_summed() {
        let (meaning, words) =
            (&[0.2, 0.8, 0.5, f32::NAN, 0.0][..], &[0.0, 2.0, 4.0, 1.0, 0.0][..]);
        let both = Scores { meaning: Some(meaning), words: Some(words) };
        // Of meaning 0.8, 0.5 and 0.2 count, of words 4, 2 and 1.
        let expected = [(1, 0.7 + 0.3 * (1.0 / 3.0)), (2, 0.7 * 0.5 + 0.3), (0, 0.0), (3, 0.0)];
        let found = ranked(both, 3);
        assert_eq!(found.len(), 4);
        for ((passage, score), (own, expected)) in found.iter().zip(expected) {
            assert!(*passage == own && (score - expected).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn passages_without_words_are_the_least_where_there_are_few() {
        let both = Scores { meaning: Some(&[0.5, 0.5]), words: Some(&[0.0, 3.0]) };
        assert_eq!(ranked(both, 100), [(1, 1.0), (0, 0.7)]);
    }

    #[test]
    fn one_kind_keeps_its_scores_and_equals_their_order() {
        let words = Scores { meaning: None, words: Some(&[0.0, 1.0, 2.0, 1.0]) };
        assert_eq!(ranked(words, 100), [(2, 2.0), (1, 1.0), (3, 1.0)]);
        let meaning = Scores { meaning: Some(&[-1.0, f32::NAN, -1.0]), words: None };
        assert_eq!(ranked(meaning, 1), [(0, -1.0)]);
        assert_eq!(ranked(Scores::default(), 9), []);
    }
}
