//! The parts that words of byte-level BPE tokenizers consist of: runs of characters of a class,
//! contractions, white space.

use super::letters::{BLOCK, RUNS, STARTS};

/// The class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Other,
    Letter,
    Number,
    Space,
}

impl Class {
    pub(crate) fn from_char(character: char) -> Self {
        match look_up(character, &STARTS, &RUNS) {
            1 => Self::Letter,
            2 => Self::Number,
            3 => Self::Space,
            _ => Self::Other,
        }
    }
}

/// The class of a character in a table of runs.
pub(super) fn look_up(character: char, starts: &[u32], runs: &[u16]) -> u16 {
    let code = u32::from(character);
    let block = starts.partition_point(|start| *start <= code).saturating_sub(1);
    let mut end = starts.get(block).copied().unwrap_or_default();
    let runs = runs.get(block.saturating_mul(BLOCK)..).unwrap_or_default();
    let run = runs.iter().find(|run| {
        end = end.saturating_add(u32::from(**run >> 2));
        end > code
    });
    run.map_or(0, |run| run & 3)
}

/// The length in bytes of the first characters of `text` of which `is` holds.
pub(super) fn run(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

pub(super) fn contraction(text: &str, any_case: bool) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    ["s", "t", "re", "ve", "m", "ll", "d"]
        .iter()
        .find(|ending| match any_case {
            false => rest.starts_with(**ending),
            // Case folding adds one character to ASCII: the long s.
            true => {
                let mut rest = rest.chars();
                ending.chars().all(|wanted| {
                    rest.next().is_some_and(|c| {
                        c.eq_ignore_ascii_case(&wanted) || (c == 'ſ' && wanted == 's')
                    })
                })
            }
        })
        .map(|ending| {
            let folded = rest.chars().take(ending.len()).map(char::len_utf8);
            folded.fold(1, usize::saturating_add)
        })
}

/// A run of letters, numbers or others, with one space before it.
pub(super) fn spaced(text: &str, class: Class) -> Option<usize> {
    spaced_run(text, |c| Class::from_char(c) == class)
}

/// A run of characters of which `is` holds, with one space before it.
pub(super) fn spaced_run(text: &str, is: impl Fn(char) -> bool) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let length = run(text.get(start..)?, is);
    (length > 0).then(|| start.saturating_add(length))
}

/// `\s+(?!\S)|\s+`: white space, of which the last character is left to the word that follows,
/// unless `ends` holds of its first character: then to the expression the text ends there.
pub(super) fn white_space(text: &str, ends: impl Fn(char) -> bool) -> usize {
    let length = run(text, |c| Class::from_char(c) == Class::Space);
    let (space, rest) = text.split_at_checked(length).unwrap_or((text, ""));
    if rest.chars().next().is_none_or(ends) {
        return length;
    }
    let last = space.chars().next_back().map_or(0, char::len_utf8);
    if last < length { length.saturating_sub(last) } else { length }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// `[^\r\n\p{L}\p{N}]?` and then a word, whose length `word` says: 0 if there is none.
pub(super) fn led(text: &str, word: impl Fn(&str) -> usize) -> Option<usize> {
    let first = text.chars().next()?;
    let lead = match Class::from_char(first) {
        Class::Other | Class::Space if !is_break(first) => first.len_utf8(),
        _ => 0,
    };
    let length = word(text.get(lead..)?);
    (length > 0).then(|| lead.saturating_add(length))
}

/// At most so many number characters.
pub(super) fn numbers(text: &str, most: usize) -> Option<usize> {
    let numbers = text.chars().take_while(|c| Class::from_char(*c) == Class::Number).take(most);
    let length = numbers.fold(0, |length: usize, c| length.saturating_add(c.len_utf8()));
    (length > 0).then_some(length)
}

/// A word of `length` bytes with the characters after it of which `is` holds.
pub(super) fn ended(text: &str, length: usize, is: impl Fn(char) -> bool) -> Option<usize> {
    Some(length.saturating_add(run(text.get(length..)?, is)))
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`: white space up to its last line break, if there is one.
pub(super) fn breaks(text: &str) -> usize {
    let space = run(text, |c| Class::from_char(c) == Class::Space);
    match text.get(..space).and_then(|space| space.rfind(is_break)) {
        Some(at) => at.saturating_add(1),
        None => white_space(text, |_| false),
    }
}
