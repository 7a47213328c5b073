//! What normalisers and pre-tokenisers have to know of characters, as the crates know it that
//! Hugging Face `tokenizers` is built on.
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

pub(super) use cluster::Clusters;
pub(super) use form::{Form, write_form};

pub(super) use crate::token::is_control;
use crate::token::is_punctuation_character;
use tables::LEVEL_BITS;

/// What normalisation asks of a character first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Properties(u8);

impl Properties {
    /// Those of `c`.
    #[inline]
    pub(super) fn of(c: char) -> Self {
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
    pub(super) const fn is_mark(self) -> bool {
        self.0 & 8 != 0
    }

    /// Is a non-spacing mark.
    pub(super) const fn is_non_spacing(self) -> bool {
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
    let middle = usize::from(root[leaf >> LEVEL_BITS]);
    let leaf = usize::from(middles[middle << LEVEL_BITS | low(leaf)]);
    leaves[leaf << LEVEL_BITS | low(code)]
}

/// Whether `c` is punctuation: that of ASCII, which counts symbols, and the category.
pub(super) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { is_punctuation_character(c) }
}

/// Whether `c` is an ideograph that BERT sets apart.
pub(super) const fn is_ideograph(c: char) -> bool {
    matches!(c as u32,
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
