//! Patterns for names of tensors.
//!
//! Names are no paths: dots and slashes are characters like others. A pattern is an automaton whose
//! states advance together, so the work is at most the name's length times the pattern's.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use crate::error::Error;

/// A pattern for the whole names of tensors.
///
/// | pattern | matches |
/// |---|---|
/// | `*`, `**` | any characters, also none |
/// | `?` | one character |
/// | `[abc]`, `[a-z]`, `[!abc]`, `[^abc]` | one character of these, or none of these |
/// | `{this,that}` | one of these patterns |
/// | `\x` | `x` itself |
///
/// ```
/// use nanoembed::convert::Glob;
///
/// let glob: Glob = "blk.*.ffn_{up,down}.weight".parse()?;
/// assert!(glob.is_match("blk.0.ffn_up.weight"));
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glob {
    pattern: String,
    states: Vec<State>,
}

/// A state is its index; one after the last accepts.
#[derive(Clone, Debug)]
enum State {
    /// Takes a character and leads to the next state.
    Takes(Set),
    /// Leads to these without taking any.
    LeadsTo(Vec<usize>),
}

#[derive(Clone, Debug)]
struct Set {
    ranges: Vec<(char, char)>,
    has: bool,
}

/// An open brace: the state that leads to its alternatives, and the ends of those before the last.
struct Open {
    at: usize,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Glob {
    /// Parses `pattern`; the error says why it is invalid.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let mut states = Vec::new();
        let mut braces: Vec<Open> = Vec::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            let at = states.len();
            match letter {
                ',' => match braces.last_mut() {
                    Some(open) => {
                        states.push(State::LeadsTo(Vec::new()));
                        open.ends.push(at);
                        open.starts.push(at + 1);
                    }
                    None => states.push(State::Takes(Set::one(letter))),
                },
                '*' => {
                    states.push(State::LeadsTo(vec![at + 1, at + 3]));
                    states.push(State::Takes(Set { ranges: Vec::new(), has: false }));
                    states.push(State::LeadsTo(vec![at]));
                }
                '?' => states.push(State::Takes(Set { ranges: Vec::new(), has: false })),
                '[' => states.push(State::Takes(Set::parse(&mut letters)?)),
                '{' => {
                    states.push(State::LeadsTo(Vec::new()));
                    braces.push(Open { at, starts: vec![at + 1], ends: Vec::new() });
                }
                '}' => {
                    let open = braces.pop().ok_or("a `}` without `{`")?;
                    states[open.at] = State::LeadsTo(open.starts);
                    for end in open.ends {
                        states[end] = State::LeadsTo(vec![at]);
                    }
                }
                '\\' => {
                    let letter = letters.next().ok_or("a backslash at the end")?;
                    states.push(State::Takes(Set::one(letter)));
                }
                letter => states.push(State::Takes(Set::one(letter))),
            }
        }
        match braces.is_empty() {
            true => Ok(Self { pattern: pattern.to_owned(), states }),
            false => Err("a `{` without `}`".to_owned()),
        }
    }

    /// True if the pattern describes the whole of `name`.
    pub fn is_match(&self, name: &str) -> bool {
        let mut active = vec![false; self.states.len() + 1];
        self.reach(0, &mut active);
        for letter in name.chars() {
            let mut next = vec![false; active.len()];
            for (at, state) in self.states.iter().enumerate().filter(|(at, _)| active[*at]) {
                if let State::Takes(set) = state
                    && set.holds(letter)
                {
                    self.reach(at + 1, &mut next);
                }
            }
            active = next;
        }
        active[self.states.len()]
    }

    /// Marks the state `at` and all that follow from it without input.
    fn reach(&self, at: usize, active: &mut [bool]) {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            if !std::mem::replace(&mut active[at], true)
                && let Some(State::LeadsTo(states)) = self.states.get(at)
            {
                waiting.extend(states);
            }
        }
    }
}

impl std::str::FromStr for Glob {
    type Err = Error;

    fn from_str(pattern: &str) -> Result<Self, Error> {
        Self::parse(pattern).map_err(Error::usage)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl Set {
    fn one(letter: char) -> Self {
        Self { ranges: vec![(letter, letter)], has: true }
    }

    /// Parses the set after `[`, up to its `]`, which is a character of the set if it is the first.
    fn parse(letters: &mut Peekable<Chars<'_>>) -> Result<Self, String> {
        let has = letters.next_if(|letter| matches!(letter, '!' | '^')).is_none();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match letters.next() {
                None => return Err("a `[` without `]`".to_owned()),
                Some(']') if !ranges.is_empty() => return Ok(Self { ranges, has }),
                Some(letter) => letter,
            };
            let mut after = letters.clone();
            let last = match (after.next(), after.next()) {
                (Some('-'), Some(last)) if last != ']' => {
                    *letters = after;
                    last
                }
                _ => first,
            };
            if last < first {
                return Err(format!("a range that ends before it begins: `{first}-{last}`"));
            }
            ranges.push((first, last));
        }
    }

    fn holds(&self, letter: char) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&letter)) == self.has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::parse(pattern).unwrap().is_match(name)
    }

    #[test]
    fn a_pattern_matches_whole_names() {
        for (pattern, name) in [
            ("", ""),
            ("*", ""),
            ("*embed*", "model.embed_tokens.weight"),
            ("model.**.weight", "model.layers.0/q.weight"),
            ("a?c", "a.c"),
            ("[a-cx]1", "b1"),
            ("[]-]", "-"),
            ("[!0-9]", "é"),
            ("*.{q,k{1,2},}_proj", "layer.k2_proj"),
            ("*.{q,k{1,2},}_proj", "layer._proj"),
            ("a,b", "a,b"),
            (r"\*\{", "*{"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("embed*", "model.embed"),
            ("a?c", "ac"),
            ("[!0-9]", "3"),
            ("*.{q,k{1,2}}_proj", "layer.k3_proj"),
            (r"\*", "a"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in ["[a", "[", "[]", "{a", "a}", "[z-a]", "a\\"] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }

    /// A matcher that tries one way after the other would not come to an end.
    #[test]
    fn many_stars_and_braces_are_no_more_work_than_their_number() {
        let pattern = format!("{}b", "{*a,a*}".repeat(200));
        assert!(!matches(&pattern, &"a".repeat(2000)));
    }
}
