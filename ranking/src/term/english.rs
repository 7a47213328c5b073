//! Stems of English words by the algorithm that Snowball 3 calls English (Porter 2):
//! <https://snowballstem.org/algorithms/english/stemmer.html>.
//!
//! Words are ASCII letters in lower case, so that letters are bytes. A `y` that is a consonant is
//! `Y` on the way. Region 1 begins after the first consonant that follows a vowel, region 2 after the
//! next such place; most endings are removed only there.

use alloc::borrow::Cow;
use alloc::string::String;

/// Words whose stems the rules get wrong.
const WHOLE: [(&str, &str); 15] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Beginnings at whose end region 1 starts.
const STARTS: [&str; 9] =
    ["gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter"];

/// Words that keep their `ing` and `eed`.
const NOUNS: [&str; 6] = ["inn", "out", "cann", "herr", "earr", "even"];
const VERBS: [&str; 3] = ["proc", "exc", "succ"];

/// Endings in region 1 and their replacements.
const STEP_2: [(&str, &str); 24] = [
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("entli", "ent"),
    ("izer", "ize"),
    ("ization", "ize"),
    ("ational", "ate"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("alli", "al"),
    ("fulness", "ful"),
    ("ousli", "ous"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("bli", "ble"),
    ("ogist", "og"),
    ("ogi", "og"),
    ("fulli", "ful"),
    ("lessli", "less"),
];

/// Endings in region 1 and their replacements; `ative` in region 2.
const STEP_3: [(&str, &str); 9] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
    ("ative", ""),
];

/// Endings that are removed in region 2.
const STEP_4: [&str; 18] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate",
    "iti", "ous", "ive", "ize", "ion",
];

/// The stem of a word of ASCII letters in lower case; other words are their own.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return word.into();
    }
    if let Some((_, stem)) = WHOLE.iter().find(|(whole, _)| *whole == word) {
        return (*stem).into();
    }
    let mut word = Word::new(word);
    word.plural();
    word.past_and_gerund();
    word.final_y();
    word.step_2();
    word.step_3();
    word.step_4();
    word.step_5();
    word.letters.make_ascii_lowercase();
    word.letters.into()
}

/// A word on its way to its stem.
struct Word {
    letters: String,
    region_1: usize,
    region_2: usize,
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Word {
    fn new(word: &str) -> Self {
        let mut letters = String::with_capacity(word.len());
        for letter in word.chars() {
            let follows_vowel = letters.bytes().last().is_none_or(is_vowel);
            letters.push(if letter == 'y' && follows_vowel { 'Y' } else { letter });
        }
        let bytes = letters.as_bytes();
        let start = STARTS.iter().find(|start| word.starts_with(**start));
        let region_1 = start.map_or_else(|| after_syllable(bytes, 0), |start| start.len());
        let region_2 = after_syllable(bytes, region_1);
        Self { region_1, region_2, letters }
    }

    fn bytes(&self) -> &[u8] {
        self.letters.as_bytes()
    }

    /// The letters before an ending, if the word has it.
    fn before(&self, ending: &str) -> Option<&str> {
        self.letters.strip_suffix(ending)
    }

    /// The longest of `endings` that the word has.
    fn longest<'e>(&self, endings: impl Iterator<Item = &'e str>) -> Option<&'e str> {
        endings.filter(|ending| self.letters.ends_with(ending)).max_by_key(|ending| ending.len())
    }

    fn replace(&mut self, ending: &str, by: &str) {
        let stays = self.letters.len().saturating_sub(ending.len());
        self.letters.truncate(stays);
        self.letters.push_str(by);
    }

    fn plural(&mut self) {
        let ending = self.longest(["sses", "ied", "ies", "us", "ss", "s"].into_iter());
        let Some(ending) = ending else { return };
        let stays = self.letters.len().saturating_sub(ending.len());
        match ending {
            "sses" => self.replace("es", ""),
            "ied" | "ies" => self.replace(ending, if stays > 1 { "i" } else { "ie" }),
            "s" => {
                let before = self.bytes().get(..stays.saturating_sub(1)).unwrap_or_default();
                if before.iter().copied().any(is_vowel) {
                    self.replace("s", "");
                }
            }
            _ => {}
        }
    }

    fn past_and_gerund(&mut self) {
        let endings = ["eed", "eedly", "ed", "edly", "ing", "ingly"];
        let Some(ending) = self.longest(endings.into_iter()) else { return };
        let before = self.before(ending).unwrap_or_default();
        let stays = before.len();
        if matches!(ending, "eed" | "eedly") {
            if stays >= self.region_1 && !VERBS.contains(&before) {
                self.replace(ending, "ee");
            }
            return;
        }
        if ending == "ing" {
            if let [first, b'y'] = before.as_bytes()
                && !is_vowel(*first)
            {
                return self.replace("ying", "ie");
            }
            if NOUNS.contains(&before) {
                return;
            }
        }
        if !before.bytes().any(is_vowel) {
            return;
        }
        self.replace(ending, "");
        self.mend();
    }

    /// Gives a word without its ending the letter that it lost, or takes the one that it got.
    fn mend(&mut self) {
        let bytes = self.bytes();
        if ["at", "bl", "iz"].iter().any(|ending| self.letters.ends_with(ending)) {
            return self.letters.push('e');
        }
        if let [rest @ .., a, b] = bytes
            && a == b
            && b"bdfgmnprt".contains(a)
        {
            if !matches!(rest, [b'a' | b'e' | b'o']) {
                self.letters.pop();
            }
            return;
        }
        if bytes.len() <= self.region_1 && ends_short(bytes) {
            self.letters.push('e');
        }
    }

    fn final_y(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = self.bytes()
            && !is_vowel(*before)
        {
            self.replace("y", "i");
        }
    }

    fn step_2(&mut self) {
        let tables = STEP_2.iter().map(|(ending, _)| *ending);
        let Some(ending) = self.longest(tables.chain(["li"])) else { return };
        let before = self.before(ending).unwrap_or_default();
        let last = before.bytes().last().unwrap_or_default();
        if before.len() < self.region_1 {
            return;
        }
        match ending {
            "li" if !b"cdeghkmnrt".contains(&last) => {}
            "ogi" if last != b'l' => {}
            _ => {
                let by = STEP_2.iter().find(|(own, _)| *own == ending).map_or("", |(_, by)| by);
                self.replace(ending, by);
            }
        }
    }

    fn step_3(&mut self) {
        let ending = self.longest(STEP_3.iter().map(|(ending, _)| *ending));
        let Some(ending) = ending else { return };
        let stays = self.letters.len().saturating_sub(ending.len());
        let from = if ending == "ative" { self.region_2 } else { self.region_1 };
        if stays >= from {
            let by = STEP_3.iter().find(|(own, _)| *own == ending).map_or("", |(_, by)| by);
            self.replace(ending, by);
        }
    }

    fn step_4(&mut self) {
        let Some(ending) = self.longest(STEP_4.into_iter()) else { return };
        let before = self.before(ending).unwrap_or_default();
        let may = ending != "ion" || before.ends_with(['s', 't']);
        if before.len() >= self.region_2 && may {
            self.replace(ending, "");
        }
    }

    fn step_5(&mut self) {
        let Some((last, before)) = self.bytes().split_last() else { return };
        let is_removed = match last {
            b'e' => {
                before.len() >= self.region_2
                    || before.len() >= self.region_1 && !ends_short(before)
            }
            b'l' => before.len() >= self.region_2 && before.last() == Some(&b'l'),
            _ => false,
        };
        if is_removed {
            self.letters.pop();
        }
    }
}

/// The offset after the first consonant that follows a vowel, from `start` on; the length without
/// one.
fn after_syllable(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let found = rest.windows(2).position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]));
    found.map_or(bytes.len(), |at| start + at + 2)
}

/// True if the letters end in a short syllable.
fn ends_short(bytes: &[u8]) -> bool {
    match bytes {
        b"past" => true,
        [.., a, vowel, last] => {
            !is_vowel(*a)
                && is_vowel(*vowel)
                && !is_vowel(*last)
                && !matches!(last, b'w' | b'x' | b'Y')
        }
        [vowel, last] => is_vowel(*vowel) && !is_vowel(*last),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Words, and what Snowball 3.1 makes of them: `tests/stems.py` writes the list.
    #[test]
    fn stems_are_those_of_snowball() {
        let list = include_str!("../../tests/stems.txt");
        let pairs: Vec<_> = list.lines().filter_map(|line| line.split_once(' ')).collect();
        assert!(pairs.len() > 2000, "{}", pairs.len());
        let wrong: Vec<_> = pairs
            .iter()
            .map(|(word, expected)| (word, expected, stem(word)))
            .filter(|(_, expected, stem)| *expected != stem)
            .collect();
        assert!(wrong.is_empty(), "{} {wrong:?}", wrong.len());
    }

    #[test]
    fn words_of_other_letters_are_their_own() {
        for word in ["", "é", "größen", "e0382s", "is", "ÜBUNGEN"] {
            assert_eq!(stem(word), word);
        }
    }
}
