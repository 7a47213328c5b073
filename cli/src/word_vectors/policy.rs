//! What is done with words that real files get wrong: ones that stand there twice, and broken
//! UTF-8.

use std::borrow::Cow;

use clap::{Args, ValueEnum};
use nanoembed_core::format::finalfusion::BrokenUtf8;
use nanoembed_core::words::Duplicates;

/// What to do with words that stand in a vocabulary twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicate {
    /// Stop there
    #[default]
    Error,
    /// Keep the first
    First,
}

/// What to do with words that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnBrokenUtf8 {
    /// Stop there
    #[default]
    Error,
    /// Put U+FFFD for what is broken
    Lossy,
    /// Keep the bytes, which other readers refuse
    Bytes,
}

/// The arguments about words that files get wrong.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Words")]
pub(crate) struct PolicyArgs {
    /// What to do with words that stand in a vocabulary twice
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub(crate) duplicates: OnDuplicate,

    /// What to do with words that are not UTF-8
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub(crate) utf8: OnBrokenUtf8,
}

impl PolicyArgs {
    /// What the core is to do with duplicates in a `.fifu` file.
    pub(crate) const fn core_duplicates(self) -> Duplicates {
        match self.duplicates {
            OnDuplicate::Error => Duplicates::Error,
            OnDuplicate::First => Duplicates::First,
        }
    }

    /// What the core is to do with broken UTF-8 in a `.fifu` file.
    pub(crate) const fn core_utf8(self) -> BrokenUtf8 {
        match self.utf8 {
            OnBrokenUtf8::Error => BrokenUtf8::Error,
            OnBrokenUtf8::Lossy | OnBrokenUtf8::Bytes => BrokenUtf8::Bytes,
        }
    }
}

impl OnBrokenUtf8 {
    /// The word as it goes on; how many bytes are valid if it may not.
    pub(crate) fn accept(self, word: &[u8]) -> Result<Cow<'_, [u8]>, usize> {
        match (str::from_utf8(word), self) {
            (Ok(_), _) | (Err(_), Self::Bytes) => Ok(word.into()),
            (Err(_), Self::Lossy) => match String::from_utf8_lossy(word) {
                Cow::Borrowed(text) => Ok(text.as_bytes().into()),
                Cow::Owned(text) => Ok(text.into_bytes().into()),
            },
            (Err(error), Self::Error) => Err(error.valid_up_to()),
        }
    }
}
