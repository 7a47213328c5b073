//! Limits on what a file may ask for, in one table, and allocation that can fail.
//!
//! Work and memory grow with the bytes that were read, never with a number that the bytes spell:
//!
//! 1. A count whose items follow in the file is checked against the bytes that are left, where it
//!    is read.
//! 2. A number that nothing in the file bounds, such as a model's layers, is checked against a
//!    [`Limit`] before it is used. [`Limit::ALL`] lists them.
//! 3. With feature `alloc`, memory for what a file or a text says comes from the functions of
//!    `memory`, which answer [`NoMemory`](ErrorKind::NoMemory) where the allocator has none.

#[cfg(feature = "alloc")]
mod memory;

use core::fmt;

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "alloc")]
pub use memory::{
    Boxed, Growing, append, collected, copied, extend, filled, formatted, grow, joined, push,
    reserve, reserved, spelled, write,
};

/// The most of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limit {
    /// What is limited, in the plural.
    pub name: &'static str,
    /// The largest number that is taken.
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
    /// Layers of a transformer. The deepest that are known have some 130.
    LAYERS = 1 << 10, "layers";
    /// Any size of a model: heads, elements of a vector, positions. Products of two fit 64 bits and
    /// indices fit 32.
    SIZE = 1 << 24, "elements";
    /// Tokens of a vocabulary.
    TOKENS = 1 << 24, "tokens";
    /// Ids that no token has, for each token of a vocabulary and [beside](Self::SPARE_IDS).
    IDS_A_TOKEN = 4, "ids for each token";
    /// Ids that a vocabulary may leave out however few tokens it has.
    SPARE_IDS = 1 << 10, "ids without a token";
    /// Bytes of a token that is found in a text before anything else happens to it.
    ADDED_TOKEN_BYTES = 1 << 10, "bytes of an added token";
    /// Bytes that all steps of normalisation together make of one byte of a text, beside
    /// [`SHORT_EXPANSION`](Self::SHORT_EXPANSION). The character that NFKC makes most of, U+FDFA,
    /// becomes eleven times as long, and 24 times where spaces and bytes are spelled out, too.
    EXPANSION = 32, "bytes for one byte of a text";
    /// Bytes that become of a text however short it is, which a rule may replace by a phrase.
    SHORT_EXPANSION = 1 << 10, "bytes for the shortest text";
    /// Bytes of a file beside the weights, which is read whole. The largest tokenizers that are
    /// known have some 40 MB.
    SETTINGS_BYTES = 1 << 27, "bytes of a file of settings, a vocabulary or a tokenizer";
}

/// A number that is larger than its limit, as messages say it.
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
    /// The number, if it is within the limit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`]; [`Exceeded`] says it with names.
    pub fn check(self, value: u64) -> Result<usize> {
        let size = usize::try_from(value).ok().filter(|size| *size <= self.most);
        size.ok_or(Error::without_offset(ErrorKind::OverLimit))
    }

    /// As [`check`](Self::check), of the length of something in memory.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_len(self, length: usize) -> Result<usize> {
        self.check(length as u64)
    }

    /// The most ids that so many tokens may have, holes among them: a table by id stays in
    /// proportion to what was read.
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
