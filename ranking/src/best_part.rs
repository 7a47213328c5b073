//! The similarity of a passage with a query, from those of its parts.
//!
//! A part further down is only one of many, so that the best of them is similar to a query more often
//! by chance, and it lacks what the beginning says of the whole. It counts half a standard deviation
//! less than a beginning: on questions to FAQs and on code that is better than the best part as it
//! is, and in whole chapters far better than the beginning alone (`docs/search.md`).

use alloc::vec::Vec;

/// The share of a standard deviation that parts after the first count less.
const LATER: f64 = 0.5;

/// The similarities of a passage's parts with a query.
#[derive(Clone, Copy, Debug)]
pub struct BestPart {
    first: f32,
    /// The best of the parts after the first.
    later: f32,
    /// The number of that part.
    number: u32,
}

impl Default for BestPart {
    fn default() -> Self {
        Self { first: f32::NAN, later: f32::NAN, number: 0 }
    }
}

impl BestPart {
    /// Takes the similarity of one more part; among equals, the first that was given is the best.
    pub fn add(&mut self, number: u32, similarity: f32) {
        if number == 0 {
            self.first = similarity;
        } else if similarity > self.later || self.later.is_nan() {
            (self.later, self.number) = (similarity, number);
        }
    }

    /// True if a part after the first is the most similar one.
    fn is_later(self) -> bool {
        self.later > self.first || self.first.is_nan() && !self.later.is_nan()
    }

    /// The similarity of the most similar part; not a number if no part has a vector.
    #[must_use]
    pub fn similarity(self) -> f32 {
        if self.is_later() { self.later } else { self.first }
    }

    /// The number of the most similar part.
    #[must_use]
    pub fn number(self) -> u32 {
        if self.is_later() { self.number } else { 0 }
    }
}

impl FromIterator<f32> for BestPart {
    /// From the similarities of all parts in their order.
    fn from_iter<I: IntoIterator<Item = f32>>(parts: I) -> Self {
        let mut best = Self::default();
        (0..).zip(parts).for_each(|(number, similarity)| best.add(number, similarity));
        best
    }
}

/// The scores by which passages are ordered; not a number where no part has a vector.
#[must_use]
pub fn scores(passages: &[BestPart]) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "a similarity has this precision, too")]
    let less = (LATER * deviation(passages.iter().map(|passage| passage.first))) as f32;
    // The greater of two is the other one where one is not a number.
    passages.iter().map(|passage| passage.first.max(passage.later - less)).collect()
}

/// The standard deviation of the values that are numbers; 0 without any.
fn deviation(values: impl Iterator<Item = f32>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values.filter(|value| value.is_finite()).map(f64::from) {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    if count == 0.0 {
        return 0.0;
    }
    let mean = sum / count;
    libm::sqrt((squares / count - mean * mean).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(parts: &[f32]) -> BestPart {
        parts.iter().copied().collect()
    }

    #[test]
    fn the_most_similar_part_is_shown_and_the_first_among_equals() {
        let nan = f32::NAN;
        for (parts, similarity, number) in [
            (&[0.3, 0.5, 0.5, 0.2][..], 0.5, 1),
            (&[0.5, 0.5], 0.5, 0),
            (&[nan, -0.1, 0.4], 0.4, 2),
            (&[0.1, nan], 0.1, 0),
        ] {
            let found = passage(parts);
            assert_eq!((found.similarity(), found.number()), (similarity, number), "{parts:?}");
        }
        assert!(passage(&[]).similarity().is_nan());
        assert!(passage(&[nan, nan]).similarity().is_nan());
    }

    /// Firsts of 0.2, 0.4 and 0.6 deviate by 0.163299 (`numpy.std`).
    #[test]
    fn later_parts_count_half_a_standard_deviation_less() {
        let passages = [&[0.2, 0.7][..], &[0.4, 0.45], &[0.6], &[f32::NAN, 0.5], &[]].map(passage);
        let found = scores(&passages);
        for (found, expected) in found.iter().zip([0.618_350, 0.4, 0.6, 0.418_350]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert!(found[4].is_nan());
        assert!(scores(&[]).is_empty());
    }
}
