//! Sparse vectors.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::collected;

/// A vector most of whose elements are 0: a weight for some tokens of the vocabulary.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SparseVector {
    /// The tokens, in ascending order.
    pub indices: Vec<u32>,
    /// Their weights, which are positive.
    pub values: Vec<f32>,
}

impl SparseVector {
    /// The vector of these tokens and weights; of several weights of a token the largest counts.
    pub(super) fn from_pairs(mut pairs: Vec<(u32, f32)>) -> Result<Self> {
        pairs.sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then(y.total_cmp(x)));
        pairs.dedup_by_key(|(id, _)| *id);
        let indices = collected(pairs.iter().map(|(id, _)| *id))?;
        Ok(Self { indices, values: collected(pairs.iter().map(|(_, weight)| *weight))? })
    }

    /// Tokens and their weights, in the order of the tokens.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, f32)> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// The sum of the products of weights that two vectors have for the same token.
    #[must_use]
    pub fn dot(&self, other: &Self) -> f32 {
        let mut rest = other.iter().peekable();
        let mut sum = 0.0;
        for (id, weight) in self.iter() {
            while rest.next_if(|(other, _)| *other < id).is_some() {}
            if let Some((_, other)) = rest.next_if(|(other, _)| *other == id) {
                sum += weight * other;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn the_largest_weight_of_a_token_counts_and_tokens_ascend() {
        let pairs = vec![(7, 0.5), (2, 1.0), (7, 2.0), (7, 0.25)];
        let vector = SparseVector::from_pairs(pairs).unwrap();
        assert_eq!((&*vector.indices, &*vector.values), (&[2, 7][..], &[1.0, 2.0][..]));
    }

    #[test]
    fn common_tokens_alone_are_multiplied() {
        let vector = |pairs: &[(u32, f32)]| SparseVector::from_pairs(pairs.to_vec()).unwrap();
        let (a, b) =
            (vector(&[(1, 2.0), (4, 0.5), (9, 1.0)]), vector(&[(0, 8.0), (4, 4.0), (9, 3.0)]));
        assert_eq!((a.dot(&b), b.dot(&a), a.dot(&SparseVector::default())), (5.0, 5.0, 0.0));
    }
}
