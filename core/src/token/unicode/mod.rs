//! Properties of characters for normalisers and pre-tokenisers, as in the crates that Hugging Face
//! `tokenizers` is built on.
//!
//! | property | Unicode |
//! |---|---|
//! | normalisation forms, combining classes, marks | 9.0 |
//! | categories: control, punctuation, non-spacing mark | 8.0 |
//! | grapheme clusters | 17.0 |
//! | lower case, white space, numbers | of Rust's core library |

mod cluster;
mod form;
mod tables;

pub(crate) use cluster::Clusters;
#[cfg(any(test, target_family = "wasm"))]
pub(super) use form::without_marks;
pub(crate) use form::{Form, MarkBuffer, Output, sort_few, write_form};
use tables::LEVEL_BITS;

/// The properties that normalisation asks for first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties(u8);

impl Properties {
    /// Those of `c`.
    #[inline]
    pub(crate) fn from_char(c: char) -> Self {
        let tables = (&tables::PROPERTY_ROOT[..], &tables::PROPERTY_MIDDLES[..]);
        Self(look_up(c, tables, &tables::PROPERTY_LEAVES))
    }

    /// Has a canonical decomposition.
    const fn decomposes(self) -> bool {
        self.0 & 1 != 0
    }

    /// Has a compatibility decomposition, or a canonical one.
    const fn decomposes_compatibly(self) -> bool {
        self.0 & 2 != 0
    }

    /// Has a combining class.
    const fn moves(self) -> bool {
        self.0 & 4 != 0
    }

    /// Is a mark of any kind.
    pub(crate) const fn is_mark(self) -> bool {
        self.0 & 8 != 0
    }

    /// Is a non-spacing mark.
    pub(crate) const fn is_non_spacing(self) -> bool {
        self.0 & 16 != 0
    }

    /// Composes with some character before it.
    const fn composes(self) -> bool {
        self.0 & 32 != 0
    }

    /// Does not stay as it is where texts are composed canonically.
    const fn is_recomposed(self) -> bool {
        self.0 & 64 != 0
    }

    /// Does not stay as it is where texts are composed after compatibility decomposition.
    const fn is_recomposed_compatibly(self) -> bool {
        self.0 & 128 != 0
    }
}

/// A value of a trie of three levels.
#[inline]
fn look_up(c: char, (root, middles): (&[u8], &[u16]), leaves: &[u8]) -> u8 {
    let code = c as usize;
    let low = |value: usize| value & ((1 << LEVEL_BITS) - 1);
    let leaf = code >> LEVEL_BITS;
    // The tables have a value for every character.
    let middle = root.get(leaf >> LEVEL_BITS).map_or(0, |middle| usize::from(*middle));
    let leaf = middles.get(middle << LEVEL_BITS | low(leaf)).map_or(0, |leaf| usize::from(*leaf));
    leaves.get(leaf << LEVEL_BITS | low(code)).copied().unwrap_or_default()
}
