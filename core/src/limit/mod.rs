//! Limits on sizes that a file declares, in one table, and fallible allocation.
//!
//! Work and memory grow with the bytes that were read, never with a number that the bytes spell:
//!
//! 1. A count whose items follow in the file is checked against the bytes that are left, where it
//!    is read.
//! 2. A number that nothing in the file bounds, such as a model's layers, is checked against a
//!    [`Limit`] before it is used. [`Limit::ALL`] lists them.
//! 3. With feature `alloc`, memory whose size a file or a text determines comes from the functions
//!    of `memory`, which return [`NoMemory`](ErrorKind::NoMemory) when the allocator has none.

#[cfg(feature = "alloc")]
mod memory;

use core::fmt;

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "alloc")]
pub use memory::{
    Boxed, Growing, append, collected, copied, exactly, extend, filled, formatted, gathered, grow,
    joined, joined_bytes, push, replaced, reserve, reserved, spelled, write,
};

/// The largest accepted value of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limit {
    /// The limited quantity, in the plural.
    pub name: &'static str,
    /// The largest accepted number.
    pub most: usize,
}

macro_rules! limits {
    ($($(#[$doc:meta])+ $constant:ident = $most:expr, $name:literal;)+) => {
        impl Limit {
            $($(#[$doc])+ pub const $constant: Self = Self { name: $name, most: $most };)+

            /// Every limit.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
}

limits! {
    /// Layers of a transformer. The deepest known models have about 130.
    LAYERS = 1 << 10, "layers";
    /// Any size of a model: heads, elements of a vector, positions. Products of two fit 64 bits and
    /// indices fit 32.
    SIZE = 1 << 24, "elements";
    /// Tokens of a vocabulary.
    TOKENS = 1 << 24, "tokens";
    /// Unused ids per token of a vocabulary, in addition to [`SPARE_IDS`](Self::SPARE_IDS).
    IDS_A_TOKEN = 4, "ids for each token";
    /// Unused ids that any vocabulary may have, however few tokens it has.
    SPARE_IDS = 1 << 10, "ids without a token";
    /// Bytes of an added token, which is found in a text before any other step.
    ADDED_TOKEN_BYTES = 1 << 10, "bytes of an added token";
    /// Bytes that all normalisation steps together may make of one byte of a text, in addition to
    /// [`SHORT_EXPANSION`](Self::SHORT_EXPANSION). NFKC expands U+FDFA most: it becomes eleven
    /// times as long, or 24 times if spaces and bytes are spelled out too.
    EXPANSION = 32, "bytes for one byte of a text";
    /// Bytes that any text may become, however short it is: a rule may replace it by a phrase.
    SHORT_EXPANSION = 1 << 10, "bytes for the shortest text";
    /// Bytes of a settings, vocabulary or tokenizer file, which is read whole. The largest known
    /// tokenizers have about 40 MB.
    SETTINGS_BYTES = 1 << 27, "bytes of a file of settings, a vocabulary or a tokenizer";
}

/// A number above its limit, formatted for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The limit.
    pub limit: Limit,
    /// The number.
    pub value: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit: Limit { name, most }, value } = self;
        write!(f, "{value} {name}, where at most {most} are taken")
    }
}

impl Limit {
    /// Returns `value` as `usize` if it is within the limit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`]; [`Exceeded`] reports it with names.
    pub fn check(self, value: u64) -> Result<usize> {
        let size = usize::try_from(value).ok().filter(|size| *size <= self.most);
        size.ok_or(Error::without_offset(ErrorKind::OverLimit))
    }

    /// As [`check`](Self::check), for the length of something in memory.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_len(self, length: usize) -> Result<usize> {
        self.check(length as u64)
    }

    /// The largest number of ids, unused ones included, for a vocabulary of `tokens` tokens: a
    /// table by id stays in proportion to the bytes read.
    #[must_use]
    pub const fn ids_of(tokens: usize) -> usize {
        let ids =
            tokens.saturating_mul(Self::IDS_A_TOKEN.most).saturating_add(Self::SPARE_IDS.most);
        if ids < Self::TOKENS.most { ids } else { Self::TOKENS.most }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    #[test]
    fn a_number_beyond_its_limit_is_named() {
        assert_eq!(Limit::LAYERS.check(1024), Ok(1024));
        for value in [1025, 1 << 31, 1 << 40, u64::MAX] {
            let error = Limit::LAYERS.check(value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OverLimit);
            let message = Exceeded { limit: Limit::LAYERS, value }.to_string();
            assert_eq!(message, std::format!("{value} layers, where at most 1024 are taken"));
        }
    }

    #[test]
    fn names_of_limits_are_distinct_and_ids_stay_in_proportion() {
        for (index, limit) in Limit::ALL.iter().enumerate() {
            assert!(limit.most > 0 && Limit::ALL[..index].iter().all(|it| it.name != limit.name));
        }
        assert_eq!(Limit::ids_of(10), 40 + 1024);
        assert_eq!(Limit::ids_of(usize::MAX), 1 << 24);
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn memory_that_there_is_not_is_refused() {
        let none = Err(ErrorKind::NoMemory);
        assert_eq!(filled(usize::MAX, 0_u8).map_err(|it| it.kind()), none);
        assert_eq!(reserved::<u64>(1 << 61).map_err(|it| it.kind()), Err(ErrorKind::NoMemory));
        let mut some = filled(3, 1_u8).unwrap();
        grow(&mut some, 5, 2).unwrap();
        grow(&mut some, 2, 9).unwrap();
        assert_eq!(some, [1, 1, 1, 2, 2]);
        assert_eq!(
            grow(&mut some, usize::MAX, 0).map_err(|it| it.kind()),
            Err(ErrorKind::NoMemory)
        );
    }
}
