//! Word vectors of other programs: their form, how many words and columns there are.

use nanoembed::inspect::inspection::words::{VocabularySizes, WordsSummary};
use nanoembed::units;

use super::tensors;

pub(super) fn text(summary: &WordsSummary) -> Vec<String> {
    let VocabularySizes { words, subwords, cols } = summary.vocabulary;
    let subwords = match subwords {
        0 => String::new(),
        count => format!(", {} rows for subwords", units::count(count)),
    };
    let mut text = vec![summary.file.clone()];
    let facts = [
        ("format", format!("word vectors, {}", summary.format)),
        ("size", tensors::size(summary.file_bytes)),
        ("vectors", format!("{} words of {cols} columns{subwords}", units::count(words))),
    ];
    text.extend(tensors::facts(facts).lines(2));
    text.extend(tensors::metadata(&summary.metadata));
    text
}
