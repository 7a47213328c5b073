//! Words that end before a capital, or to which marks belong.
//!
//! Matching is linear: an alternative that fails has looked at no more than the next word.

use super::letter_cases::{RUNS, STARTS};
use super::runs::{
    Class, breaks, contraction, ended, is_break, led, look_up, numbers, run, spaced_run,
};

/// The case of a letter or mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// Neither letter nor mark.
    Other,
    /// `[\p{Lu}\p{Lt}]`
    Capital,
    /// `\p{Ll}`
    Small,
    /// `[\p{Lm}\p{Lo}\p{M}]`, which counts as both.
    Both,
}

impl Case {
    fn from_char(c: char) -> Self {
        match look_up(c, &STARTS, &RUNS) {
            1 => Self::Capital,
            2 => Self::Small,
            3 => Self::Both,
            _ => Self::Other,
        }
    }
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
fn is_capital(c: char) -> bool {
    matches!(Case::from_char(c), Case::Capital | Case::Both)
}

/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
fn is_small(c: char) -> bool {
    matches!(Case::from_char(c), Case::Small | Case::Both)
}

/// GPT-4o's.
pub(super) fn o200k(text: &str) -> usize {
    cased(text, 3, |rest| contraction(rest, true).unwrap_or(0))
}

/// Tekken's.
pub(super) fn tekken(text: &str) -> usize {
    cased(text, 1, |_| 0)
}

/// The first word, of which numbers have at most so many characters; `contraction` is the length of
/// what may follow letters.
fn cased(text: &str, most_numbers: usize, contraction: impl Fn(&str) -> usize) -> usize {
    let letters = led(text, ends_small)
        .or_else(|| Some(ends_small(text)).filter(|length| *length > 0))
        // Capitals alone, for small letters after them would have matched above.
        .or_else(|| led(text, |rest| run(rest, is_capital)));
    if let Some(length) = letters {
        let rest = text.get(length..).unwrap_or_default();
        return length.saturating_add(contraction(rest));
    }
    let others = || spaced_run(text, |c| Class::from_char(c) == Class::Other);
    let is_end = |c| is_break(c) || c == '/';
    numbers(text, most_numbers)
        .or_else(|| ended(text, others()?, is_end))
        .unwrap_or_else(|| breaks(text))
}

/// The length of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`; 0 if it does not match.
fn ends_small(text: &str) -> usize {
    let capitals = run(text, is_capital);
    let (before, rest) = text.split_at_checked(capitals).unwrap_or((text, ""));
    let small = run(rest, is_small);
    if small > 0 {
        return capitals.saturating_add(small);
    }
    // The capitals give back all after the last one that counts as a small letter, too.
    let last = before.char_indices().rev().find(|(_, c)| is_small(*c));
    last.map_or(0, |(at, c)| at.saturating_add(c.len_utf8()))
}

/// Qwen 3.5's.
pub(super) fn qwen35(text: &str) -> usize {
    let is_mark = |c| Class::from_char(c) == Class::Other && Case::from_char(c) != Case::Other;
    let is_letter = |c| Class::from_char(c) == Class::Letter || is_mark(c);
    let letters = || {
        let alone = || Some(run(text, is_letter)).filter(|length| *length > 0);
        led(text, |rest| run(rest, is_letter)).or_else(alone)
    };
    let others = || spaced_run(text, |c| Class::from_char(c) == Class::Other && !is_mark(c));
    contraction(text, true)
        .or_else(letters)
        .or_else(|| numbers(text, 1))
        .or_else(|| ended(text, others()?, is_break))
        .unwrap_or_else(|| breaks(text))
}
