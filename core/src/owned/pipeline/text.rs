//! A text on its way through the steps.

use alloc::string::String;

pub(super) use crate::token::allowance::Allowance;

/// A text that steps have made of another one.
///
/// Metaspace's scheme `first` asks whether a part of it comes from the very start of what the
/// caller gave. `tokenizers` answers from the alignment of every byte; of that the only thing that
/// matters is which bytes are aligned with the first character.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// The text.
    pub(super) string: String,
    /// Bytes up to here come from the first character that the caller gave.
    pub(super) first: usize,
}

impl Text {
    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.string.clear();
        self.first = 0;
    }

    /// Takes over `part` of what the caller gave, which begins at byte `start` of it.
    pub(super) fn set(&mut self, part: &str, start: usize) {
        self.string.clear();
        self.string.push_str(part);
        let first = part.chars().next().map_or(0, char::len_utf8);
        self.first = if start == 0 { first } else { 0 };
    }

    /// Notes that what was written last comes from byte `at` of the text `from`.
    pub(super) fn comes_from(&mut self, from: &Self, at: usize) {
        if at < from.first {
            self.first = self.string.len();
        }
    }
}
