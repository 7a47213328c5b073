//! An inverted index: for each term the passages that have it, with a weight each. Sparse vectors of
//! models are searched by it.

/// Passages by their terms.
#[derive(Clone, Debug, Default)]
pub struct InvertedIndex {
    postings: Vec<Vec<Posting>>,
    passages: usize,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    passage: u32,
    weight: f32,
}

impl InvertedIndex {
    /// Adds the next passage by its terms, each of them once, and their weights.
    pub fn add(&mut self, terms: impl IntoIterator<Item = (u32, f32)>) {
        // A passage takes more than one byte: there are never so many.
        let passage = u32::try_from(self.passages).unwrap_or(u32::MAX);
        self.passages += 1;
        for (term, weight) in terms {
            let term = term as usize;
            if term >= self.postings.len() {
                self.postings.resize_with(term + 1, Vec::new);
            }
            self.postings[term].push(Posting { passage, weight });
        }
    }

    /// The number of passages.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.passages
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.passages == 0
    }

    /// The number of passages that have a term.
    #[must_use]
    pub fn frequency(&self, term: u32) -> usize {
        self.postings.get(term as usize).map_or(0, Vec::len)
    }

    /// For each passage the sum of the products of its weights with those of the query's terms; 0 if
    /// they share none.
    #[must_use]
    pub fn scores(&self, query: impl IntoIterator<Item = (u32, f32)>) -> Vec<f32> {
        let mut scores = vec![0.0; self.passages];
        for (term, weight) in query {
            for posting in self.postings.get(term as usize).into_iter().flatten() {
                if let Some(score) = scores.get_mut(posting.passage as usize) {
                    *score += weight * posting.weight;
                }
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_dot_products() {
        let mut index = InvertedIndex::default();
        index.add([(3, 2.0), (0, 1.0)]);
        index.add([]);
        index.add([(3, 0.5)]);
        assert_eq!(index.scores([(3, 4.0), (0, 0.25), (99, 7.0)]), [8.25, 0.0, 2.0]);
        assert_eq!((index.len(), index.frequency(3), index.frequency(9)), (3, 2, 0));
    }
}
