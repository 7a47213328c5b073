//! Some of a model's layers.

use super::families::FAMILIES;
use crate::limit::Limit;

/// Models of builds without the feature `families` have no list of layers.
const WORDS: usize = if FAMILIES { Limit::LAYERS.most.div_ceil(LayerSet::BITS) } else { 0 };

/// Some of a model's layers, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayerSet([u32; WORDS]);

impl LayerSet {
    /// Layers of which one word tells.
    pub const BITS: usize = u32::BITS as usize;

    /// Those of which `are_in` says so, from the first on; `None` if there are more than
    /// [`Limit::LAYERS`], or in a build without `families`.
    #[must_use]
    pub fn from_flags(are_in: impl Iterator<Item = bool>) -> Option<Self> {
        let mut words = [0; WORDS];
        for (layer, is_in) in are_in.enumerate() {
            *words.get_mut(layer / Self::BITS)? |= u32::from(is_in) << (layer % Self::BITS);
        }
        Some(Self(words))
    }

    /// Those whose bits are set in words of 32 layers, from the lowest bit of the first word on;
    /// `None` in a build without `families`.
    #[must_use]
    pub fn from_words(word: impl Fn(usize) -> u32) -> Option<Self> {
        FAMILIES.then(|| Self(core::array::from_fn(word)))
    }

    /// Whether it has `layer`.
    #[must_use]
    pub const fn has(&self, layer: usize) -> bool {
        let at = layer / Self::BITS;
        // Constant functions have no `get`, and builds without `families` no words.
        #[allow(clippy::indexing_slicing, clippy::absurd_extreme_comparisons)]
        let word = if at < WORDS { self.0[at] } else { 0 };
        word >> (layer % Self::BITS) & 1 == 1
    }

    /// Bits of 32 layers a word, from the first on.
    #[must_use]
    pub const fn words(&self) -> &[u32] {
        &self.0
    }
}
