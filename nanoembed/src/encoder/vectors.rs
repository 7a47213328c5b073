//! Embeddings, one after the other.

use std::slice::ChunksExact;

use nanoembed_core::top::{Direction, Scored, best_of};
use serde::de::{self, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::folder::prompts::Similarity;

/// Embeddings of several texts: rows of as many numbers each.
///
/// ```
/// # let texts = ["A dog barks.", "The train is late.", "A puppy yelps."];
/// # let encoder = nanoembed::Encoder::open("../ffi/tests/data/small_bert.weights")?;
/// let vectors = encoder.embed_all(&texts)?;
/// assert_eq!((vectors.len(), vectors.dimensions()), (3, encoder.dimensions()));
/// let query = encoder.embed("A dog barks.")?;
/// assert_eq!(vectors.nearest(&query, 1)?[0].index, 0);
/// for vector in &vectors {
///     assert_eq!(vector.len(), encoder.dimensions());
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    dimensions: usize,
    values: Vec<f32>,
}

/// A row that is near a query.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// The index of the row.
    pub index: usize,
    /// The cosine of the angle between both.
    pub similarity: f32,
}

impl Vectors {
    /// `values` as rows of so many numbers; `None` if that is 0 or does not divide them.
    #[must_use]
    pub fn new(dimensions: usize, values: Vec<f32>) -> Option<Self> {
        let fits = dimensions > 0 && values.len().is_multiple_of(dimensions);
        fits.then_some(Self { dimensions, values })
    }

    /// The number of elements of a row.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows in their order.
    pub fn rows(&self) -> ChunksExact<'_, f32> {
        self.values.chunks_exact(self.dimensions)
    }

    /// The row of this number.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<&[f32]> {
        self.rows().nth(index)
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, row after row.
    #[must_use]
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// The `count` rows that are nearest to `query`, the nearest first; among equals the first.
    /// Rows with elements that are not numbers are near nothing.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) if `query` has not as many numbers as a row.
    pub fn nearest(&self, query: &[f32], count: usize) -> Result<Vec<Hit>> {
        check_length("query", query, self.dimensions)?;
        let direction = Direction::new(query);
        let mut best = vec![Scored::default(); count.min(self.len())];
        let cosines = self.rows().map(|row| direction.cosine(row));
        let hit = |best: &Scored| Hit { index: best.row as usize, similarity: best.cosine() };
        Ok(best_of(cosines, &mut best).iter().map(hit).collect())
    }
}

/// The rows in their order.
impl<'v> IntoIterator for &'v Vectors {
    type Item = &'v [f32];
    type IntoIter = ChunksExact<'v, f32>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows()
    }
}

/// A list of rows, each a list of numbers.
impl Serialize for Vectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

/// A list of rows, at least one, as long as each other.
impl<'de> Deserialize<'de> for Vectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let rows = Vec::<Vec<f32>>::deserialize(deserializer)?;
        let dimensions = rows.first().map_or(0, Vec::len);
        let are_even = rows.iter().all(|row| row.len() == dimensions);
        let vectors = Self::new(dimensions, rows.concat()).filter(|_| are_even);
        let expected = &"rows of numbers, as long as each other";
        vectors.ok_or_else(|| de::Error::invalid_value(Unexpected::Seq, expected))
    }
}

/// The cosine of the angle between two vectors; 0 if one of them has no length, not a number if an
/// element is none.
///
/// # Errors
///
/// [`Kind::Usage`](crate::Kind::Usage) if one has more numbers than the other.
pub fn cosine(a: &[f32], b: &[f32]) -> Result<f32> {
    check_length("b", b, a.len())?;
    Ok(Direction::new(a).cosine(b))
}

/// Refuses the argument `name` if it is a vector of another length.
fn check_length(name: &'static str, vector: &[f32], expected: usize) -> Result<()> {
    match vector.len() {
        length if length == expected => Ok(()),
        length => Err(Error::argument(name, format!("has {length} numbers, not {expected}"))),
    }
}

/// The similarity of two vectors of one length: the larger, the more alike.
#[must_use]
pub fn similarity(measure: Similarity, a: &[f32], b: &[f32]) -> f32 {
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let dot = || pairs().map(|(a, b)| a * b).sum::<f64>();
    let similarity = match measure {
        // Of one vector each, the sum has one product.
        Similarity::Dot | Similarity::MaxSim => dot(),
        Similarity::Euclidean => -pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        Similarity::Manhattan => -pairs().map(|(a, b)| (a - b).abs()).sum::<f64>(),
        _ => return Direction::new(a).cosine(b),
    };
    #[expect(clippy::cast_possible_truncation, reason = "vectors have this precision, too")]
    let similarity = similarity as f32;
    similarity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn vectors_are_lists_of_rows_in_json() {
        let vectors = Vectors::new(2, vec![1.0, -0.5, 0.25, 3e-7]).unwrap();
        let json = serde_json::to_string(&vectors).unwrap();
        assert_eq!(json, "[[1.0,-0.5],[0.25,3e-7]]");
        assert_eq!(serde_json::from_str::<Vectors>(&json).unwrap(), vectors);
        for wrong in ["[]", "[[]]", "[[1.0],[1.0,2.0]]", "[1.0]"] {
            assert!(serde_json::from_str::<Vectors>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_vector_without_length_is_similar_to_nothing() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]).unwrap(), 0.0);
        assert_eq!(cosine(&[2.0, 0.0], &[4.0, 0.0]).unwrap(), 1.0);
    }

    #[test]
    fn vectors_of_another_length_are_refused() {
        for (a, b) in [(&[1.0, 0.0][..], &[1.0][..]), (&[1.0], &[1.0, 0.0]), (&[], &[1.0])] {
            assert_eq!(cosine(a, b).unwrap_err().kind(), Kind::Usage);
        }
        let vectors = Vectors::new(2, vec![1.0; 4]).unwrap();
        for query in [&[][..], &[1.0], &[1.0; 3]] {
            assert_eq!(vectors.nearest(query, 1).unwrap_err().kind(), Kind::Usage);
        }
        assert_eq!(vectors.nearest(&[1.0; 2], usize::MAX).unwrap().len(), 2);
    }

    #[test]
    fn a_vector_that_is_not_there_is_near_nothing() {
        assert!(cosine(&[f32::NAN, 1.0], &[1.0, 0.0]).unwrap().is_nan());
        let vectors = [f32::NAN, f32::NAN, -1.0, 0.0, 0.0, 0.0, -f32::NAN, 1.0];
        let vectors = Vectors::new(2, vectors.to_vec()).unwrap();
        let found = |query: [f32; 2]| {
            vectors.nearest(&query, 9).unwrap().iter().map(|hit| hit.index).collect()
        };
        let (near, none): (Vec<usize>, Vec<usize>) = (found([1.0, 0.1]), found([f32::NAN, 1.0]));
        assert_eq!((near, none), (vec![2, 1], vec![]));
    }

    /// As `SimilarityFunction` of sentence-transformers has it.
    #[test]
    fn measures_are_greater_for_what_is_more_alike() {
        let of = |measure| similarity(measure, &[1.0, 2.0], &[4.0, -2.0]);
        assert_eq!(of(Similarity::Cosine), 0.0);
        assert_eq!(similarity(Similarity::Dot, &[1.0, 2.0], &[4.0, 3.0]), 10.0);
        assert_eq!((of(Similarity::Euclidean), of(Similarity::Manhattan)), (-5.0, -7.0));
    }

    #[test]
    fn equals_come_in_their_order() {
        let vectors = Vectors::new(2, vec![0.0, 1.0, 2.0, 0.0, 1.0, 0.0]).unwrap();
        let found: Vec<usize> =
            vectors.nearest(&[1.0, 0.0], 2).unwrap().iter().map(|hit| hit.index).collect();
        assert_eq!(found, [1, 2]);
        assert!(Vectors::new(2, vec![1.0]).is_none() && Vectors::new(0, Vec::new()).is_none());
    }
}
