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
pub(crate) struct Letters {
    latin: u64,
    all: u64,
}

impl Letters {
    pub(crate) fn count(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
            self.all += 1;
            self.latin += u64::from(letter.is_ascii() || letter.script() == Script::Latin);
        }
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let mut letters = Self::default();
        letters.count(text);
        letters
    }

    /// Those of several texts together.
    pub(crate) fn add(&mut self, latin: u32, all: u32) {
        self.latin += u64::from(latin);
        self.all += u64::from(all);
    }

    /// The number of Latin letters.
    pub(crate) fn latin(self) -> u32 {
        u32::try_from(self.latin).unwrap_or(u32::MAX)
    }

    /// The number of letters.
    pub(crate) fn all(self) -> u32 {
        u32::try_from(self.all).unwrap_or(u32::MAX)
    }

    /// Returns true if at least half of the letters are Latin.
    pub(crate) const fn are_latin(self) -> bool {
        self.latin.saturating_mul(2) >= self.all
    }
}
