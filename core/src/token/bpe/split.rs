//! Words, as the patterns of byte-level BPE tokenizers cut them.
//!
//! | pattern | expression |
//! |---|---|
//! | [`Gpt2`](Pattern::Gpt2) | `'s\|'t\|'re\|'ve\|'m\|'ll\|'d\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` |
//! | [`SmolLm`](Pattern::SmolLm) | each number character alone, then GPT-2's |
//! | [`Qwen2`](Pattern::Qwen2) | Llama 3's with `\p{N}` in place of `\p{N}{1,3}` |
//! | [`Llama3`](Pattern::Llama3) | `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)\|[^\r\n\p{L}\p{N}]?\p{L}+\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` |
//! | [`O200k`](Pattern::O200k) | `CASED` with `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)?` at the end of both, then `\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n/]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` |
//! | [`Tekken`](Pattern::Tekken) | O200k's without the contractions, and `\p{N}` in place of `\p{N}{1,3}` |
//! | [`Qwen35`](Pattern::Qwen35) | Qwen 2's, in which marks (`\p{M}`) are letters |
//!
//! `CASED` is `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` or, where
//! that does not match, `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`.
//!
//! Every character is part of a word, so the words together are the text.

use super::cased;
use super::runs::{
    Class, breaks, contraction, ended, is_break, led, numbers, run, spaced, white_space,
};

/// How a model's tokenizer cuts text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// GPT-2.
    Gpt2,
    /// SmolLM and SmolLM2.
    SmolLm,
    /// Llama 3.
    Llama3,
    /// Qwen 2 and Qwen 3.
    Qwen2,
    /// GPT-4o and gpt-oss: a capital begins a new word.
    #[cfg(feature = "families")]
    O200k,
    /// Mistral's from Nemo on: a capital begins a new word.
    #[cfg(feature = "families")]
    Tekken,
    /// Qwen 3.5: marks belong to words.
    #[cfg(feature = "families")]
    Qwen35,
}

impl Pattern {
    /// The setting of `.weights` and `.amb` files that names the pattern of byte-level BPE.
    pub const KEY: &'static str = "pre_tokenizer";

    /// The name that GGUF files have for it under `tokenizer.ggml.pre`, and files of this project's
    /// own under [`KEY`](Self::KEY).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt-2",
            Self::SmolLm => "smollm",
            Self::Llama3 => "llama-bpe",
            Self::Qwen2 => "qwen2",
            #[cfg(feature = "families")]
            Self::O200k => "gpt-4o",
            #[cfg(feature = "families")]
            Self::Tekken => "tekken",
            #[cfg(feature = "families")]
            Self::Qwen35 => "qwen35",
        }
    }

    /// The pattern of an expression in a `tokenizer.json`.
    #[must_use]
    pub fn from_expression(expression: &str) -> Option<Self> {
        let found = EXPRESSIONS.iter().find(|(known, _)| *known == expression);
        found.map(|(_, pattern)| *pattern)
    }

    /// The expression of the pattern in a `tokenizer.json`; `None` if it takes several steps.
    #[must_use]
    pub fn expression(self) -> Option<&'static str> {
        let found = EXPRESSIONS.iter().find(|(_, pattern)| *pattern == self);
        found.map(|(expression, _)| *expression)
    }
}

/// The expressions that `tokenizer.json` files say the patterns by; the first one of a pattern is
/// the usual one.
pub(crate) const EXPRESSIONS: &[(&str, Pattern)] = &[
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Pattern::Gpt2),
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Pattern::Gpt2),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Llama3,
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Qwen2,
    ),
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        Pattern::Qwen2,
    ),
    #[cfg(feature = "families")]
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::O200k,
    ),
    #[cfg(feature = "families")]
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Tekken,
    ),
    #[cfg(feature = "families")]
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Qwen35,
    ),
];

/// The length in bytes of the first word of `text`; 0 if it is empty.
#[must_use]
pub fn first_word(pattern: Pattern, text: &str) -> usize {
    match pattern {
        Pattern::Gpt2 => gpt2(text),
        Pattern::SmolLm => smollm(text),
        Pattern::Llama3 => llama3(text, 3),
        Pattern::Qwen2 => llama3(text, 1),
        #[cfg(feature = "families")]
        Pattern::O200k => cased::o200k(text),
        #[cfg(feature = "families")]
        Pattern::Tekken => cased::tekken(text),
        #[cfg(feature = "families")]
        Pattern::Qwen35 => cased::qwen35(text),
    }
}

fn gpt2(text: &str) -> usize {
    contraction(text, false)
        .or_else(|| spaced(text, Class::Letter))
        .or_else(|| spaced(text, Class::Number))
        .or_else(|| spaced(text, Class::Other))
        .unwrap_or_else(|| white_space(text, |_| false))
}

/// Number characters are cut out one by one, and GPT-2's pattern sees what lies between them: there
/// its text ends. Where that is is never looked for, or every word would pass over the text up to
/// the next number.
fn smollm(text: &str) -> usize {
    let is_number = |c: char| Class::from_char(c) == Class::Number;
    match text.chars().next() {
        Some(first) if is_number(first) => first.len_utf8(),
        _ => contraction(text, false)
            .or_else(|| spaced(text, Class::Letter))
            .or_else(|| spaced(text, Class::Other))
            .unwrap_or_else(|| white_space(text, is_number)),
    }
}

/// The first word, of which numbers have at most so many characters.
fn llama3(text: &str, most_numbers: usize) -> usize {
    let letters = || led(text, |rest| run(rest, |c| Class::from_char(c) == Class::Letter));
    let others = || spaced(text, Class::Other);
    contraction(text, true)
        .or_else(letters)
        .or_else(|| numbers(text, most_numbers))
        .or_else(|| ended(text, others()?, is_break))
        .unwrap_or_else(|| breaks(text))
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
            let (word, after) = rest.split_at(first_word(pattern, rest));
            words.push(word);
            rest = after;
        }
        words
    }

    #[test]
    fn gpt2_keeps_a_space_with_the_word_after_it() {
        let found = words(Pattern::Gpt2, "It's  two   x1y\n\n z ");
        assert_eq!(found, ["It", "'s", " ", " two", "  ", " x", "1", "y", "\n\n", " z", " "]);
    }

    #[test]
    fn smollm_cuts_numbers_into_characters() {
        let found = words(Pattern::SmolLm, "a 12 b");
        assert_eq!(found, ["a", " ", "1", "2", " b"]);
    }

    /// As the pattern is defined: numbers first, then GPT-2's on each text between them.
    fn smollm_in_two_steps(text: &str) -> Vec<&str> {
        let is_number = |c: char| Class::from_char(c) == Class::Number;
        text.split_inclusive(is_number)
            .flat_map(|part| {
                let number = part.chars().next_back().filter(|c| is_number(*c));
                let (between, number) =
                    part.split_at(part.len() - number.map_or(0, char::len_utf8));
                let mut found = words(Pattern::Gpt2, between);
                found.extend((!number.is_empty()).then_some(number));
                found
            })
            .collect()
    }

    #[test]
    fn smollm_cuts_as_if_in_two_steps() {
        const CHARACTERS: [char; 8] = ['a', '\'', 's', ' ', '\n', '1', '٣', '!'];
        for length in 1..=5_u32 {
            for number in 0..CHARACTERS.len().pow(length) {
                let at =
                    |place| CHARACTERS[number / CHARACTERS.len().pow(place) % CHARACTERS.len()];
                let text: String = (0..length).map(at).collect();
                assert_eq!(words(Pattern::SmolLm, &text), smollm_in_two_steps(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn no_word_passes_over_the_text_after_it() {
        // With a glance at the rest for each word this would take hours.
        let text = "the cat sat. ".repeat(1 << 18);
        for pattern in [
            Pattern::Gpt2,
            Pattern::SmolLm,
            Pattern::Llama3,
            Pattern::Qwen2,
            #[cfg(feature = "families")]
            Pattern::O200k,
            #[cfg(feature = "families")]
            Pattern::Tekken,
            #[cfg(feature = "families")]
            Pattern::Qwen35,
        ] {
            assert_eq!(words(pattern, &text).len(), (4 << 18) + 1, "{pattern:?}");
        }
    }

    #[test]
    fn llama3_keeps_up_to_three_digits_and_line_breaks() {
        let found = words(Pattern::Llama3, "I'LL\n  \n see 12345!!\nx\t\"y");
        assert_eq!(
            found,
            ["I", "'LL", "\n  \n", " see", " ", "123", "45", "!!\n", "x", "\t", "\"y"]
        );
    }

    #[test]
    fn a_pattern_is_known_by_its_expression() {
        for (_, pattern) in EXPRESSIONS {
            let pattern = *pattern;
            let expression = pattern.expression().unwrap();
            assert_eq!(Pattern::from_expression(expression), Some(pattern));
        }
        assert_eq!(Pattern::SmolLm.expression(), None);
        assert_eq!(Pattern::from_expression("x+"), None);
    }
}
