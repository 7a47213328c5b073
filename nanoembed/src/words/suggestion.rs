//! Words of a vocabulary that are spelled nearly as one that it lacks: in other case, with other
//! accents or ones that are put together in another way, with a `_` for a blank.

use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::token::Normalization;
use nanoembed_core::token::words::TextWords;

/// The most words that are suggested.
const MOST: usize = 3;
/// Longer words get no suggestions.
const LONGEST: usize = 256;

/// Words that differ from `word` in case, accents and blanks only, in the order of the file.
fn nearly(file: &Finalfusion<'_>, word: &str) -> Vec<String> {
    let wanted = folded(word);
    if wanted.is_empty() || word.len() > LONGEST {
        return Vec::new();
    }
    // A word may become longer or shorter by the composition of its letters, but not by much.
    let lengths = word.len() / 3..=word.len().saturating_mul(3).saturating_add(3);
    let candidates = file.words().filter(|bytes| lengths.contains(&bytes.len()));
    let texts = candidates.filter_map(|bytes| str::from_utf8(bytes).ok());
    let nearly = texts.filter(|text| *text != word && folded(text) == wanted);
    nearly.take(MOST).map(str::to_owned).collect()
}

/// A hint that offers such words, if there are any.
pub fn hint(file: &Finalfusion<'_>, word: &str) -> Option<String> {
    let words: Vec<String> = nearly(file, word).iter().map(|word| format!("{word:?}")).collect();
    match &words[..] {
        [] => None,
        [one] => Some(format!("the file has {one}")),
        several => Some(format!("the file has {}", several.join(", "))),
    }
}

/// The word in lower case, without accents, and with one blank between its parts.
fn folded(word: &str) -> String {
    let text = word.replace(['_', '-'], " ");
    let mut words = TextWords::new(&text, Normalization::UNCASED);
    let mut folded = String::new();
    while let Some(word) = words.next_word() {
        folded.push_str(word.start);
        folded.push(' ');
    }
    folded
}
