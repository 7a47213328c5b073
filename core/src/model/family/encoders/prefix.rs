//! Maps the tensor names of checkpoints to those of their family: prefixes and older names.

use crate::error::Result;
use crate::model::family::tensors::{Names, Tensor};
use crate::model::weights::{Matrix, Name, Weights};

/// The prefixes of a family's tensor names when a head is stored with the model.
const PREFIXES: &[&str] = &[
    "",
    "model.",
    "bert.",
    "roberta.",
    "distilbert.",
    "mpnet.",
    "new.",
    "gte.",
    "nomic_bert.",
    "albert.",
    "deberta.",
    "language_model.",
];

/// The first names of norms' tensors, by their current names.
const OLDER: &[(&str, &str)] = &[(".weight", ".gamma"), (".bias", ".beta")];

/// Weights whose tensors are found by their family's names.
#[derive(Clone, Copy, Debug)]
pub struct Prefixed<'w, W: ?Sized> {
    weights: &'w W,
    prefix: &'static str,
}

impl<'w, W: Weights + ?Sized> Prefixed<'w, W> {
    /// The tensors of a model in `weights`; the token table determines the prefix.
    ///
    /// # Errors
    ///
    /// Any error from [`Weights::matrix`]. A missing token table is not an error here.
    pub fn new(weights: &'w W, names: &Names) -> Result<Self> {
        for &prefix in PREFIXES {
            let found = Self { weights, prefix };
            if names.find(&found, (Tensor::Embeddings, ".weight"), 0)?.is_some() {
                return Ok(found);
            }
        }
        Ok(Self { weights, prefix: "" })
    }

    /// The prefix of all names.
    #[must_use]
    pub const fn prefix(&self) -> &'static str {
        self.prefix
    }

    fn spelled(&self, name: &str) -> Result<Option<Matrix>> {
        let mut whole = Name::new(self.prefix);
        whole.push(name);
        self.weights.matrix(whole.as_str())
    }
}

impl<W: Weights + ?Sized> Weights for Prefixed<'_, W> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        if let Some(found) = self.spelled(name)? {
            return Ok(Some(found));
        }
        for (now, first) in OLDER {
            if let Some(norm) = name.strip_suffix(now).filter(|it| it.ends_with("LayerNorm")) {
                let mut older = Name::new(norm);
                older.push(first);
                return self.spelled(older.as_str());
            }
        }
        Ok(None)
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        self.weights.bytes(offset, length, tile)
    }

    fn borrows(&self) -> bool {
        self.weights.borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        self.weights.values(number, first, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::weights::SliceWeights;
    use crate::tensor::{Dtype, Shape, TensorHeader};

    const NAMES: Names =
        Names { layers: "layer.", tensors: &[(Tensor::Embeddings, "embeddings.words")] };

    /// The index of `wanted` in `names`, of which the one at index `n` has length `n`.
    fn find(names: &[&'static str], wanted: &str) -> Option<usize> {
        let header = |name: &str| {
            let at = names.iter().position(|known| *known == name)?;
            let elements = at as u64 + 1;
            let shape = Shape::new(&[elements])?;
            let bytes = elements * 4;
            Some(TensorHeader { name: "", dtype: Dtype::F32, shape, offset: 0, bytes })
        };
        let weights = SliceWeights::new(&[], header);
        let weights = Prefixed::new(&weights, &NAMES).unwrap();
        weights.matrix(wanted).unwrap().map(|matrix| matrix.cols - 1)
    }

    #[test]
    fn tensors_are_found_after_a_prefix_and_by_older_names() {
        let plain = ["embeddings.words.weight", "a.LayerNorm.gamma", "a.LayerNorm.beta"];
        assert_eq!(find(&plain, "a.LayerNorm.weight"), Some(1));
        assert_eq!(find(&plain, "a.LayerNorm.bias"), Some(2));
        assert_eq!(find(&plain, "b.LayerNorm.bias"), None);
        let after = ["bert.embeddings.words.weight", "bert.b.bias", "c.gamma"];
        assert_eq!(find(&after, "b.bias"), Some(1));
        // Only norms had other names.
        assert_eq!(find(&after, "c.weight"), None);
        assert_eq!(find(&["other.weight"], "other.weight"), Some(0));
    }
}
