//! The scripts of letters, as far as search tells them apart.

use unicode_script::{Script, UnicodeScript as _};

/// Returns true for letters of scripts that put no spaces between words.
pub(crate) fn is_without_spaces(letter: char) -> bool {
    // Most letters are below, and looking a script up takes time.
    letter >= '\u{e00}'
        && matches!(
            letter.script(),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
                | Script::Tibetan
                | Script::Javanese
        )
}

/// Numbers of letters, to tell whether they are mainly Latin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Letters {
    latin: u64,
    all: u64,
}

impl Letters {
    /// Those of a text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut letters = Self::default();
        for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
            letters.all += 1;
            letters.latin += u64::from(letter.is_ascii() || letter.script() == Script::Latin);
        }
        letters
    }

    /// So many letters, of which `latin` are Latin.
    #[must_use]
    pub fn from_counts(latin: u32, all: u32) -> Self {
        Self { latin: latin.into(), all: all.into() }
    }

    /// Adds those of one more text.
    pub const fn add(&mut self, other: Self) {
        self.latin = self.latin.saturating_add(other.latin);
        self.all = self.all.saturating_add(other.all);
    }

    /// Takes those of a text away that were added.
    pub const fn remove(&mut self, other: Self) {
        self.latin = self.latin.saturating_sub(other.latin);
        self.all = self.all.saturating_sub(other.all);
    }

    /// The number of Latin letters.
    #[must_use]
    pub fn latin(self) -> u32 {
        u32::try_from(self.latin).unwrap_or(u32::MAX)
    }

    /// The number of letters.
    #[must_use]
    pub fn all(self) -> u32 {
        u32::try_from(self.all).unwrap_or(u32::MAX)
    }

    /// Returns true if at least half of the letters are Latin.
    #[must_use]
    pub const fn are_latin(self) -> bool {
        self.latin.saturating_mul(2) >= self.all
    }
}
