//! Texts as terms, by which words are found: the smallest parts that a query and a passage share.
//!
//! | text | terms |
//! |---|---|
//! | a word | its stem, in lower case |
//! | `camelCase`, `HTTPServer2`, `snake_case` | the parts' stems, and the whole |
//! | `src/main.rs`, `std::fs::read`, `TS-999`, `os.path` | the parts, and the whole |
//! | scripts without spaces between words | pairs of letters, a letter alone where there is one |

mod english;
mod stop_words;

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::script::is_without_spaces;
use stop_words::StopWords;
pub(crate) use stop_words::may_be_english;

/// Longer terms are not text: base64 and the like.
const MOST_BYTES: usize = 96;

/// Calls `put` with each term of a text, in their order.
pub fn terms(text: &str, mut put: impl FnMut(&str)) {
    let mut lower = String::new();
    for compound in compounds(text) {
        let whole = &text[compound];
        let mut parts = 0;
        let mut is_camel = false;
        for word in whole.split(|letter: char| !is_letter(letter)).filter(|word| !word.is_empty()) {
            for (part, is_pairs) in words(word) {
                parts += 1;
                is_camel |= part.len() < word.len() && !word.contains(is_without_spaces);
                lower.clear();
                lower.extend(part.chars().flat_map(char::to_lowercase));
                match is_pairs {
                    true => pairs(&lower, &mut put),
                    false if lower.len() <= MOST_BYTES => put(&english::stem(&lower)),
                    false => {}
                }
            }
        }
        if parts > 1 && is_name(whole, is_camel) && whole.len() <= MOST_BYTES {
            lower.clear();
            lower.extend(whole.chars().flat_map(char::to_lowercase));
            put(&lower);
        }
    }
}

/// The number of a text's terms, and its different terms in ascending order, with their counts.
#[must_use]
pub fn counts(text: &str) -> (u32, Vec<(String, u32)>) {
    let (mut all, mut places) = (String::new(), Vec::new());
    terms(text, |term| {
        let start = all.len();
        all.push_str(term);
        places.push(start..all.len());
    });
    places.sort_unstable_by(|a, b| all[a.clone()].cmp(&all[b.clone()]));
    let count = |equal: &[Range<usize>]| u32::try_from(equal.len()).unwrap_or(u32::MAX);
    let groups = places.chunk_by(|a, b| all[a.clone()] == all[b.clone()]);
    let counted = groups.map(|equal| (all[equal[0].clone()].to_owned(), count(equal))).collect();
    (count(&places), counted)
}

/// The terms of a query: those that say something, and all others, which say nothing in most texts.
pub(crate) fn query_terms(query: &str) -> (Vec<String>, Vec<String>) {
    let lower = query.to_lowercase();
    let words =
        lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let stop = StopWords::for_words(words.clone());
    let stops: Vec<String> =
        words.filter(|word| stop.contain(word)).map(|word| english::stem(word).into()).collect();
    let mut all = Vec::new();
    terms(query, |term| all.push(term.to_owned()));
    all.into_iter().partition(|term| !stops.contains(term))
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || is_mark(letter)
}

/// Marks that belong to the letter before them, such as vowels of Thai and Devanagari.
fn is_mark(letter: char) -> bool {
    letter >= '\u{300}' && !letter.is_whitespace() && {
        use unicode_script::{Script, UnicodeScript as _};
        let script = letter.script();
        script == Script::Inherited
            || !letter.is_alphanumeric() && !matches!(script, Script::Common | Script::Unknown)
    }
}

/// Parts of a text that are joined by one character each, such as `snake_case`, `a::b` and `x.y`.
fn compounds(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let start = at + text.get(at..)?.find(is_letter)?;
        let mut end = start;
        for (offset, letter) in text[start..].char_indices() {
            let here = start + offset;
            if is_letter(letter) {
                end = here + letter.len_utf8();
            } else if !matches!(letter, '_' | '-' | '.' | '/' | '\\' | ':') || here >= end + 2 {
                break;
            }
        }
        at = end;
        Some(start..end)
    })
}

/// True if a compound of several parts is a name that is also searched whole: not the words of
/// `well-known` and `end.Next`.
fn is_name(whole: &str, is_camel: bool) -> bool {
    let is_code = || whole.contains('-') && whole.bytes().any(|byte| byte.is_ascii_digit());
    is_camel || whole.contains(['_', '/', '\\', '.']) || whole.contains("::") || is_code()
}

/// The words of `camelCase` and `HTTPServer2`, and runs of a script without spaces, with `true`.
fn words(word: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = word;
    core::iter::from_fn(move || {
        let mut letters = rest.char_indices().peekable();
        let (_, first) = letters.next()?;
        let is_pairs = is_without_spaces(first);
        let mut before = first;
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            if is_without_spaces(letter) != is_pairs && !is_mark(letter)
                || !is_pairs && begins_word(before, letter, next)
            {
                end = at;
                break;
            }
            before = letter;
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((word, is_pairs))
    })
}

/// True if a word begins at `letter`: `fooBar`, `HTTPServer`.
fn begins_word(before: char, letter: char, next: Option<char>) -> bool {
    letter.is_uppercase()
        && (before.is_lowercase() || before.is_uppercase() && next.is_some_and(char::is_lowercase))
}

fn pairs(run: &str, put: &mut impl FnMut(&str)) {
    let mut ends = run.char_indices().map(|(at, letter)| (at, at + letter.len_utf8())).peekable();
    let mut is_first = true;
    while let Some((start, end)) = ends.next() {
        match ends.peek() {
            Some((_, end)) => put(&run[start..*end]),
            None if is_first => put(&run[start..end]),
            None => {}
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        terms(text, |term| all.push(term.to_owned()));
        all
    }

    #[test]
    fn identifiers_are_found_by_their_parts_and_whole() {
        for (text, expected) in [
            ("", &[][..]),
            ("Resetting passwords.", &["reset", "password"]),
            ("parseHTTPHeader", &["pars", "http", "header", "parsehttpheader"]),
            ("max_line_bytes", &["max", "line", "byte", "max_line_bytes"]),
            ("MAX_BYTES", &["max", "byte", "max_bytes"]),
            ("src/main.rs", &["src", "main", "rs", "src/main.rs"]),
            ("std::fs::read(x)", &["std", "fs", "read", "std::fs::read", "x"]),
            ("error E0382, TS-999", &["error", "e0382", "ts", "999", "ts-999"]),
            ("a well-known end. Next", &["a", "well", "known", "end", "next"]),
            ("__init__", &["init"]),
            ("it's", &["it", "s"]),
            ("Größe über Łódź", &["größe", "über", "łódź"]),
            ("日本語のtext", &["日本", "本語", "語の", "text"]),
            ("東 x", &["東", "x"]),
            ("открыть файл", &["открыть", "файл"]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_query_keeps_what_says_something() {
        let (says, stops) = query_terms("How do I parse the config_file?");
        assert_eq!(says, ["pars", "config", "file", "config_file"]);
        assert_eq!(stops, ["how", "do", "i", "the"]);
        assert_eq!(query_terms("to be or not to be").0, Vec::<String>::new());
    }

    #[test]
    fn hostile_texts_have_few_terms_for_their_length() {
        for text in
            ["a_".repeat(10_000), "Aa".repeat(10_000), ".".repeat(10_000), "日".repeat(10_000)]
        {
            let mut bytes = 0;
            terms(&text, |term| bytes += term.len());
            assert!(bytes <= 3 * text.len(), "{bytes}");
        }
    }
}
