//! Runs of characters of one kind, as some regular expressions say them: one character (`.` aside),
//! `\s`, `\n`, `\r`, `\t`, `\p{L}` or `\p{N}`, then nothing, `+`, `{n}`, `{n,}` or `{n,m}`.

use core::fmt;

use crate::token::bpe::runs::Class;

/// As many characters of a kind as there are, within limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharacterRun {
    /// The characters that it consists of.
    pub of: RunOf,
    /// Shorter runs are none.
    pub least: usize,
    /// Longer runs are several.
    pub most: usize,
}

/// The characters that a run consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOf {
    /// This character.
    Character(char),
    /// `\s`.
    Space,
    /// `\p{L}`.
    Letters,
    /// `\p{N}`.
    Numbers,
}

impl RunOf {
    fn has(self, c: char) -> bool {
        match self {
            Self::Character(own) => c == own,
            Self::Space => c.is_whitespace(),
            Self::Letters => Class::from_char(c) == Class::Letter,
            Self::Numbers => Class::from_char(c) == Class::Number,
        }
    }
}

/// The expressions of what has one.
const ESCAPES: [(&str, RunOf); 6] = [
    (r"\s", RunOf::Space),
    (r"\n", RunOf::Character('\n')),
    (r"\r", RunOf::Character('\r')),
    (r"\t", RunOf::Character('\t')),
    (r"\p{L}", RunOf::Letters),
    (r"\p{N}", RunOf::Numbers),
];

/// The regular expression of a run.
impl fmt::Display for CharacterRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escape = ESCAPES.iter().find(|(_, of)| *of == self.of).map(|(escape, _)| escape);
        match (escape, self.of) {
            (Some(escape), _) => f.write_str(escape)?,
            (None, RunOf::Character(c)) => write!(f, "{c}")?,
            (None, _) => {}
        }
        match (self.least, self.most) {
            (1, 1) => Ok(()),
            (1, usize::MAX) => f.write_str("+"),
            (least, usize::MAX) => write!(f, "{{{least},}}"),
            (least, most) if least == most => write!(f, "{{{least}}}"),
            (least, most) => write!(f, "{{{least},{most}}}"),
        }
    }
}

impl CharacterRun {
    /// The run that a regular expression says.
    #[must_use]
    pub fn from_regex(regex: &str) -> Option<Self> {
        let (of, times) = Self::element(regex)?;
        let (least, most) = match times {
            "" => (1, 1),
            "+" => (1, usize::MAX),
            _ => Self::times(times.strip_prefix('{')?.strip_suffix('}')?)?,
        };
        (least > 0 && least <= most).then_some(Self { of, least, most })
    }

    fn element(regex: &str) -> Option<(RunOf, &str)> {
        let escaped = ESCAPES.iter().find_map(|(name, of)| Some((*of, regex.strip_prefix(name)?)));
        if escaped.is_some() {
            return escaped;
        }
        let first = regex.chars().next()?;
        let is_plain = "-_,;:!\"'%&/<=>@`~#".chars().any(|plain| plain == first);
        let is_meta = first.is_ascii_punctuation() && !is_plain;
        let rest = regex.get(first.len_utf8()..)?;
        (!is_meta).then_some((RunOf::Character(first), rest))
    }

    fn times(times: &str) -> Option<(usize, usize)> {
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number)
        };
        // By bytes: `split_once` may panic, as the compiler sees it.
        let comma = times.bytes().position(|byte| byte == b',');
        let Some((least, most)) = comma.and_then(|comma| times.split_at_checked(comma)) else {
            return number(times).map(|count: usize| (count, count));
        };
        match most {
            "," => Some((number(least)?, usize::MAX)),
            most => Some((number(least)?, number(most.strip_prefix(',')?)?)),
        }
    }

    /// The first place in `text` from byte `from` on where it is found.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let Self { of, least, most } = *self;
        let (mut start, mut count) = (from, 0_usize);
        for (at, c) in text.get(from..)?.char_indices() {
            let at = from.saturating_add(at);
            if of.has(c) {
                start = if count == 0 { at } else { start };
                count = count.saturating_add(1);
                if count == most {
                    return Some((start, at.saturating_add(c.len_utf8())));
                }
            } else if count >= least {
                return Some((start, at));
            } else {
                count = 0;
            }
        }
        (count >= least).then_some((start, text.len()))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn found(regex: &str, text: &str) -> Vec<(usize, usize)> {
        let pattern = CharacterRun::from_regex(regex).unwrap();
        let (mut places, mut from) = (Vec::new(), 0);
        while let Some(place) = pattern.find(text, from) {
            places.push(place);
            from = place.1;
        }
        places
    }

    #[test]
    fn runs_are_found_where_they_are_long_enough() {
        assert_eq!(found(" {2,}", "a  b c   "), [(1, 3), (6, 9)]);
        assert_eq!(found(r"\s+", " a\u{3000}\nb"), [(0, 1), (2, 6)]);
        assert_eq!(found(r"\p{N}{1,3}", "12345x6"), [(0, 3), (3, 5), (6, 7)]);
        assert_eq!(found(r"\n", "\n\n"), [(0, 1), (1, 2)]);
        assert_eq!(found("a{2}", "aaaaa"), [(0, 2), (2, 4)]);
    }

    #[test]
    fn other_expressions_are_not_known() {
        for regex in [
            "", ".", "a|b", r"\d+", "a*", "a?", "a{0,1}", "a{2,1}", "a{,2}", "(a)", "^a", "[ab]",
            "ab", "a{+1}",
        ] {
            assert_eq!(CharacterRun::from_regex(regex), None, "{regex}");
        }
    }
}
