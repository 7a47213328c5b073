//! A set of a model's layers.

use super::families::FAMILIES;
use crate::limit::Limit;

/// Builds without the feature `families` have no lists of layers.
const WORDS: usize = if FAMILIES { Limit::LAYERS.most.div_ceil(LayerSet::BITS) } else { 0 };

/// A set of a model's layers, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayerSet([u32; WORDS]);

impl LayerSet {
    /// Layers per word.
    pub const BITS: usize = u32::BITS as usize;

    /// The set of layers with a true flag; `None` if there are more than [`Limit::LAYERS`], or in a
    /// build without `families`.
    #[must_use]
    pub fn from_flags(are_in: impl Iterator<Item = bool>) -> Option<Self> {
        let mut words = [0; WORDS];
        for (layer, is_in) in are_in.enumerate() {
            *words.get_mut(layer / Self::BITS)? |= u32::from(is_in) << (layer % Self::BITS);
        }
        Some(Self(words))
    }

    /// The set given by words of 32 layers each, from the lowest bit of the first word on; `None`
    /// in a build without `families`.
    #[must_use]
    pub fn from_words(word: impl Fn(usize) -> u32) -> Option<Self> {
        FAMILIES.then(|| Self(core::array::from_fn(word)))
    }

    /// Returns true if the set contains `layer`.
    #[must_use]
    pub const fn has(&self, layer: usize) -> bool {
        let at = layer / Self::BITS;
        // `get` is not a constant function, and builds without `families` have no words.
        #[allow(clippy::indexing_slicing, clippy::absurd_extreme_comparisons)]
        let word = if at < WORDS { self.0[at] } else { 0 };
        word >> (layer % Self::BITS) & 1 == 1
    }

    /// The set as words of 32 layers each.
    #[must_use]
    pub const fn words(&self) -> &[u32] {
        &self.0
    }
}
