//! Characters as BERT's basic tokenisation sees them: class, lower case, combining class.
//!
//! The tables are generated from the data that Hugging Face `tokenizers` 0.x uses, for its ids are
//! the reference: general categories of Unicode 8.0, lower case of Unicode 17.0. Characters newer
//! than their table stay as they are. The tables take 10.2 kB; ASCII needs none of them.

use super::tables;

/// The class of a character in BERT's basic tokenisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word, as it is.
    Letter,
    /// Control, format, private use, U+0000, U+FFFD: removed before anything else.
    Removed,
    /// White space: ends a word.
    Space,
    /// Non-spacing marks and nothing else, none of them a starter: removed with the accents.
    Mark,
    /// As `Mark`, but a starter (combining class 0): other marks are not moved across it before it
    /// is removed.
    MarkStarter,
    /// A word of its own.
    Punctuation,
    /// A word of its own, which decomposes.
    PunctuationDecomposed,
    /// A mark that is not non-spacing, so it stays, and has a combining class, so it may change
    /// places.
    Reordered,
    /// Part of a word, with a lower case.
    Upper,
    /// Part of a word, which decomposes.
    Decomposed,
    /// Part of a word, which decomposes and has a lower case.
    UpperDecomposed,
    /// A CJK ideograph, which becomes a word of its own.
    Ideograph,
    /// A CJK ideograph that decomposes into another one.
    IdeographDecomposed,
}

impl Class {
    const ALL: [Self; 13] = [
        Self::Letter,
        Self::Removed,
        Self::Space,
        Self::Mark,
        Self::MarkStarter,
        Self::Punctuation,
        Self::PunctuationDecomposed,
        Self::Reordered,
        Self::Upper,
        Self::Decomposed,
        Self::UpperDecomposed,
        Self::Ideograph,
        Self::IdeographDecomposed,
    ];

    /// The class of `c`.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(super) fn from_char(c: char) -> Self {
        let code = u32::from(c);
        let leaf_index = code >> tables::LEAF_BITS;
        let number = tables::ROOT
            .get((leaf_index >> tables::MIDDLE_BITS) as usize)
            .map(|&middle| {
                u32::from(middle) << tables::MIDDLE_BITS | low(leaf_index, tables::MIDDLE_BITS)
            })
            .and_then(|at| tables::MIDDLES.get(at as usize))
            .map(|&leaf| u32::from(leaf) << tables::LEAF_BITS | low(code, tables::LEAF_BITS))
            .and_then(|at| tables::LEAVES.get(at as usize >> 1))
            .map_or(0, |&pair| if code & 1 == 0 { pair & 15 } else { pair >> 4 });
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Letter)
    }
}

/// Returns true if BERT's cleaning removes `c`: control and format characters, private use, U+0000
/// and U+FFFD, but for the tabulator and line breaks.
#[cfg(feature = "alloc")]
pub(crate) fn is_control(c: char) -> bool {
    Class::from_char(c) == Class::Removed
}

/// Returns true for categories of punctuation, and for punctuation and symbols of ASCII.
#[cfg(feature = "alloc")]
pub(crate) fn is_punctuation_character(c: char) -> bool {
    matches!(Class::from_char(c), Class::Punctuation | Class::PunctuationDecomposed)
}

/// The lowest `bits` bits of `value`.
const fn low(value: u32, bits: u32) -> u32 {
    value & !(u32::MAX << bits)
}

/// The lower case of `c`; of U+0130, the only one with two characters, the first (the second is
/// U+0307).
///
/// Only for characters whose class says that they have one.
pub(super) fn lower(c: char) -> char {
    let code = u32::from(c);
    let after = tables::LOWER.partition_point(|&(start, _)| start <= code);
    after
        .checked_sub(1)
        .and_then(|at| tables::LOWER.get(at))
        .and_then(|&(_, distance)| char::from_u32(code.wrapping_add_signed(distance)))
        .unwrap_or(c)
}

/// The canonical combining class of a character that is [`Class::Reordered`]; 0 for every other.
pub(super) fn combining_class(c: char) -> u8 {
    if Class::from_char(c) != Class::Reordered {
        return 0;
    }
    let code = u32::from(c);
    let after = tables::COMBINING_CLASSES.partition_point(|&(start, _)| start <= code);
    after
        .checked_sub(1)
        .and_then(|at| tables::COMBINING_CLASSES.get(at))
        .map_or(0, |&(_, class)| class)
}
