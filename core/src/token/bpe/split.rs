//! Words, as the patterns of byte-level BPE tokenizers cut them.
//!
//! | pattern | expression |
//! |---|---|
//! | [`Gpt2`](Pattern::Gpt2) | `'s\|'t\|'re\|'ve\|'m\|'ll\|'d\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` |
//! | [`SmolLm`](Pattern::SmolLm) | each number character alone, then GPT-2's |
//! | [`Llama3`](Pattern::Llama3) | `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)\|[^\r\n\p{L}\p{N}]?\p{L}+\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` |
//!
//! Every character is part of a word, so the words together are the text.

use super::letters::RUNS;

/// How a model's tokenizer cuts text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// GPT-2.
    Gpt2,
    /// SmolLM and SmolLM2.
    SmolLm,
    /// Llama 3.
    Llama3,
}

impl Pattern {
    /// The pattern that `tokenizer.ggml.pre` names so.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "gpt-2" | "gpt2" => Some(Self::Gpt2),
            "smollm" => Some(Self::SmolLm),
            "llama3" | "llama-v3" | "llama-bpe" => Some(Self::Llama3),
            _ => None,
        }
    }

    /// The name that [`of_name`](Self::of_name) knows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt-2",
            Self::SmolLm => "smollm",
            Self::Llama3 => "llama-bpe",
        }
    }
}

/// What a character counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Other,
    Letter,
    Number,
    Space,
}

impl Class {
    fn of(character: char) -> Self {
        let code = u32::from(character);
        let after = RUNS.partition_point(|run| run >> 2 <= code);
        match after.checked_sub(1).and_then(|at| RUNS.get(at)).map_or(0, |run| run & 3) {
            1 => Self::Letter,
            2 => Self::Number,
            3 => Self::Space,
            _ => Self::Other,
        }
    }
}

/// The length in bytes of the first word of `text`; 0 if it is empty.
#[must_use]
pub fn first_word(pattern: Pattern, text: &str) -> usize {
    match pattern {
        Pattern::Gpt2 => gpt2(text),
        Pattern::SmolLm => {
            // Numbers have been cut out before GPT-2's pattern sees the text.
            let number = |c: char| Class::of(c) == Class::Number;
            match text.chars().next() {
                Some(first) if number(first) => first.len_utf8(),
                _ => gpt2(text.find(number).and_then(|at| text.get(..at)).unwrap_or(text)),
            }
        }
        Pattern::Llama3 => llama3(text),
    }
}

/// How many bytes of `text` are characters of which `is` holds, from the first on.
fn run(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn contraction(text: &str, any_case: bool) -> Option<usize> {
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
fn spaced(text: &str, class: Class) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let length = run(text.get(start..)?, |c| Class::of(c) == class);
    (length > 0).then(|| start.saturating_add(length))
}

/// `\s+(?!\S)|\s+`: white space, of which the last character is left to the word that follows.
fn white_space(text: &str) -> usize {
    let length = run(text, |c| Class::of(c) == Class::Space);
    let Some(space) = text.get(..length).filter(|_| length < text.len()) else { return length };
    let last = space.chars().next_back().map_or(0, char::len_utf8);
    if last < length { length.saturating_sub(last) } else { length }
}

fn gpt2(text: &str) -> usize {
    contraction(text, false)
        .or_else(|| spaced(text, Class::Letter))
        .or_else(|| spaced(text, Class::Number))
        .or_else(|| spaced(text, Class::Other))
        .unwrap_or_else(|| white_space(text))
}

fn llama3(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let is_break = |c: char| matches!(c, '\r' | '\n');
    if let Some(length) = contraction(text, true) {
        return length;
    }
    let class = Class::of(first);
    let lead = match class {
        Class::Other | Class::Space if !is_break(first) => first.len_utf8(),
        _ => 0,
    };
    let letters = run(text.get(lead..).unwrap_or_default(), |c| Class::of(c) == Class::Letter);
    if letters > 0 {
        return lead.saturating_add(letters);
    }
    if class == Class::Number {
        let numbers = text.chars().take_while(|c| Class::of(*c) == Class::Number).take(3);
        return numbers.fold(0, |length, c| length.saturating_add(c.len_utf8()));
    }
    if let Some(length) = spaced(text, Class::Other) {
        let rest = text.get(length..).unwrap_or_default();
        return length.saturating_add(run(rest, is_break));
    }
    // `\s*[\r\n]+`: up to the last line break within the white space.
    let space = run(text, |c| Class::of(c) == Class::Space);
    let breaks = text.get(..space).and_then(|space| space.rfind(is_break));
    match breaks {
        Some(at) => at.saturating_add(1),
        None => white_space(text),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::prelude::v1::*;

    use super::*;

    fn words(pattern: Pattern, text: &str) -> Vec<&str> {
        let mut rest = text;
        let mut words = Vec::new();
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(first_word(pattern, rest));
            words.push(word);
            rest = behind;
        }
        words
    }

    #[test]
    fn gpt2_keeps_a_space_with_the_word_behind_it() {
        let found = words(Pattern::Gpt2, "It's  two   x1y\n\n z ");
        assert_eq!(found, ["It", "'s", " ", " two", "  ", " x", "1", "y", "\n\n", " z", " "]);
    }

    #[test]
    fn smollm_cuts_numbers_into_characters() {
        let found = words(Pattern::SmolLm, "a 12 b");
        assert_eq!(found, ["a", " ", "1", "2", " b"]);
    }

    #[test]
    fn llama3_keeps_up_to_three_digits_and_line_breaks() {
        let found = words(Pattern::Llama3, "I'LL\n  \n see 12345!!\nx\t\"y");
        assert_eq!(found, ["I", "'LL", "\n  \n", " see", " ", "123", "45", "!!\n", "x", "\t", "\"y"]);
    }
}
