//! What is looked for in a text: a string, or a run of characters of one kind.
//!
//! Of regular expressions those are known that say a run: one character (`.` aside), `\s`, `\n`,
//! `\r`, `\t`, `\p{L}` or `\p{N}`, then nothing, `+`, `{n}`, `{n,}` or `{n,m}`. Searches are linear
//! in the text.

use alloc::string::String;

use crate::token::bpe::split::Class;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::owned::pipeline) enum Pattern {
    /// This string, which is not empty.
    Text(String),
    /// As many characters of a kind as there are, within limits.
    Run { of: RunOf, least: usize, most: usize },
}

/// What a run consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::owned::pipeline) enum RunOf {
    Character(char),
    Space,
    Letters,
    Numbers,
}

impl RunOf {
    fn has(self, c: char) -> bool {
        match self {
            Self::Character(own) => c == own,
            Self::Space => c.is_whitespace(),
            Self::Letters => Class::of(c) == Class::Letter,
            Self::Numbers => Class::of(c) == Class::Number,
        }
    }
}

impl Pattern {
    /// The pattern of a regular expression that says a run.
    pub(in crate::owned::pipeline) fn of_regex(regex: &str) -> Option<Self> {
        let (of, times) = Self::element(regex)?;
        let (least, most) = match times {
            "" => (1, 1),
            "+" => (1, usize::MAX),
            _ => Self::times(times.strip_prefix('{')?.strip_suffix('}')?)?,
        };
        (least > 0 && least <= most).then_some(Self::Run { of, least, most })
    }

    fn element(regex: &str) -> Option<(RunOf, &str)> {
        const ESCAPES: [(&str, RunOf); 6] = [
            (r"\s", RunOf::Space),
            (r"\n", RunOf::Character('\n')),
            (r"\r", RunOf::Character('\r')),
            (r"\t", RunOf::Character('\t')),
            (r"\p{L}", RunOf::Letters),
            (r"\p{N}", RunOf::Numbers),
        ];
        let escaped = ESCAPES.iter().find_map(|(name, of)| Some((*of, regex.strip_prefix(name)?)));
        if escaped.is_some() {
            return escaped;
        }
        let first = regex.chars().next()?;
        let is_meta = first.is_ascii_punctuation() && !"-_,;:!\"'%&/<=>@`~#".contains(first);
        (!is_meta).then(|| (RunOf::Character(first), &regex[first.len_utf8()..]))
    }

    fn times(times: &str) -> Option<(usize, usize)> {
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number)
        };
        match times.split_once(',') {
            None => number(times).map(|count: usize| (count, count)),
            Some((least, "")) => Some((number(least)?, usize::MAX)),
            Some((least, most)) => Some((number(least)?, number(most)?)),
        }
    }

    /// The first place in `text` from byte `from` on where it is found.
    pub(in crate::owned::pipeline) fn find(
        &self,
        text: &str,
        from: usize,
    ) -> Option<(usize, usize)> {
        let rest = text.get(from..)?;
        match self {
            Self::Text(wanted) => {
                let start = from + rest.find(wanted.as_str())?;
                Some((start, start + wanted.len()))
            }
            Self::Run { of, least, most } => {
                let (mut start, mut count) = (from, 0_usize);
                for (at, c) in rest.char_indices() {
                    let (at, behind) = (from + at, from + at + c.len_utf8());
                    if of.has(c) {
                        start = if count == 0 { at } else { start };
                        count += 1;
                        if count == *most {
                            return Some((start, behind));
                        }
                    } else if count >= *least {
                        return Some((start, at));
                    } else {
                        count = 0;
                    }
                }
                (count >= *least).then_some((start, text.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(regex: &str, text: &str) -> alloc::vec::Vec<(usize, usize)> {
        let pattern = Pattern::of_regex(regex).unwrap();
        let (mut places, mut from) = (alloc::vec::Vec::new(), 0);
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
            assert_eq!(Pattern::of_regex(regex), None, "{regex}");
        }
    }
}
