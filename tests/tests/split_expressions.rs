//! The expressions of byte-level BPE tokenizers against the engine of Hugging Face `tokenizers`, on
//! all short texts over characters that they tell apart.

use nanoembed_core::token::bpe::Pattern;
use nanoembed_core::token::bpe::split::first_word;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
};

/// Expressions as files have them.
const EXPRESSIONS: [&str; 8] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

/// A capital, a title case, small letters (those of a contraction, too), letters without case (one a
/// modifier), marks, a number, white space, and symbols.
const CHARACTERS: [char; 16] = [
    'A', 'ǅ', 's', 'L', 'l', 'ſ', '中', 'ʰ', '\u{301}', '1', ' ', '\n', '\u{3000}', '\'', '/', '!',
];

fn texts(longest: u32) -> impl Iterator<Item = String> {
    let count = CHARACTERS.len();
    (1..=longest).flat_map(move |length| {
        (0..count.pow(length)).map(move |number| {
            (0..length).map(|place| CHARACTERS[number / count.pow(place) % count]).collect()
        })
    })
}

fn words(pattern: Pattern, text: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (word, after) = rest.split_at(first_word(pattern, rest));
        words.push(word);
        rest = after;
    }
    words
}

fn check(split: &Split, pattern: Pattern, text: &str) {
    let mut wanted = PreTokenizedString::from(text);
    split.pre_tokenize(&mut wanted).expect("a text");
    let wanted = wanted.get_splits(OffsetReferential::Original, OffsetType::Byte);
    let wanted: Vec<&str> = wanted.into_iter().map(|(word, ..)| word).collect();
    assert_eq!(words(pattern, text), wanted, "{pattern:?}: {text:?}");
}

fn split(expression: &str) -> Split {
    let pattern = SplitPattern::Regex(expression.into());
    Split::new(pattern, SplitDelimiterBehavior::Isolated, false).expect(expression)
}

#[test]
fn short_texts_are_cut_as_by_tokenizers() {
    for expression in EXPRESSIONS {
        let pattern = Pattern::from_expression(expression).expect(expression);
        let split = split(expression);
        let is_cased = matches!(pattern, Pattern::O200k | Pattern::Tekken | Pattern::Qwen35);
        for text in texts(if is_cased { 4 } else { 3 }) {
            check(&split, pattern, &text);
        }
    }
}

#[test]
fn every_code_point_is_cut_as_by_tokenizers_alone_and_beside_letters() {
    for expression in EXPRESSIONS {
        let pattern = Pattern::from_expression(expression).expect(expression);
        let split = split(expression);
        for c in '\0'..=char::MAX {
            // Ideographs, syllables, private use and what is not assigned are of one class.
            let is_many =
                matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{F8FF}' | '\u{20000}'..);
            if is_many && u32::from(c) % 0x100 > 2 {
                continue;
            }
            check(&split, pattern, &format!("{c}a{c}A {c}"));
        }
    }
}
