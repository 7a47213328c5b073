//! The best of many scored rows, in caller-provided memory: words by similarity, tokens by logit.

use core::cmp::Ordering;

use crate::error::Result;

/// A row and its score. For words the score is the dot product of the row's vector with a query,
/// which is their cosine if both have length 1; for tokens it is the logit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Scored {
    /// The score.
    pub score: f32,
    /// The row, which is the id of its word or token.
    pub row: u32,
}

impl Scored {
    /// The cosine similarity.
    #[must_use]
    pub const fn cosine(&self) -> f32 {
        self.score
    }

    /// The cosine clamped to at most 1, which rounding may exceed: the angle would be undefined.
    const fn angle_cosine(&self) -> f32 {
        self.score.clamp(-1.0, 1.0)
    }

    /// The angular similarity, `1 − acos(cosine) / π`.
    #[must_use]
    pub fn angular(&self) -> f32 {
        1.0 - libm::acosf(self.angle_cosine()) / core::f32::consts::PI
    }

    /// The Euclidean distance between vectors of length 1, 0 to 2.
    #[must_use]
    pub fn euclidean_distance(&self) -> f32 {
        libm::sqrtf(2.0 - 2.0 * self.angle_cosine())
    }

    /// The Euclidean similarity, 1 at distance 0 and 0 at distance 2.
    #[must_use]
    pub fn euclidean_similarity(&self) -> f32 {
        1.0 - self.euclidean_distance() / 2.0
    }
}

/// Orders rows with the same score; better rows come first.
pub(crate) trait Ties {
    fn order(&self, a: u32, b: u32) -> Result<Ordering>;
}

/// Orders rows with the same score by their index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByRow;

impl Ties for ByRow {
    fn order(&self, a: u32, b: u32) -> Result<Ordering> {
        Ok(a.cmp(&b))
    }
}

/// Keeps the best scored rows, as many as the memory holds: a heap with the worst of them on top.
#[derive(Debug)]
pub struct TopK<'m> {
    heap: &'m mut [Scored],
    length: usize,
    skip: &'m [u32],
}

impl<'m> TopK<'m> {
    /// Keeps the best `memory.len()` rows, but none of those in `skip`.
    #[must_use]
    pub const fn new(memory: &'m mut [Scored], skip: &'m [u32]) -> Self {
        Self { heap: memory, length: 0, skip }
    }

    /// The rows kept so far, in no order.
    #[must_use]
    pub fn rows(&self) -> &[Scored] {
        self.heap.get(..self.length).unwrap_or(&[])
    }

    /// Returns true if a row with this score might be kept.
    #[inline]
    pub(crate) fn may_keep(&self, score: f32) -> bool {
        self.length < self.heap.len() || self.heap.first().is_some_and(|worst| score >= worst.score)
    }

    /// Offers a row. A NaN score is never kept.
    #[inline]
    pub(crate) fn offer(&mut self, offered: Scored, ties: &impl Ties) -> Result<()> {
        if self.length == self.heap.len() {
            // A search is mostly this line.
            match self.heap.first() {
                Some(worst) if offered.score >= worst.score => {}
                _ => return Ok(()),
            }
        }
        self.consider(offered, ties)
    }

    #[cold]
    fn consider(&mut self, offered: Scored, ties: &impl Ties) -> Result<()> {
        if offered.score.is_nan() || self.skip.contains(&offered.row) {
            return Ok(());
        }
        if self.length < self.heap.len() {
            if let Some(slot) = self.heap.get_mut(self.length) {
                *slot = offered;
            }
            self.length = self.length.saturating_add(1);
            return self.sift_up(ties);
        }
        let Some(worst) = self.heap.first().copied() else { return Ok(()) };
        if order(&offered, &worst, ties)? == Ordering::Less {
            if let Some(slot) = self.heap.first_mut() {
                *slot = offered;
            }
            self.sift_down(self.length, ties)?;
        }
        Ok(())
    }

    /// The rows kept, best first: by score, ties in the order of `ties`.
    pub(crate) fn into_sorted(mut self, ties: &impl Ties) -> Result<&'m [Scored]> {
        for end in (1..self.length).rev() {
            self.swap(0, end);
            self.sift_down(end, ties)?;
        }
        Ok(self.heap.get(..self.length).unwrap_or(&[]))
    }

    /// Swaps two rows without the bounds check on which `slice::swap` panics.
    fn swap(&mut self, a: usize, b: usize) {
        let (at_a, at_b) = (self.at(a), self.at(b));
        for (place, scored) in [(a, at_b), (b, at_a)] {
            if let Some(slot) = self.heap.get_mut(place) {
                *slot = scored;
            }
        }
    }

    fn at(&self, place: usize) -> Scored {
        self.heap.get(place).copied().unwrap_or_default()
    }

    fn sift_up(&mut self, ties: &impl Ties) -> Result<()> {
        let mut child = self.length.saturating_sub(1);
        while child > 0 {
            let parent = child.saturating_sub(1) / 2;
            if order(&self.at(child), &self.at(parent), ties)? != Ordering::Greater {
                break;
            }
            self.swap(child, parent);
            child = parent;
        }
        Ok(())
    }

    fn sift_down(&mut self, end: usize, ties: &impl Ties) -> Result<()> {
        let mut parent = 0_usize;
        loop {
            let left = parent.saturating_mul(2).saturating_add(1);
            if left >= end {
                return Ok(());
            }
            let right = left.saturating_add(1);
            let mut child = left;
            if right < end && order(&self.at(right), &self.at(left), ties)? == Ordering::Greater {
                child = right;
            }
            if order(&self.at(child), &self.at(parent), ties)? != Ordering::Greater {
                return Ok(());
            }
            self.swap(child, parent);
            parent = child;
        }
    }
}

/// Fills `best` with the rows that have the largest dot products with `query`, best first; returns
/// the part that was filled. Rows are contiguous, each as long as the query; ties go to the lower
/// row.
#[must_use]
pub fn nearest<'m>(query: &[f32], rows: &[f32], best: &'m mut [Scored]) -> &'m [Scored] {
    best_of(rows.chunks_exact(query.len().max(1)).map(|row| dot(query, row)), best)
}

/// Fills `best` with the rows that have these scores and the largest of them, best first; returns the
/// part that was filled. Ties go to the lower row, and a NaN is never kept.
#[must_use]
pub fn best_of(scores: impl Iterator<Item = f32>, best: &mut [Scored]) -> &[Scored] {
    let mut top = TopK::new(best, &[]);
    for (row, score) in (0..=u32::MAX).zip(scores) {
        // Ties by rows never fail.
        let _ = top.offer(Scored { score, row }, &ByRow);
    }
    top.into_sorted(&ByRow).unwrap_or_default()
}

/// A vector that others are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a> {
    vector: &'a [f32],
    square: f32,
}

/// The squares of lengths whose products with others are neither infinite nor 0.
const SAFE: core::ops::Range<f32> = 1e-30..1e30;

impl<'a> Direction<'a> {
    /// The direction of a vector.
    #[must_use]
    pub fn new(vector: &'a [f32]) -> Self {
        Self { vector, square: dot(vector, vector) }
    }

    /// The cosine of the angle to `other`, which is as long; 0 if one of both is all zeros, not a
    /// number if an element is none.
    #[must_use]
    pub fn cosine(&self, other: &[f32]) -> f32 {
        let square = dot(other, other);
        if SAFE.contains(&self.square) && SAFE.contains(&square) {
            return dot(self.vector, other) / (libm::sqrtf(self.square) * libm::sqrtf(square));
        }
        scaled_cosine(self.vector, other)
    }
}

/// The cosine of vectors of any length: their largest elements are scaled to 1 first.
#[cold]
fn scaled_cosine(a: &[f32], b: &[f32]) -> f32 {
    let largest = |of: &[f32]| of.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
    let (scale_a, scale_b) = (largest(a), largest(b));
    let is_none = |of: &[f32]| of.iter().any(|it| it.is_nan());
    if is_none(a) || is_none(b) {
        return f32::NAN;
    }
    if scale_a == 0.0 || scale_b == 0.0 {
        return 0.0;
    }
    let [mut squares_a, mut squares_b, mut products] = [0.0_f32; 3];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a / scale_a, b / scale_b);
        squares_a += a * a;
        squares_b += b * b;
        products += a * b;
    }
    products / (libm::sqrtf(squares_a) * libm::sqrtf(squares_b))
}

/// Uses eight lanes, which compilers vectorise.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.0.iter().zip(b.0) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Orders two rows: the better one is less.
fn order(a: &Scored, b: &Scored, ties: &impl Ties) -> Result<Ordering> {
    match b.score.partial_cmp(&a.score) {
        Some(Ordering::Equal) | None => ties.order(a.row, b.row),
        Some(order) => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rows_come_in_order_and_equal_ones_by_their_place() {
        let rows: [[f32; 9]; 4] = [[0.5; 9], [1.0; 9], [0.5; 9], [f32::NAN; 9]];
        let mut best = [Scored::default(); 3];
        let found = nearest(&[1.0; 9], rows.as_flattened(), &mut best);
        let found: [(u32, f32); 3] = core::array::from_fn(|at| (found[at].row, found[at].score));
        assert_eq!(found, [(1, 9.0), (0, 4.5), (2, 4.5)]);
        assert!(nearest(&[], &[1.0], &mut best).len() <= 1);
    }

    #[test]
    fn cosines_of_vectors_of_any_length_are_those_of_doubles() {
        let vectors: [[f32; 3]; 4] =
            [[1.0, 2.0, -3.0], [0.5, -0.25, 4.0], [1e-3, 0.0, 2e-3], [3.0, 3.0, 3.0]];
        for a in &vectors {
            for b in &vectors {
                for factor in [1e-38, 1e-25, 1e-18, 1.0, 1e15, 1e20, 1e37] {
                    let a = a.map(|it| it * factor);
                    let sum = |of: &dyn Fn(f64, f64) -> f64| {
                        let pairs = a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
                        pairs.map(|(a, b)| of(a, b)).sum::<f64>()
                    };
                    let lengths = libm::sqrt(sum(&|a, _| a * a)) * libm::sqrt(sum(&|_, b| b * b));
                    let expected = sum(&|a, b| a * b) / lengths;
                    let found = f64::from(Direction::new(&a).cosine(b));
                    assert!((found - expected).abs() < 1e-6, "{a:?} {b:?}: {found} {expected}");
                    let swapped = f64::from(Direction::new(b).cosine(&a));
                    assert!((swapped - expected).abs() < 1e-6, "{b:?} {a:?}: {swapped} {expected}");
                }
            }
        }
        assert_eq!(Direction::new(&[0.0; 2]).cosine(&[1.0, 1e20]), 0.0);
        for strange in [f32::NAN, f32::INFINITY] {
            assert!(Direction::new(&[strange, 1.0]).cosine(&[0.0, 1e30]).is_nan());
        }
    }

    #[test]
    fn what_rounding_adds_to_one_has_an_angle() {
        for (score, similarity) in [(1.000_001, 1.0_f32), (-1.000_001, 0.0)] {
            let scored = Scored { score, row: 0 };
            assert!((scored.angular() - similarity).abs() < 1e-6);
            assert!((scored.euclidean_similarity() - similarity).abs() < 1e-6);
        }
    }

    #[test]
    fn the_best_are_kept_and_sorted_whatever_their_order() {
        for capacity in 0..12 {
            for shift in 0..11_u32 {
                let mut memory = [Scored::default(); 12];
                let mut top = TopK::new(&mut memory[..capacity], &[4]);
                for i in 0..11_u32 {
                    let row = (i * 7 + shift) % 11;
                    let score = if row == 5 { f32::NAN } else { (row / 2) as f32 };
                    top.offer(Scored { score, row }, &ByRow).unwrap();
                }
                let found = top.into_sorted(&ByRow).unwrap().iter().map(|scored| scored.row);
                let expected = [10, 8, 9, 6, 7, 2, 3, 0, 1];
                assert!(found.eq(expected.into_iter().take(capacity)));
            }
        }
    }
}
