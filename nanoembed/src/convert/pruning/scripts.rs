//! The scripts of texts.

use std::collections::HashMap;

use nanoembed_core::Error;
use unicode_script::{Script, UnicodeScript as _};

use crate::hashed;

/// One letter in so many makes a script one of the texts': a foreign name is not to bring all
/// characters of its script along.
const LEAST_SHARE: u64 = 1000;

/// The number of letters of each script.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    letters: HashMap<Script, u64>,
    all: u64,
}

impl Scripts {
    /// Counts the letters of a piece that stands in the texts so many times.
    pub(super) fn count(&mut self, piece: &str, times: u64) -> Result<(), Error> {
        for script in piece.chars().map(|c| c.script()).filter(|script| is_one(*script)) {
            let letters = self.letters.get(&script).copied().unwrap_or_default();
            hashed::insert(&mut self.letters, script, letters.saturating_add(times))?;
            self.all = self.all.saturating_add(times);
        }
        Ok(())
    }

    /// True if a character is of one of the scripts, or of those that all have in common: digits,
    /// signs, marks.
    pub(super) fn contain(&self, c: char) -> bool {
        match c.script() {
            Script::Common | Script::Inherited => true,
            script => {
                let letters = self.letters.get(&script).copied().unwrap_or(0);
                letters > 0 && letters >= self.all / LEAST_SHARE
            }
        }
    }
}

/// True if this is a script by itself.
const fn is_one(script: Script) -> bool {
    !matches!(script, Script::Common | Script::Inherited | Script::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_letter_does_not_bring_its_script_along() {
        let mut scripts = Scripts::default();
        scripts.count("straße", 1000).unwrap();
        scripts.count("東", 5).unwrap();
        scripts.count("Ж", 6).unwrap();
        assert!(scripts.contain('q') && scripts.contain('7') && scripts.contain('\u{301}'));
        assert!(scripts.contain('я') && !scripts.contain('京') && !scripts.contain('א'));
    }
}
